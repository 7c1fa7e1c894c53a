"""What goes wrong gives one line that says what, where and what to do, and the right status."""
import os
import subprocess

import bench


class Usage(bench.Bench):
    def assert_one_line(self, complaint, *parts):
        self.assertEqual(complaint.count("\n"), 1, complaint)
        for part in parts:
            self.assertIn(part, complaint)

    def test_misspelt_names(self):
        self.make("plain")
        for arguments, near in (
                (["--view", "treee"], "did you mean 'tree'"),
                (["--metric", "run_que_delay"], "did you mean 'run_queue_delay'"),
                (["--metric", "faults"], "did you mean 'minor_faults'"),
                (["--sort", "wal"], "did you mean 'wall'"),
                (["--view", "flat", "--sort", "bse"], "did you mean 'base'"),
                (["--sort", "bse", "--view", "flat"], "did you mean 'base'"),
                (["--metric", "xyzzyxyzzy"], "there are cpu, wall, calls, samples"),
                (["--top", "0"], "--top '0'"),
                (["--top", "-1"], "--top '-1'"),
                (["--top", "many"], "--top 'many'"),
                (["--check", "-1"], "--check '-1'"),
                (["--check", "1.5"], "--check '1.5'"),
                (["--check", "1e3"], "--check '1e3'"),
                (["--check", ""], "--check ''"),
                (["--check", " 5"], "--check ' 5'"),
                (["--check", "4294967296"], "expected a whole number from 0 to 4294967295")):
            complaint = self.treadle("report", "plain.ledger", *arguments, status=2)
            self.assert_one_line(complaint, "treadle report: ", near)

    def test_bad_options(self):
        self.assertIn("--json or --csv",
                      self.treadle("report", "--json", "--csv", status=2))
        self.assertIn("unrecognized option", self.treadle("report", "--colour", status=2))
        self.assertIn("not more", self.treadle("report", "a", "b", status=2))
        self.assertIn("did you mean 'report'", self.treadle("reprot", status=2))
        self.assertIn("Usage: treadle COMMAND", self.treadle(status=2))

    def test_help_and_version(self):
        for command in ([], ["annotate"], ["report"], ["list"], ["run"], ["dump"], ["attach"], ["start"], ["stop"],
                        ["status"], ["top"], ["diff"], ["merge"], ["export"], ["html"]):
            self.assertIn("Usage: treadle", self.treadle(*command, "--help"))
            self.assertRegex(self.treadle(*command, "--version"), r"^treadle \d+\.\d+")
        self.assertIn("JAVA_TOOL_OPTIONS", self.treadle("run", "--help"))
        self.assertRegex(self.treadle("run", "--help"), r"whether waits have reasons\s+\(default on")

    def test_help_that_cannot_be_written(self):
        for arguments in (["--help"], ["--version"], ["report", "--help"], ["report", "--usage"], ["report", "--version"],
                          ["run", "--help"], ["timeline", "-?"]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([bench.TREADLE, *arguments], cwd=self.folder, env=self.environment(), stdout=full,
                                      stderr=subprocess.PIPE, check=False, timeout=60)
            self.assertEqual((done.returncode, done.stderr), (
                1, b"treadle: standard output: cannot be written: No space left on device\n"), arguments)

    def test_bad_input(self):
        def refused(*arguments):
            complaint = self.treadle("report", *arguments, status=1)
            self.assertTrue(complaint.startswith("treadle: "))
            self.assertEqual(complaint.count("\n"), 1, complaint)
            return complaint
        self.assertIn("no *.ledger in the working folder", refused())
        self.assertIn("none.ledger: cannot be opened: No such file", refused("none.ledger"))
        self.assertIn(".: is a folder, expected a ledger", refused("."))
        self.assertIn("there is no process 999999999\n", refused("999999999"))
        self.assertIn("there is no process 99999999999999999999\n", refused("99999999999999999999"))
        for content, expected in ((b"", "byte 0: the file is empty"),
                                  (b"hello", "byte 0: not a ledger"),
                                  (b"TREADLE\n", "byte 8: the file ends inside the header")):
            with open(self.path("bad.ledger"), "wb") as file:
                file.write(content)
            self.assertIn("bad.ledger: " + expected, refused("bad.ledger"))
            self.assertIn("bad.ledger: " + expected, refused())
        os.mkfifo(self.path("fifo"))
        self.assertIn("not a regular file", refused("fifo"))
        self.assertIn("\\x1b[31m.ledger: cannot be opened", refused("\033[31m.ledger"))

    def test_the_same_words_for_the_same_thing(self):
        """A process that is gone, and one without a ledger, whichever command asks for it."""
        with subprocess.Popen(["true"]) as gone, subprocess.Popen(["sleep", "300"]) as running:
            self.addCleanup(running.kill)
            gone.wait()
            commands = [["dump"], ["stop"], ["start"], ["status"], ["report"], ["html"], ["export", "-f", "csv"],
                        ["top", "--once"], ["annotate", "X.y"]]
            for command in [*commands, ["attach"]]:
                self.assertEqual(self.treadle(*command, str(gone.pid), status=1),
                                 f"treadle: there is no process {gone.pid}\n", command)
            for command in commands:
                self.assertEqual(self.treadle(*command, str(running.pid), status=1),
                                 f"treadle: process {running.pid} is not profiled: it has no ledger in /dev/shm, "
                                 f"$XDG_RUNTIME_DIR, $TMPDIR or /tmp; to profile it: treadle attach {running.pid}\n", command)
            running.kill()

    def test_one_is_not_several(self):
        """quiet: one thread, which made one call. losses: one call that was not recorded, and so on."""
        self.make("quiet")
        text = self.treadle("report", "quiet.ledger", "--view", "tree")
        self.assertNotRegex(text, r"\b1 (of 1 )?(threads|calls|samples|methods)\b")
        self.assertIn(" 1 of 1 thread\n", text)

    def test_metric_that_is_not_there(self):
        self.make("plain")
        complaint = self.treadle("report", "plain.ledger", "-m", "block_io_delay", status=1)
        self.assert_one_line(complaint, "plain.ledger: has no block_io_delay: it needs CAP_NET")
        complaint = self.treadle("report", "plain.ledger", "-v", "flat", "-m", "read_bytes",
                                 status=1)
        self.assert_one_line(complaint, "has no read_bytes")
        complaint = self.treadle("report", "plain.ledger", "-m", "samples", status=1)
        self.assert_one_line(complaint, "has no samples: the agent's sample= did not ask for any")
        complaint = self.treadle("report", "plain.ledger", "-v", "callers", "-m", "pinned", status=1)
        self.assert_one_line(complaint, "has no pinned: it needs JDK 21 or later")
        self.treadle("report", "plain.ledger", "-m", "read_bytes")


if __name__ == "__main__":
    bench.main()
