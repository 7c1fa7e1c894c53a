"""treadle export: what is written as text (collapsed, CSV, speedscope's JSON), where to, and what is refused.
The drawings in make_ledger are the expectation."""
import csv
import io
import json
import os
import pty
import resource
import signal
import stat
import subprocess
from collections import Counter

import bench

MS = 1_000_000
FORMATS = ("pprof", "collapsed", "speedscope", "perfetto", "jfr", "csv", "sqlite")
PLAIN_COLLAPSED = """\
main 100000000
main;demo.Main.main 200000000
main;demo.Main.main;demo.Main.fib 300000000
main;demo.Main.main;demo.Main.fib;demo.Main.fib 500000000
worker-1;(between Java threads) 50000000
worker-1;demo.Main.work 2350000000
worker-1;demo.Main.work;demo.Main.fib 200000000
GC Thread#0 1000000000
helper 300000000
"""


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Collapsed(bench.Bench):
    def test_plain(self):
        self.make("plain")
        self.assertEqual(self.treadle("export", "-f", "collapsed", "plain.ledger"), PLAIN_COLLAPSED)
        self.assertEqual(self.treadle("export", "-f", "collapsed", "-o", "-"), PLAIN_COLLAPSED)

    def test_metric_and_threads(self):
        self.make("plain")
        calls = self.treadle("export", "-f", "collapsed", "-m", "calls", "-t", "main")
        self.assertEqual(calls, "main;demo.Main.main 1\n"
                                "main;demo.Main.main;demo.Main.fib 10\n"
                                "main;demo.Main.main;demo.Main.fib;demo.Main.fib 90\n"
                                "main;demo.Main.main;demo.Main.work 2\n")
        self.assertEqual(self.treadle("export", "-f", "collapsed", "-m", "minor_faults"),
                         "main;demo.Main.main;demo.Main.fib;demo.Main.fib 33\n")

    def test_sums_are_those_of_the_report(self):
        self.make("family")
        for metric, key in (("cpu", "cpu_ns"), ("wall", "wall_ns"), ("calls", "calls")):
            lines = self.treadle("export", "-f", "collapsed", "-m", metric).splitlines()
            sums = Counter()
            for line in lines:
                path, value = line.rsplit(" ", 1)
                sums[path.split(";")[0]] += int(value)
            trees = self.json("report", "--view", "tree")["threads"]
            expected = {tree["name"]: (tree["calls"] if key == "calls" else tree["root"]["cum"][key])
                        for tree in trees}
            self.assertEqual(sums, Counter(expected))
        self.assertEqual(expected["worker-2"], 20, "as drawn")

    def test_sampled_frames(self):
        """Ten milliseconds a sample, in the tree below the method that has hooks: see sampled_drawing.h."""
        self.make("sampled")
        lines = self.treadle("export", "-f", "collapsed", "-t", "main").splitlines()
        main, work, put = "main;demo.Main.main", "main;demo.Main.main;demo.Main.work", "java.util.HashMap.put"
        spin = "demo::Engine::spin(int) [libdemo.so]"
        self.assertEqual(set(lines), {
            f"{main} {10 * MS}", f"{work} {50 * MS}", f"{work};demo.Inner.loop {100 * MS}",
            f"{work};demo.Inner.loop;{spin} {40 * MS}", f"{work};demo.Inner.loop;call_stub [jvm] {10 * MS}",
            f"{main};{put} {30 * MS}", f"{main};{put};{spin} {40 * MS}",
            f"{main};{put};vfs_read [kernel] {20 * MS}"})
        rows = list(csv.DictReader(io.StringIO(self.treadle("export", "-f", "csv", "-t", "main"))))
        loop = next(row for row in rows if row["method"] == "loop")
        # As cli_samples works them out: 0.2007 and 0.2187 of 200 ms.
        for key, error in (("base_cpu_error_ns", 40.14), ("cum_cpu_error_ns", 43.74), ("base_wall_error_ns", 40.14),
                           ("cum_wall_error_ns", 43.74)):
            self.assertAlmostEqual(int(loop[key]) / MS, error, delta=0.01)
        self.assertEqual({row["cum_cpu_error_ns"] for row in rows if row["kind"] == "exact"}, {"0"}, "measured")
        samples = self.treadle("export", "-f", "collapsed", "-t", "worker", "-m", "samples")
        self.assertEqual(samples, "", "it has none")

    def test_hostile_names(self):
        self.make("hostile")
        self.make("semicolons")
        lines = self.treadle("export", "-f", "collapsed", "hostile.ledger").split("\n")
        self.assertEqual(len(lines), 2 * 12 + 1, "a line a node")
        self.assertEqual(lines[0], "red \\x1b[31malert\\x1b[0m 1000000")
        self.assertEqual(lines[2:4], [
            "two\\x0alines\\x09and a tab 1000000",
            "two\\x0alines\\x09and a tab;two\\x0alines\\x09and a tab.two\\x0alines\\x09and a tab 2000000"])
        self.assertEqual(lines[4:8], [
            "evil \\u202etxt.exe 1000000", "evil \\u202etxt.exe;evil \\u202etxt.exe.evil \\u202etxt.exe 3000000",
            "zero\\u200bwidth 1000000", "zero\\u200bwidth;zero\\u200bwidth.zero\\u200bwidth 4000000"])
        self.assertEqual(lines[9], ";".join(["x" * 10240, "x" * 10240 + "." + "x" * 10240]) + " 5000000")
        self.assertEqual(lines[10], "nul \\x00 inside 1000000")
        self.assertEqual(lines[12], "clef \U0001d11e 1000000")
        self.assertEqual(lines[14], "broken \ufffd\ufffd 1000000")
        self.assertEqual(lines[18], "csi \\x9b31m 1000000")
        self.assertEqual(lines[20:22], ["(no name) 1000000", "(no name);(no name) 11000000"])
        self.assertEqual(self.treadle("export", "-f", "collapsed", "semicolons.ledger"), (
            "a\\x3bb 1000000\n"
            "a\\x3bb;semi\\x3bcolon.run\\x3b \\u2028 7 2000000\n"))

    def test_deep_trees_do_not_take_the_square_of_their_depth(self):
        self.make("deep", number=5000)
        lines = self.treadle("export", "-f", "collapsed").splitlines()
        self.assertEqual(len(lines), 5000)
        frames = lines[-1].rsplit(" ", 1)[0].split(";")
        # Thread and 5000 frames, of which 512 are kept: the first and the last 256.
        self.assertEqual(len(frames), 513)
        self.assertEqual(frames[256], "(4489 frames left out)")
        self.assertEqual(frames[:4], ["deep", "demo.Deep.a", "demo.Deep.b", "demo.Deep.c"])
        self.assertEqual(frames[255], "demo.Deep." + "abc"[254 % 3])
        self.assertEqual(frames[257], "demo.Deep." + "abc"[(5000 - 256) % 3])
        self.assertEqual(frames[-1], "demo.Deep." + "abc"[4999 % 3])
        whole = lines[510].rsplit(" ", 1)[0].split(";")
        self.assertEqual(len(whole), 512, "nothing left out yet")
        self.assertEqual(len(lines[511].split(";")), 513)
        self.assertIn("(1 frames left out)", lines[511])


