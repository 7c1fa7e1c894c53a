"""report --view chains: parts that `treadle sample` finds, in every form; programs and tools of other ages."""
import csv
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import bench

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests" / "activity"
LIBRARY = os.environ["ACTIVITY_LIBRARY"]
STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-pthread", "-D_GNU_SOURCE", f"-I{ROOT}"]
TRACE = "4bf92f350000000000000000000000"

# A program that works when it is told to, and says what it did.
CALLER = """
#include "native/activity/treadle.h"
#include <stdio.h>
#include <unistd.h>
int main(void)
{
    char line[64], text[TREADLE_ID_TEXT_BYTES];
    treadle_push("first");
    treadle_pop();
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        struct treadle_chain id;
        treadle_begin_with("request", "GET");
        id = treadle_id();
        treadle_id_text(id, text);
        treadle_pop();
        treadle_adopt("serve", id);
        usleep(1000);
        treadle_pop();
        printf("%s\\n", text);
        fflush(stdout);
    }
    return 0;
}
"""


class Chains(bench.Bench):
    def start(self, *command):
        program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(program.wait)
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.stdin.close)
        self.addCleanup(program.kill)
        self.assertEqual(program.stdout.readline(), "ready\n")
        return program

    def compiled(self, name, text=None, *options):
        source = PROGRAMS / f"{name}.c"
        if text:
            source = pathlib.Path(self.path(f"{name}.c"))
            source.write_text(text)
        subprocess.run(["cc", *STRICT, "-O2", *options, str(source), "-o", self.path(name)], check=True)
        return self.path(name)

    def watched(self, program, ledger, *more):
        """`treadle sample` of a program, once it watches."""
        sampling = subprocess.Popen([bench.TREADLE, "sample", str(program.pid), "--every", "5ms", "-o", ledger, *more],
                                    cwd=self.folder, stdout=subprocess.PIPE)
        self.addCleanup(sampling.stdout.close)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            found = list(pathlib.Path("/dev/shm").glob(f"treadle-{program.pid}-*.activity"))
            if found and int.from_bytes(found[0].read_bytes()[128:132], sys.byteorder):
                return sampling
            time.sleep(0.01)
        raise AssertionError("nobody watches")

    def told(self, program, times):
        ids = []
        for _ in range(times):
            program.stdin.write("go\n")
            program.stdin.flush()
            ids.append(program.stdout.readline().split())
        program.stdin.close()
        return ids

    def chains(self, *ledgers, more=()):
        return self.json("report", *ledgers, "-v", "chains", *more)

    def sampled(self, name="c.ledger", times=20):
        program = self.start(self.compiled("caller", CALLER))
        sampling = self.watched(program, name)
        ids = [words[0] for words in self.told(program, times)]
        self.assertEqual(sampling.wait(timeout=60), 0)
        return program, ids

    def test_parts_are_those_of_the_program(self):
        program, ids = self.sampled()
        self.assertEqual(len(set(ids)), 20)
        view = self.chains("c.ledger")
        self.assertEqual({chain["id"]: [(part["path"], part["process"]["pid"], part["end_seen"]) for part in chain["parts"]]
                          for chain in view["chains"]},
                         {id_: [(["request (GET)"], program.pid, True), (["serve"], program.pid, True)] for id_ in ids})
        serve = next(row for row in view["rows"] if row["path"] == ["serve"])
        self.assertEqual(serve["count"], 20)
        self.assertGreaterEqual(serve["elapsed_ns"], 20 * 1_000_000)
        self.assertEqual((view["other"]["count"], view["lost_parts"], view["torn_parts"]), (0, 0, 0))

    def test_every_form(self):
        _, ids = self.sampled()
        view = self.chains("c.ledger")
        rows = list(csv.DictReader(io.StringIO(self.treadle("report", "c.ledger", "-v", "chains", "--csv"))))
        self.assertEqual(len(rows), 40)
        self.assertEqual({row["id"] for row in rows}, set(ids))
        self.assertEqual(sum(int(row["cpu_ns"]) for row in rows), sum(chain["cpu_ns"] for chain in view["chains"]))
        text = self.treadle("report", "c.ledger", "-v", "chains")
        self.assertIn("(10 more chains, not shown)", text)
        self.assertRegex(text, r"request \(GET\) +\d+ +20 ")
        self.assertEqual(len(self.chains("c.ledger", more=("--top", "3"))["chains"]), 3)
        begins = [chain["begin_ns"] for chain in self.chains("c.ledger", more=("--sort", "begin"))["chains"]]
        self.assertEqual(begins, sorted(begins))
        self.assertEqual(self.chains("c.ledger", more=("--thread", "caller"))["chains"], view["chains"])
        for other in ("threads", "activity", "tree", "hazards"):
            self.treadle("report", "c.ledger", "-v", other)

    def test_ledgers_are_joined_and_merged_alike(self):
        _, first = self.sampled("a.ledger", 3)
        _, second = self.sampled("b.ledger", 4)
        joined = self.chains("a.ledger", "b.ledger")
        self.assertEqual({chain["id"] for chain in joined["chains"]}, {*first, *second})
        self.assertEqual(self.run_treadle("merge", "a.ledger", "b.ledger", "-o", "merged.ledger").returncode, 0)
        merged = self.chains("merged.ledger")

        def plain(view):
            return sorted((chain["id"], [(part["begin_ns"], part["elapsed_ns"], part["cpu_ns"], part["path"],
                                          part["process"]["pid"]) for part in chain["parts"]]) for chain in view["chains"])
        self.assertEqual(plain(merged), plain(joined))
        self.assertIn("only --view chains joins several",
                      self.treadle("report", "a.ledger", "b.ledger", "-v", "activity", status=2))
        self.assertIn("one FILE or PID, not more", self.treadle("export", "a.ledger", "b.ledger", "-f", "csv", status=2))
        self.assertIn("nothing.ledger", self.treadle("report", "a.ledger", "nothing.ledger", "-v", "chains", status=1))

    def test_opentelemetrys_context(self):
        program = self.start(self.compiled("otel_context", None, "-rdynamic"))
        self.watched(program, "otel.ledger", "--for", "600ms").wait(timeout=60)
        view = self.chains("otel.ledger")
        self.assertEqual({chain["id"] for chain in view["chains"]}, {TRACE + "01", TRACE + "02"})
        for chain in view["chains"]:
            self.assertEqual({(tuple(part["path"]), part["id_from"]) for part in chain["parts"]}, {(("serve",), "otel")})
            self.assertEqual(len({part["tid"] for part in chain["parts"]}), 1)
        # The same program without the symbol in its dynamic table has no ids.
        plain = self.start(self.compiled("otel_context", None, "-fvisibility=hidden"))
        self.watched(plain, "plain.ledger", "--for", "300ms").wait(timeout=60)
        self.assertEqual(self.chains("plain.ledger")["chains"], [])

    def test_python(self):
        needed = subprocess.run(["nm", "-D", "--undefined-only", LIBRARY], capture_output=True, text=True, check=True).stdout
        if "__asan_" in needed or "__tsan_" in needed:
            self.skipTest("the library is built with a sanitizer, whose runtime this python does not have")
        program = self.start(sys.executable, "-B", str(PROGRAMS / "chain_example.py"), LIBRARY)
        sampling = self.watched(program, "python.ledger")
        told = self.told(program, 5)
        self.assertEqual(sampling.wait(timeout=60), 0)
        self.assertEqual({words[1] for words in told}, {"0"})
        self.assertEqual({chain["id"]: [part["path"] for part in chain["parts"]]
                          for chain in self.chains("python.ledger")["chains"]},
                         {words[0]: [["request (GET)"], ["serve"]] for words in told})

    def test_an_old_header_and_a_new_one_in_one_program(self):
        """The header of before there were ids. The new one's frames have ids, whichever the linker finds first."""
        old = self.old_header()
        if not old:
            self.skipTest("no history here to take the older header from")
        folder = pathlib.Path(self.path("old/native/activity"))
        folder.mkdir(parents=True)
        (folder / "treadle.h").write_text(old)
        (pathlib.Path(self.folder) / "old.c").write_text(
            '#include "native/activity/treadle.h"\nvoid old_work(void);\n'
            'void old_work(void) { treadle_push("old"); treadle_push_with("within", "x"); treadle_pop(); treadle_pop(); }\n')
        (pathlib.Path(self.folder) / "new.c").write_text(CALLER.replace(
            'treadle_push("first");', 'extern void old_work(void); old_work(); treadle_push("first");').replace(
            "usleep(1000);", "old_work(); usleep(1000); old_work();"))
        subprocess.run(["cc", "-O2", "-pthread", f"-I{self.path('old')}", "-c", "old.c"], check=True, cwd=self.folder)
        subprocess.run(["cc", *STRICT, "-Wno-nested-externs", "-O2", "-c", "new.c"], check=True, cwd=self.folder)
        for order in (("old.o", "new.o"), ("new.o", "old.o")):
            subprocess.run(["cc", *order, "-o", "mixed", "-pthread"], check=True, cwd=self.folder)
            program = self.start(self.path("mixed"))
            sampling = self.watched(program, "mixed.ledger")
            ids = {words[0] for words in self.told(program, 30)}
            self.assertEqual(sampling.wait(timeout=60), 0)
            found = {chain["id"] for chain in self.chains("mixed.ledger")["chains"]}
            self.assertEqual(found, ids)
        # An old header alone, with the new tool.
        (pathlib.Path(self.folder) / "alone.c").write_text(
            '#include "native/activity/treadle.h"\n#include <stdio.h>\n#include <unistd.h>\n'
            'int main(void) { treadle_push("a"); treadle_pop(); puts("ready"); fflush(stdout);\n'
            'for (int i = 0; i < 200; i++) { treadle_push("a"); usleep(2000); treadle_pop(); } return 0; }\n')
        subprocess.run(["cc", "-O2", "-pthread", "-D_GNU_SOURCE", f"-I{self.path('old')}", "alone.c", "-o", "alone"],
                       check=True, cwd=self.folder)
        self.watched(self.start(self.path("alone")), "alone.ledger").wait(timeout=60)
        self.assertEqual(self.chains("alone.ledger")["chains"], [])
        view = self.json("report", "alone.ledger", "-v", "activity")
        self.assertEqual([node["identifier"] for node in view["activity"]], ["a"])

    def old_header(self, name="treadle.h"):
        """A file as it was last before treadle.h knew ids."""
        if not shutil.which("git"):
            return None
        log = subprocess.run(["git", "log", "--format=%H", "-S", "struct treadle_chain", "--", "native/activity/treadle.h"],
                             cwd=ROOT, capture_output=True, text=True, check=False)
        commits = log.stdout.split()
        if not commits:
            return None
        shown = subprocess.run(["git", "show", f"{commits[-1]}~:native/activity/{name}"], cwd=ROOT, capture_output=True,
                               text=True, check=False)
        return shown.stdout if shown.returncode == 0 else None

    def test_an_old_reader_reads_a_new_segment(self):
        """Stacks with frames that have ids; the reader of before knows nothing of them."""
        folder = pathlib.Path(self.path("old/native/activity"))
        folder.mkdir(parents=True)
        for name in ("treadle.h", "segment_reader.h", "segment_reader.c"):
            text = self.old_header(name)
            if not text:
                self.skipTest("no history here to take the older reader from")
            (folder / name).write_text(text)
        (pathlib.Path(self.folder) / "reader.c").write_text("""
#define TREADLE_FORMAT_ONLY
#include "native/activity/segment_reader.h"
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    char why[200], text[TREADLE_IDENTIFIER_BYTES];
    struct segment_reader *reader = segment_reader__open(argv[argc - 1], why, sizeof why);
    struct segment_stack stack = {.depth = 0};
    if (!reader || segment_reader__watch(reader, 60000000000u) != 0)
        return puts(why), 1;
    for (unsigned tries = 0; tries < 100000 && stack.depth < 3; tries++) {
        usleep(100);
        for (uint32_t slot = 0; slot < segment_reader__slots(reader) && stack.depth < 3; slot++)
            (void)segment_reader__read(reader, slot, &stack);
    }
    for (uint32_t i = 0; i < stack.depth; i++)
        printf("%.*s %.*s/", (int)segment_reader__identifier(reader, stack.frames[i].identifier, text), text,
               (int)stack.frames[i].length, stack.frames[i].text);
    segment_reader__end_watch(reader);
    return 0;
}
""")
        subprocess.run(["cc", "-D_GNU_SOURCE", f"-I{self.path('old')}", "reader.c", str(folder / "segment_reader.c"), "-o",
                        "reader"], check=True, cwd=self.folder)
        program = self.start(self.compiled("nested", """
#include "native/activity/treadle.h"
#include <stdio.h>
#include <unistd.h>
int main(void)
{
    struct treadle_chain id = {{1, 2}};
    treadle_push("first");
    treadle_pop();
    puts("ready");
    fflush(stdout);
    while (getppid() != 1) {
        treadle_push("server");
        treadle_adopt_with("scan", "ORDERS", id);
        treadle_push("row");
        usleep(1000);
        treadle_pop();
        treadle_pop();
        treadle_pop();
    }
    return 0;
}
"""))
        segment = next(iter(pathlib.Path("/dev/shm").glob(f"treadle-{program.pid}-*.activity")))
        read = subprocess.run([self.path("reader"), segment], capture_output=True, text=True, check=False)
        self.assertEqual((read.returncode, read.stdout), (0, "server /scan ORDERS/row /"))

    def test_a_hostile_ring_costs_only_itself(self):
        program = self.start(self.compiled("caller", CALLER))
        sampling = self.watched(program, "good.ledger")
        self.told(program, 5)
        self.assertEqual(sampling.wait(timeout=60), 0)
        program = self.start(self.compiled("caller", CALLER))
        segment = next(iter(pathlib.Path("/dev/shm").glob(f"treadle-{program.pid}-*.activity")))
        good = segment.read_bytes()
        bad = segment.with_name(f"treadle-{program.pid}-aaaa.activity")
        self.addCleanup(lambda: bad.unlink(missing_ok=True))
        # parts_begun, parts_offset, parts_max: bytes 112, 120, 124
        for begun, offset, most in ((2**64 - 1, 4096, 1024), (5000, 2**32 - 8, 1024), (2**63, 4096, 2**32 - 1),
                                    (10**6, 4096 + 512 * 64, 16)):
            bad.write_bytes(good[:112] + begun.to_bytes(8, sys.byteorder) + offset.to_bytes(4, sys.byteorder)
                            + most.to_bytes(4, sys.byteorder) + good[128:])
            bad.chmod(0o600)
            done = self.run_treadle("sample", str(program.pid), "--for", "200ms", "--every", "10ms", "-o", "s.ledger")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.chains("s.ledger")["chains"], [])

    def test_damaged_ledgers_say_no_more_than_they_know(self):
        self.sampled("other.ledger", 1)
        _, ids = self.sampled("good.ledger", 8)
        good = pathlib.Path(self.path("good.ledger")).read_bytes()
        low = bytes.fromhex(ids[0])[:8][::-1]
        at = good.index(low)
        for offset in (-16, -8, 0, 8, 16, 24, 32, 56):
            damaged = bytearray(good)
            damaged[at + offset] ^= 0x40
            pathlib.Path(self.path("bad.ledger")).write_bytes(damaged)
            view = self.chains("bad.ledger")
            self.assertEqual(view["torn_parts"], 1, offset)
            self.assertEqual(sum(chain["count"] for chain in view["chains"]), 15)
            self.assertIn(self.run_treadle("merge", "bad.ledger", "other.ledger", "-o", "m.ledger").returncode, (0, 1))

    def test_a_drawn_ledger(self):
        """Worked out on paper, see chains_drawing.h."""
        view = self.chains(self.make("chains"), more=("--sort", "begin"))
        ids = [f"{0xabc:016x}{number:016x}" for number in (1, 2, 3)]
        self.assertEqual([chain["id"] for chain in view["chains"]], ids)
        first, second, third = view["chains"]
        ms = 1_000_000
        self.assertEqual([(part["path"], part["thread"], part["virtual"], part["id_from"], part["elapsed_ns"] // ms,
                           part["cpu_ns"] // ms, part["wait_ns"] // ms, part["explained_ns"] // ms, part["explained_ppm"])
                          for part in first["parts"]],
                         [(["request (GET)"], "main", False, "otel", 100, 10, 90, 60, 666_666),
                          (["request (GET)", "serve"], None, True, "program", 60, 30, 30, 0, 0)])
        self.assertEqual((first["elapsed_ns"], first["cpu_ns"], first["wait_ns"]), (100 * ms, 40 * ms, 120 * ms))
        self.assertEqual([(part["open"], part["end_seen"], part["cpu_ns"]) for part in second["parts"]],
                         [(False, False, 0), (True, False, 0)])
        self.assertEqual((third["cpu_ns"], third["wait_ns"]), (5 * ms, 0))
        self.assertEqual(view["other"], {"count": 1, "end_not_seen": 0, "cpu_ns": 3 * ms, "elapsed_ns": 7 * ms})
        self.assertEqual(view["lost_parts"], 2)
        text = self.treadle("report", "chains.ledger", "-v", "chains")
        self.assertRegex(text, r"request \(GET\) +4242 +main +0 +100 ms +10\.0 ms +90\.0 ms +66\.7 %")
        self.assertRegex(text, r"request \(GET\) / serve +4242 +\(virtual thread\) +20\.0 ms +60\.0 ms")
        self.assertIn("serve (under way)", text)
        self.assertIn("serve (its end was not seen)", text)
        self.assertIn("(other): 1 part gave way to later ones, with 3.00 ms of CPU time in 7.00 ms", text)
        self.assertIn("2 parts of chains not recorded", text)

    def test_what_is_open_lasts_until_its_own_ledger_was_written(self):
        """Also in a merge with one that was written later, and in a merge of that."""
        self.make("chains")
        self.make("moment", number=2)  # 20 s, not 10
        lasted = {}
        for inputs, ledger in (((), "chains.ledger"), (("chains.ledger", "moment.ledger"), "m.ledger"),
                               (("m.ledger", "moment.ledger"), "n.ledger")):
            if inputs:
                self.assertEqual(self.run_treadle("merge", *inputs, "-o", ledger).returncode, 0)
            lasted[ledger] = [part["elapsed_ns"] for chain in self.chains(ledger)["chains"]
                              for part in chain["parts"] if part["open"]]
        self.assertGreater(lasted["chains.ledger"][0], 0)
        self.assertEqual(list(lasted.values()), 3 * [lasted["chains.ledger"]])

    def test_nothing(self):
        self.assertIn("(no chains: ", self.treadle("report", self.make("plain"), "-v", "chains"))
        self.assertIn("sort key", self.treadle("report", "x.ledger", "-v", "chains", "-s", "colour", status=2))


if __name__ == "__main__":
    bench.SECONDS = 280  # it compiles what it runs
    bench.main()
