"""The PID of `treadle run`, a shell's $!: commands take the JVM below it, and say so in one line. What stands for a
JVM here is a program that draws a live ledger of its own pid and sleeps."""
import os
import subprocess

import bench

JVM = """#!/bin/sh
"$MAKE_LEDGER" live "$TMPDIR/treadle-$$-0123456789abcdef.live" $$
echo $$
exec sleep 300
"""


class RunPid(bench.Bench):
    def setUp(self):
        super().setUp()
        for name, text in (("java", JVM), ("several", "#!/bin/sh\n./java & ./java & wait\n"),
                           ("none", "#!/bin/sh\necho\nexec sleep 300\n")):
            with open(self.path(name), "w", encoding="utf-8") as script:
                script.write(text)
            os.chmod(self.path(name), 0o755)
        with open(self.path("libtreadle.so"), "wb"):
            pass

    def start(self, program, lines=1):
        """The pid of `treadle run`, and those that the programs below it print."""
        run = subprocess.Popen([bench.TREADLE, "run", "--", program], cwd=self.folder, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
                               env=self.environment(TREADLE_AGENT=self.path("libtreadle.so"),
                                                    MAKE_LEDGER=bench.MAKE_LEDGER))
        self.addCleanup(run.stdout.close)
        self.addCleanup(run.wait)
        self.addCleanup(os.killpg, run.pid, 9)
        return run.pid, [run.stdout.readline().strip() for _ in range(lines)]

    def test_every_command_takes_the_jvm(self):
        run, (jvm,) = self.start("./java")
        told = f"treadle: process {run} is `treadle run`; its JVM is process {jvm}"
        for command in (["report"], ["report", "--json"], ["status"], ["top", "--once", "--interval", "0.1"],
                        ["html", "-o", "page.html"], ["export", "-f", "collapsed"], ["annotate", "*"],
                        ["dump", "-o", "%p.ledger"]):
            done = self.run_treadle(*command, str(run))
            said = done.stderr.decode("utf-8").splitlines()
            self.assertEqual(said[:1], [told], command)
            by_itself = self.run_treadle(*command, jvm)
            self.assertEqual(done.returncode, by_itself.returncode, f"{command}: {said}")
            self.assertEqual(said[1:], by_itself.stderr.decode("utf-8").splitlines(), command)
        report = self.run_treadle("report", str(run))
        self.assertEqual(report.returncode, 0)
        self.assertIn(f"process     {jvm}, started", report.stdout.decode("utf-8"))
        self.assertTrue(os.path.exists(self.path(f"{jvm}.ledger")))

    def test_several_are_named(self):
        run, jvms = self.start("./several", 2)
        said = self.treadle("report", str(run), status=1)
        self.assertEqual(said.count("\n"), 1, said)
        self.assertIn(f"process {run} is `treadle run`; which of its JVMs? there are ", said)
        self.assertEqual(set(said.strip().split("there are ")[1].split(", ")), set(jvms))

    def test_none_is_one_line(self):
        run, _ = self.start("./none")
        for command in ("report", "status", "top", "stop", "start", "dump", "attach"):
            self.assertEqual(self.treadle(command, str(run), status=1),
                             f"treadle: process {run} is `treadle run`, and no JVM below it has a ledger by now\n")


if __name__ == "__main__":
    bench.main()