class Csv(bench.Bench):
    def rows(self, *arguments):
        self.treadle("export", "-f", "csv", "-o", "x.csv", *arguments)
        with open(self.path("x.csv"), encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file, strict=True))

    def test_plain(self):
        self.make("plain")
        rows = self.rows()
        self.assertEqual(len(rows), 11)
        self.assertEqual(rows[3], {
            "node": "3", "parent": "2", "thread": "main", "thread_kind": "platform", "tids": "4242",
            "level": "3", "recursion": "1", "kind": "exact",
            "path": "demo.Main.main;demo.Main.fib;demo.Main.fib", "class": "demo.Main",
            "method": "fib", "signature": "(I)J", "calls": "90",
            "base_cpu_ns": str(500 * MS), "base_wall_ns": str(1000 * MS), "base_minor_faults": "33",
            "cum_cpu_ns": str(500 * MS), "cum_wall_ns": str(1000 * MS), "cum_minor_faults": "33"})
        self.assertEqual([(row["parent"], row["path"], row["kind"]) for row in rows[5:8]],
                         [("", "", "exact"), ("5", "(between Java threads)", "gap"),
                          ("5", "demo.Main.work", "exact")])
        self.assertEqual(rows[5]["tids"], "4243 4250")
        self.assertEqual({row["thread"]: row["thread_kind"] for row in rows},
                         {"main": "platform", "worker-1": "platform", "GC Thread#0": "vm",
                          "helper": "native"})

    def test_hostile_names(self):
        self.make("hostile")
        rows = self.rows()
        self.assertEqual(len(rows), 2 * 12)
        self.assertEqual(len(read(self.path("x.csv")).splitlines()), 2 * 12 + 1)
        quoted = 'comma, "quoted"'
        self.assertEqual((rows[17]["thread"], rows[17]["class"], rows[17]["path"]),
                         (quoted, quoted, f"{quoted}.{quoted}"))
        self.assertNotRegex(read(self.path("x.csv")).decode(), "[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e\u200b]")
        for row, name in ((5, "evil \\u202etxt.exe"), (7, "zero\\u200bwidth")):
            self.assertEqual((rows[row]["class"], rows[row]["path"]), (name, f"{name}.{name}"))
        self.assertEqual(rows[21]["thread"], "")
        self.assertEqual(rows[21]["path"], "(no name)")
        self.assertEqual(sum(int(row["base_cpu_ns"]) for row in rows), (12 + 78) * MS)


