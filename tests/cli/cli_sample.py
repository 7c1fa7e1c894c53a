"""treadle sample: the logical stacks of running programs, read from outside, and what views make of them."""
import json
import os
import pathlib
import re
import signal
import stat
import subprocess
import sys
import time
import unittest

import bench

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests" / "activity"
LIBRARY = os.environ["ACTIVITY_LIBRARY"]
TRIES = 20
STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-pthread", f"-I{ROOT}"]


def segments(pid):
    return list(pathlib.Path("/dev/shm").glob(f"treadle-{pid}-*.activity"))


def has_segment(pid):
    """One that is made: the file is there a moment before its head."""
    return any(path.read_bytes().startswith(b"TREADLEA") for path in segments(pid))


def below(nodes, *path):
    """The node at a path of "identifier" or "identifier parameter"; None: there is none."""
    found = None
    for name in path:
        named = [node for node in nodes
                 if name == node["identifier"] + (f" {node['parameter']}" if node["parameter"] else "")]
        if len(named) != 1:
            return None
        found, nodes = named[0], named[0]["children"]
    return found


class Sample(bench.Bench):
    def compile(self, source, *options, compiler="cc"):
        program = self.path(pathlib.Path(source).stem)
        subprocess.run([compiler, *STRICT, *options, str(PROGRAMS / source), "-o", program], check=True)
        return program

    def start(self, *command):
        """A program that says "ready", has its segment soon after, and ends with its standard input."""
        program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(program.communicate)
        self.assertEqual(program.stdout.readline(), b"ready\n")
        deadline = time.monotonic() + 60
        while not has_segment(program.pid) and program.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        return program

    def sampled(self, pid, *options, name="sampled.ledger"):
        self.treadle("sample", str(pid), "-o", name, *options)
        return name

    def activity(self, ledger, *options):
        return self.json("report", ledger, "-v", "activity", *options)

    def test_a_program_of_two_files_in_two_languages_has_one_stack(self):
        source = '#include "native/activity/treadle.h"\n%s void %s(void) { treadle_push("%s"); %s treadle_pop(); }\n'
        (pathlib.Path(self.folder) / "a.c").write_text(
            '#include <stdio.h>\n#include <unistd.h>\nvoid b(void);\n' + source % ("", "a", "a", "b();")
            + 'int main(void) { for (;;) { a(); static int n; if (!n++) { puts("ready"); fflush(stdout); } '
              "if (getppid() == 1) return 0; } }\n")
        (pathlib.Path(self.folder) / "b.cpp").write_text(
            "#include <unistd.h>\n" + source % ('extern "C"', "b", "b", "usleep(20000);"))
        subprocess.run(["gcc", *STRICT, "-Wno-overlength-strings", "-D_GNU_SOURCE", "-c", "a.c"], check=True,
                       cwd=self.folder)
        subprocess.run(["g++", *STRICT, "-c", "b.cpp"], check=True, cwd=self.folder)
        subprocess.run(["g++", "a.o", "b.o", "-o", "both", "-pthread"], check=True, cwd=self.folder)
        program = subprocess.Popen([self.path("both")], stdout=subprocess.PIPE)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        self.assertEqual(program.stdout.readline(), b"ready\n")
        self.assertEqual(len(segments(program.pid)), 1)
        view = self.activity(self.sampled(program.pid, "--every", "5ms", "--for", "500ms"))
        self.assertIsNotNone(below(view["activity"], "a", "b"))

    def test_shares_are_those_that_the_program_measures(self):
        program = subprocess.Popen([self.compile("known_shares.c", "-O2"), "8000"], stdout=subprocess.PIPE)
        time.sleep(0.5)  # until the threads are in their stride; nothing is decided by it
        ledger = self.sampled(program.pid, "--every", "10ms")
        known = json.loads(program.communicate()[0])
        view = self.activity(ledger)
        print(f"{known['pushes_a_second'] / 1e6:.1f} million pushes a second")
        query = below(view["activity"], "query")["cum"]["samples"]
        seen = {
            "parse": below(view["activity"], "query", "parse")["samples"] / query,
            "sort": below(view["activity"], "query", "sort ORDERS")["samples"] / query,
            "scan": below(view["activity"], "query", "sort ORDERS", "scan ORDERS")["samples"] / query,
        }
        whole = sum(known[name] for name in seen)
        for name, share in seen.items():
            # Thousands of samples: 60 threads, hundreds of moments. The threads wake each other up in turn, so the
            # moments count, not the samples.
            self.assertAlmostEqual(share, known[name] / whole, delta=0.05, msg=name)
        fast = [below(view["activity"], f"fast {i}")["cum"]["samples"] for i in range(2)]
        self.assertAlmostEqual(fast[0] / sum(fast), known["fast 0"] / (known["fast 0"] + known["fast 1"]), delta=0.1)
        self.assertIsNotNone(below(view["activity"], "fast 0", "leaf"))
        # What no thread ever did is nowhere.
        names = set(re.findall(r'"identifier": ?"([^"]*)"', json.dumps(view)))
        self.assertEqual(names, {"query", "parse", "sort", "scan", "fast", "leaf"})
        self.assertEqual(len([thread for thread in view["threads"]]), 64)
        self.assertEqual(view["stack_losses"]["lost_threads"], 0)

    def test_states_are_the_kernels(self):
        program = self.start(self.compile("states.c", "-O2", "-D_GNU_SOURCE"))
        view = self.activity(self.sampled(program.pid, "--every", "5ms", "--for", "3s"))
        for identifier, part in (("compute", "cpu_ns"), ("lock", "lock_ns"), ("input", "io_ns"), ("sleep", "sleep_ns")):
            cum = below(view["activity"], identifier)["cum"]
            # On a busy machine any of them may have no processor for a while.
            self.assertGreater(cum[part] + cum["runnable_ns"], 0.8 * cum["wall_ns"], (identifier, cum))
            self.assertGreater(cum[part], 0, (identifier, cum))
            self.assertEqual(cum["wall_ns"], sum(ns for key, ns in cum.items()
                                                 if key.endswith("_ns") and key != "wall_ns"))
        self.assertEqual({len(thread["tids"]) for thread in view["threads"]}, {1})

    def test_every_command_reads_the_ledger(self):
        program = self.compile("states.c", "-O2", "-D_GNU_SOURCE")
        for name in ("one.ledger", "two.ledger"):
            self.sampled(self.start(program).pid, "--every", "5ms", "--for", "400ms", name=name)
        for view in ("threads", "tree", "flat", "callers", "waits", "activity"):
            for form in ((), ("--json",), ("--csv",)):
                self.treadle("report", "one.ledger", "-v", view, *form)
        self.treadle("merge", "one.ledger", "two.ledger", "-o", "both.ledger")
        merged = self.activity("both.ledger")
        alone = [self.activity(name) for name in ("one.ledger", "two.ledger")]
        self.assertEqual(below(merged["activity"], "lock")["cum"]["samples"],
                         sum(below(view["activity"], "lock")["cum"]["samples"] for view in alone))
        self.treadle("diff", "one.ledger", "two.ledger")
        self.treadle("html", "one.ledger", "-o", "one.html")
        for form in ("collapsed", "speedscope", "pprof", "perfetto", "jfr", "sqlite", "csv"):
            self.treadle("export", "one.ledger", "-f", form, "-o", f"one.{form}")
        self.treadle("export", "one.ledger", "-f", "collapsed", "-o", "wall.txt", "--metric", "wall")
        self.assertIn("lock", pathlib.Path(self.path("wall.txt")).read_text())
        tree = self.json("report", "one.ledger", "-v", "tree")
        nodes = [node for thread in tree["threads"] for node in thread["root"]["children"]]
        node = next(node for node in nodes if node.get("identifier") == "lock")
        self.assertEqual((node["kind"], node["parameter"], node["calls"]), ("logical", None, 0))
        self.assertGreater(node["samples"], 0)

    def test_a_segment_comes_with_the_first_push_and_goes_with_the_process(self):
        program = self.start(self.compile("states.c", "-O2", "-D_GNU_SOURCE"))
        found = segments(program.pid)
        self.assertEqual([stat.S_IMODE(path.stat().st_mode) for path in found], [0o600])
        program.send_signal(signal.SIGKILL)
        program.wait()
        # What was open at the end: nobody had watched, so nothing is known of it; but it is no error.
        self.assertEqual(len(segments(program.pid)), 1)
        complaint = self.run_treadle("sample", str(program.pid), "-o", "dead.ledger")
        self.assertEqual(complaint.returncode, 0, complaint.stderr)
        segments(program.pid)[0].unlink()
        quiet = subprocess.run([self.compile("known_shares.c", "-O2"), "1"], stdout=subprocess.PIPE, check=True)
        self.assertIn(b"pushes", quiet.stdout)
        self.assertIn("no process", self.treadle("sample", "999999999", status=1))

    def test_a_killed_process_shows_where_it_was(self):
        program = self.start(self.compile("states.c", "-O2", "-D_GNU_SOURCE"))
        sampling = subprocess.Popen([bench.TREADLE, "sample", str(program.pid), "--every", "10ms", "-o", "live.ledger"],
                                    cwd=self.folder, stdout=subprocess.PIPE)
        deadline = time.monotonic() + 60
        while not self.is_watched(program.pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.3)  # all of the threads push again within 50 ms
        program.send_signal(signal.SIGKILL)
        program.wait()
        self.assertEqual(sampling.wait(timeout=60), 0)  # ends with the last process
        sampling.stdout.close()
        self.assertIsNotNone(below(self.activity("live.ledger")["activity"], "lock"))
        self.treadle("sample", str(program.pid), "-o", "dead.ledger")
        dead = self.activity("dead.ledger")
        for identifier in ("compute", "lock", "input", "sleep"):
            self.assertEqual(below(dead["activity"], identifier)["samples"], 1, dead)
        left = str(segments(program.pid)[0])
        self.assertIn((left, "stacks", program.pid),
                      [(entry["path"], entry["state"], entry["pid"]) for entry in self.json("list")["ledgers"]])
        self.assertEqual(self.treadle("list", "--remove", left), f"{left}\n")
        self.assertEqual(segments(program.pid), [])

    def headless(self, pid, name, seconds_ago):
        """What a process that is killed before it writes the head of its segment leaves."""
        path = pathlib.Path(f"/dev/shm/treadle-{pid}-{name}.activity")
        path.write_bytes(bytes(65536))
        self.addCleanup(path.unlink, missing_ok=True)
        os.utime(path, (time.time() - seconds_ago,) * 2)
        return str(path)

    def test_a_segment_without_a_head_goes_after_its_process(self):
        gone = subprocess.Popen(["true"])
        gone.wait()
        later = subprocess.Popen(["sleep", "60"])  # has the pid now
        self.addCleanup(later.wait)
        self.addCleanup(later.kill)
        kept = [self.headless(gone.pid, "fresh", 0), self.headless(1, "alive", 20)]
        other = self.headless(gone.pid, "other", 0)
        pathlib.Path(other).write_bytes(b"another's")
        os.utime(other, (0, 0))
        for path in kept + [other]:
            self.assertEqual(self.run_treadle("list", "--remove", path).returncode, 1)
        # A sampler of another test may take them away in between.
        for _ in range(TRIES):
            left = [self.headless(gone.pid, "left", 20), self.headless(later.pid, "later", 100000)]
            listed = {entry["path"]: entry["state"] for entry in self.json("list")["ledgers"]}
            removed = self.run_treadle("list", "--remove", left[0])
            if all(path in listed for path in left) and removed.returncode == 0:
                break
        self.assertEqual([listed.get(path) for path in left + kept + [other]], ["stacks"] * 2 + [None] * 3)
        self.assertEqual((removed.stdout, removed.stderr), (f"{left[0]}\n".encode(), b""))
        program = self.start(self.compile("states.c", "-O2", "-D_GNU_SOURCE"))
        left[0] = self.headless(gone.pid, "left", 20)
        self.sampled(program.pid, "--for", "200ms", "--every", "10ms")
        self.assertEqual([os.path.exists(path) for path in left + kept + [other]], [False] * 2 + [True] * 3)

    def is_watched(self, pid):
        data = segments(pid)[0].read_bytes()
        return int.from_bytes(data[128:132], sys.byteorder) != 0

    def test_a_sampler_that_ends_leaves_nothing_on(self):
        program = self.start(self.compile("states.c", "-O2", "-D_GNU_SOURCE"))
        self.sampled(program.pid, "--for", "200ms", "--every", "10ms")
        self.assertFalse(self.is_watched(program.pid))
        self.assertNotIn(str(segments(program.pid)[0]), [entry["path"] for entry in self.json("list")["ledgers"]])
        self.assertEqual(self.run_treadle("list", "--remove", str(segments(program.pid)[0])).returncode, 1)
        self.assertEqual(len(segments(program.pid)), 1)

    def test_the_report_says_what_was_read_from_outside(self):
        program = self.start(self.compile("states.c", "-O2", "-D_GNU_SOURCE"))
        pid = str(program.pid)
        output = self.treadle("sample", pid, pid, "--for", "1100ms", "--every", "1s", "-o", "once.ledger")
        self.assertEqual(output, "once.ledger\n")
        report = self.treadle("report", "once.ledger")
        self.assertIn("sample --every 1000ms\n", report)
        self.assertIn("read from outside", report)
        for wrong in ("clock  ", "asks threads", "gaps go to", "Java threads", "VM threads", "not walked"):
            self.assertNotIn(wrong, report)
        # What the threads have consumed is known up to the end, and not up to the last sample.
        balance = self.json("report", "once.ledger")["balance"]
        self.assertLess(abs(balance["difference_ppm"]), 50_000, balance)

    def test_what_cannot_be_done_is_said_first(self):
        """Without a limit of time: the command would not end."""
        sleeper = subprocess.Popen(["sleep", "600"])
        self.addCleanup(sleeper.wait)
        self.addCleanup(sleeper.kill)
        pid = str(sleeper.pid)
        for path in ("/nonexistent/x.ledger", "no/x.ledger"):
            self.assertIn(f"{path}: cannot be written: No such file",
                          self.treadle("sample", pid, "-o", path, status=1))
        sampling = subprocess.Popen([bench.TREADLE, "sample", pid, "-o", "none.ledger"], cwd=self.folder, text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(sampling.communicate)
        self.addCleanup(sampling.kill)
        self.assertEqual(sampling.stderr.readline(),
                         f"treadle: process {pid} has shown no logical stacks so far; still waiting\n")
        sampling.send_signal(signal.SIGINT)
        self.assertEqual(sampling.wait(timeout=60), 0)

    def test_several_processes_at_once(self):
        program = self.compile("states.c", "-O2", "-D_GNU_SOURCE")
        pids = [self.start(program).pid for _ in range(3)]
        output = self.treadle("sample", *map(str, pids), "--for", "500ms", "--every", "10ms", "-o", "many-%p.ledger")
        self.assertEqual(output.split(), [f"many-{pid}.ledger" for pid in pids])
        for pid in pids:
            self.assertIsNotNone(below(self.activity(f"many-{pid}.ledger")["activity"], "sleep"))

    def test_a_hostile_segment_costs_only_itself(self):
        program = self.start(self.compile("states.c", "-O2", "-D_GNU_SOURCE"))
        real = segments(program.pid)[0]
        bad = real.with_name(f"treadle-{program.pid}-aaaa.activity")
        self.addCleanup(lambda: bad.exists() and bad.unlink())
        good = real.read_bytes()
        for content in (b"", b"x" * 5000, good[:100], good[:8] + os.urandom(len(good) - 8),
                        good[:40] + b"\xff" * 40 + good[80:]):
            bad.unlink(missing_ok=True)
            bad.write_bytes(content)
            bad.chmod(0o600)
            done = self.run_treadle("sample", str(program.pid), "--for", "300ms", "--every", "10ms", "-o", "s.ledger")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIsNotNone(below(self.activity("s.ledger")["activity"], "sleep"))

    def test_c_plus_plus(self):
        for options, expected in (((), "retry 1"), (("-fno-exceptions",), "sort ORDERS")):
            program = self.start(self.compile("example.cpp", "-std=c++17", *options, compiler="c++"))
            view = self.activity(self.sampled(program.pid, "--for", "600ms", "--every", "5ms"))
            self.assertIsNotNone(below(view["activity"], "query", "sort ORDERS"))
            self.assertIsNotNone(below(view["activity"], "query", expected))

    def test_python(self):
        needed = subprocess.run(["nm", "-D", "--undefined-only", LIBRARY], capture_output=True, text=True, check=True).stdout
        if "__asan_" in needed:
            self.skipTest("the library is built with a sanitizer, whose runtime this python does not have")
        program = self.start(sys.executable, "-B", str(PROGRAMS / "example.py"), LIBRARY)
        view = self.activity(self.sampled(program.pid, "--for", "600ms", "--every", "5ms"))
        self.assertIsNotNone(below(view["activity"], "query", "scan ORDERS"))
        self.assertIsNotNone(below(view["activity"], "query", "batch 7"))

    def test_the_library_exports_what_it_always_did(self):
        names = {"treadle_activity_format", "treadle_activity_push", "treadle_activity_push_number",
                 "treadle_activity_pop", "treadle_activity_pop_to"}
        output = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True)
        exported = dict(re.findall(r"^[0-9a-f]+ T (\w+)@@(\w+)$", output.stdout, re.M))
        later = {"treadle_activity_begin", "treadle_activity_adopt", "treadle_activity_id"}
        self.assertEqual(exported, dict.fromkeys(names, "TREADLE_ACTIVITY_1")
                         | dict.fromkeys(later, "TREADLE_ACTIVITY_2"))
        archive = LIBRARY.replace(".so", ".a")
        output = subprocess.run(["nm", "--defined-only", archive], capture_output=True, text=True, check=True)
        self.assertEqual({name for name in re.findall(r"^[0-9a-f]+ T (\w+)$", output.stdout, re.M)}, names | later)

    def test_usage(self):
        for arguments, part in ((("--every", "1us", "1"), "--every=1us: expected a time from 1ms to 1s"),
                                (("--every", "2s", "1"), "expected a time from 1ms to 1s"),
                                (("--for", "0s", "1"), "--for=0s"),
                                (("--for", "soon", "1"), "--for=soon"),
                                (("nobody",), "'nobody' is no process id"),
                                ((), "no process to sample"),
                                (("-o", "x", "1", "2"), "several processes need a %p")):
            self.assertIn(part, self.treadle("sample", *arguments, status=2))

    @unittest.skipUnless(os.geteuid() == 0, "takes root to be another user")
    def test_a_process_of_another_user_is_refused(self):
        program = subprocess.Popen(["sleep", "60"], user=65534)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        self.assertIn("only your own processes", self.treadle("sample", str(program.pid), "--for", "1s", status=1))


if __name__ == "__main__":
    bench.SECONDS = 280  # it compiles what it runs
    bench.main()