class Speedscope(bench.Bench):
    def profiles(self, *arguments):
        self.treadle("export", "-f", "speedscope", "-o", "x.json", *arguments)
        with open(self.path("x.json"), encoding="utf-8") as file:
            return json.load(file, parse_float=self.fail)

    def test_plain(self):
        self.make("plain")
        found = self.profiles()
        self.assertEqual(found["$schema"], "https://www.speedscope.app/file-format-schema.json")
        self.assertEqual(found["name"], "demo.Main --rounds 3")
        frames = [frame["name"] for frame in found["shared"]["frames"]]
        self.assertEqual([(profile["name"], profile["type"], profile["unit"], profile["startValue"],
                           profile["endValue"]) for profile in found["profiles"]],
                         [("worker-1", "evented", "nanoseconds", 0, 2600 * MS),
                          ("main", "evented", "nanoseconds", 0, 1100 * MS),
                          ("GC Thread#0", "evented", "nanoseconds", 0, 1000 * MS),
                          ("helper", "evented", "nanoseconds", 0, 300 * MS)])
        self.assertEqual([(event["type"], frames[event["frame"]], event["at"] // MS)
                          for event in found["profiles"][0]["events"]],
                         [("O", "(thread)", 0),
                          ("O", "(between Java threads)", 0), ("C", "(between Java threads)", 50),
                          ("O", "demo.Main.work", 50),
                          ("O", "demo.Main.fib", 50), ("C", "demo.Main.fib", 250),
                          ("C", "demo.Main.work", 2600), ("C", "(thread)", 2600)])

    def test_units(self):
        self.make("plain")
        found = self.profiles("-m", "calls", "-t", "main")
        self.assertEqual([(profile["unit"], profile["endValue"]) for profile in found["profiles"]],
                         [("none", 103)])

    def test_hostile_names(self):
        self.make("hostile")
        found = self.profiles()
        names = {profile["name"] for profile in found["profiles"]}
        self.assertLessEqual({"two\nlines\tand a tab", "nul \0 inside", "x" * 10240, "(no name)",
                              'comma, "quoted"', "broken \ufffd\ufffd"}, names)

    def test_damaged_sums(self):
        """Values that do not fit still give events that nest and never go back."""
        self.make("overflow")
        found = self.profiles()
        for profile in found["profiles"]:
            at, stack = 0, []
            for event in profile["events"]:
                self.assertGreaterEqual(event["at"], at)
                at = event["at"]
                if event["type"] == "O":
                    stack.append(event["frame"])
                else:
                    self.assertEqual(stack.pop(), event["frame"])
            self.assertEqual(stack, [])
            self.assertEqual(at, profile["endValue"])


class Output(bench.Bench):
    def setUp(self):
        super().setUp()
        self.make("plain")

    def export(self, form, output, status=0, **options):
        command = [bench.TREADLE, "export", "-f", form, "-o", output, "plain.ledger"]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, env=self.environment(),
                              check=False, timeout=60, **options)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr.decode()

    def test_replaces_what_was_there(self):
        for form in FORMATS:
            name = f"x.{form}"
            self.export(form, name)
            self.assertEqual(stat.S_IMODE(os.stat(self.path(name)).st_mode), 0o666 & ~os.umask(0o22))
            first = read(self.path(name))
            os.chmod(self.path(name), 0o640)
            with open(self.path(name), "ab") as file:
                file.write(b"old")
            self.export(form, name)
            self.assertEqual(read(self.path(name)), first, "the same each time")
            self.assertEqual(stat.S_IMODE(os.stat(self.path(name)).st_mode), 0o640)
        self.assertEqual(sorted(os.listdir(self.folder)),
                         sorted(["plain.ledger", "tmp", *(f"x.{form}" for form in FORMATS)]))

    def test_full_disk(self):
        """A limit on the file's size stands for a full disk: SQLite and all others get an error."""
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (256, 256))
        for form in FORMATS:
            name = f"x.{form}"
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write("what was there before")
            complaint = self.export(form, name, status=1, preexec_fn=limit, restore_signals=False)
            self.assertRegex(complaint, rf"^treadle: x\.{form}: cannot be written: [^\n]*\n$")
            self.assertEqual(read(self.path(name)), b"what was there before")
        self.assertEqual(len(os.listdir(self.folder)), 2 + len(FORMATS), "no pieces left")

    def test_devices_and_pipes(self):
        for form in set(FORMATS) - {"sqlite"}:
            self.assertEqual(self.export(form, "/dev/full", status=1),
                             "treadle: /dev/full: cannot be written: No space left on device\n")
        os.mkfifo(self.path("nobody_reads"))
        self.assertEqual(self.export("sqlite", "nobody_reads", status=1),
                         "treadle: nobody_reads: is no regular file, which sqlite needs\n")
        self.assertIn("/dev/full: is no regular file, which sqlite needs",
                      self.export("sqlite", "/dev/full", status=1))
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/full").st_mode))
        self.export("pprof", "x.gz")
        done = subprocess.run([bench.TREADLE, "export", "-f", "pprof"], cwd=self.folder,
                              stdout=subprocess.PIPE, env=self.environment(), check=True)
        self.assertEqual(done.stdout, read(self.path("x.gz")))
        for form in ("csv", "perfetto", "pprof"):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([bench.TREADLE, "export", "-f", form], cwd=self.folder, check=False,
                                      stdout=full, stderr=subprocess.PIPE, env=self.environment())
            self.assertEqual((done.returncode, done.stderr), (
                1, b"treadle: standard output: cannot be written: No space left on device\n"))

    def test_links_stay(self):
        os.mkdir(self.path("elsewhere"))
        with open(self.path("elsewhere/real"), "w", encoding="utf-8"):
            pass
        os.symlink("elsewhere/real", self.path("link"))
        self.export("collapsed", "link")
        self.assertTrue(os.path.islink(self.path("link")))
        self.assertEqual(read(self.path("elsewhere/real")).decode(), PLAIN_COLLAPSED)

    def test_never_over_the_ledger(self):
        with open(self.path("plain.ledger"), "rb") as file:
            before = file.read()
        os.symlink("plain.ledger", self.path("link"))
        for output in ("plain.ledger", "./plain.ledger", "link"):
            for form in ("csv", "pprof", "sqlite"):
                complaint = self.treadle("export", "-f", form, "-o", output, "plain.ledger", status=1)
                self.assertEqual(complaint, f"treadle: {output}: is the ledger itself; name another one with --output, "
                                            "or '-'\n")
        with open(self.path("plain.ledger"), "rb") as file:
            self.assertEqual(file.read(), before)

    def test_places_that_are_none(self):
        self.assertIn("tmp: cannot be written: Is a directory", self.export("csv", "tmp", status=1))
        self.assertIn("none/x: cannot be written: No such file", self.export("csv", "none/x", status=1))

    def test_no_binary_to_a_terminal(self):
        for form, extension in (("pprof", ".pb.gz"), ("perfetto", ".pftrace")):
            master, slave = pty.openpty()
            done = subprocess.run([bench.TREADLE, "export", "-f", form], cwd=self.folder, stdout=slave,
                                  stderr=subprocess.PIPE, env=self.environment(), check=False)
            os.close(slave)
            os.close(master)
            self.assertEqual((done.returncode, done.stderr.decode()), (
                1, f"treadle: {form} is binary, nothing for a terminal: name a file, such as "
                   f"--output treadle{extension}\n"))


class Usage(bench.Bench):
    def refused(self, status, *arguments):
        complaint = self.treadle("export", *arguments, status=status)
        self.assertTrue(complaint.startswith("treadle"), complaint)
        return complaint

    def test_bad_usage(self):
        self.make("plain")
        self.assertIn("which --format?", self.refused(2))
        self.assertIn("did you mean 'perfetto'", self.refused(2, "-f", "perfeto"))
        self.assertIn("there are pprof, collapsed, speedscope, perfetto, jfr, csv, sqlite",
                      self.refused(2, "-f", "qqqqqqqqq"))
        self.assertIn("did you mean 'minor_faults'", self.refused(2, "-f", "csv", "-m", "faults"))
        self.assertIn("csv has all metrics", self.refused(2, "-f", "csv", "-m", "wall"))
        self.assertIn("sqlite needs a file", self.refused(2, "-f", "sqlite"))
        self.assertIn("sqlite needs a file", self.refused(2, "-f", "sqlite", "-o", "-"))
        self.assertIn("not more", self.refused(2, "-f", "csv", "a", "b"))

    def test_bad_input(self):
        self.assertIn("no *.ledger in the working folder", self.refused(1, "-f", "csv"))
        self.make("plain")
        for name in ("pprof", "collapsed", "speedscope", "perfetto", "jfr", "csv", "sqlite"):
            self.assertIn("plain.ledger: no thread's name matches 'nobody'; there are 'worker-1', 'main', ",
                          self.refused(1, "-f", name, "-t", "nobody", "-o", "x"))
        self.assertIn("has no block_io_delay: it needs CAP_NET",
                      self.refused(1, "-f", "pprof", "-o", "x", "-m", "block_io_delay"))
        self.assertIn("has no samples: the agent's sample= did not ask",
                      self.refused(1, "-f", "collapsed", "-m", "samples"))
        self.assertIn("has no read_bytes", self.refused(1, "-f", "collapsed", "-m", "read_bytes"))
        with open(self.path("bad.ledger"), "wb") as file:
            file.write(b"hello")
        self.assertIn("bad.ledger: byte 0: not a ledger", self.refused(1, "-f", "csv", "bad.ledger"))
        self.assertFalse(os.path.exists(self.path("x")))

    def test_live_ledger_by_pid(self):
        self.make("live", f"tmp/treadle-{os.getpid()}-0123456789abcdef.live", os.getpid())
        self.assertIn("main;demo.Main.main 200000000\n",
                      self.treadle("export", "-f", "collapsed", str(os.getpid())))


if __name__ == "__main__":
    bench.main()
