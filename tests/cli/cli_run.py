"""treadle run, with programs that only tell how they were started."""
import contextlib
import os
import pty
import select
import signal
import subprocess
import sys

import bench

TELL = """#!/bin/sh
for argument; do echo "argument $argument"; done
echo "environment $JAVA_TOOL_OPTIONS"
exit 7
"""


class Run(bench.Bench):
    def setUp(self):
        super().setUp()
        self.agent = self.path("libtreadle.so")
        with open(self.agent, "wb"):
            pass
        for name in ("java", "javac", "other"):
            with open(self.path(name), "w", encoding="utf-8") as script:
                script.write(TELL)
            os.chmod(self.path(name), 0o755)

    def run_it(self, *arguments, status=7, **env):
        done = subprocess.run([bench.TREADLE, "run", "--best-effort", *arguments], cwd=self.folder, text=True,
                              capture_output=True, check=False, timeout=60,
                              env=self.environment(**{"TREADLE_AGENT": self.agent, **env}))
        self.assertEqual(done.returncode, status, done.stderr)
        return (done.stdout if status == 7 else done.stderr).splitlines()

    def test_java_gets_an_argument(self):
        self.assertEqual(self.run_it("./java", "-cp", "x y", "Main"), [
            f"argument -agentpath:{self.agent}", "argument -cp", "argument x y", "argument Main",
            "environment "])

    def test_tools_get_it_behind_j(self):
        self.assertEqual(self.run_it("--", self.path("javac"), "A.java"), [
            f"argument -J-agentpath:{self.agent}", "argument A.java", "environment "])

    def test_others_get_it_by_environment(self):
        self.assertEqual(self.run_it("--", "./other", "--json"), [
            "argument --json", f"environment -agentpath:{self.agent}"])
        self.assertEqual(self.run_it("./other", JAVA_TOOL_OPTIONS="-Dx=y")[-1],
                         f"environment -Dx=y -agentpath:{self.agent}")
        self.assertEqual(self.run_it("--exclude", "a b*", "./other")[-1],
                         f"environment '-agentpath:{self.agent}=exclude=a b*'")
        complaint = self.run_it("--exclude", "a 'b*", "./other", status=1)
        self.assertEqual(len(complaint), 1)
        self.assertIn("cannot be quoted", complaint[0])

    def test_options(self):
        first = self.run_it("-o", "x-%p.ledger", "--events=jvmti", "--include", "a.*;b.*",
                            "--exclude=a.C.*", "--metrics", "cpu,switches,faults", "--clock=perf",
                            "--max-mem=64M", "--log", "debug", "--strict", "-O", "reuse=new",
                            "--option", "interval=5ms", "--", "./java")[0]
        self.assertEqual(first, f"argument -agentpath:{self.agent}=file=x-%p.ledger,events=jvmti,"
                                "include=a.*;b.*,exclude=a.C.*,metrics=cpu+switches+faults,"
                                "clock=perf,max-mem=64M,log=debug,strict,reuse=new,interval=5ms")

    def test_commas_end_options(self):
        for option in ("--include=a.*,b.*", "--output=a,b", "-Ointerval=5,6", "-Oa,b=c"):
            self.run_it(option, "./java", status=2)
        self.assertIn("separate globs with ';'",
                      self.run_it("--include=a.*,b.*", "./java", status=2)[0])

    def test_what_is_not_there(self):
        self.assertEqual(self.run_it("./javaa", status=127),
                         ["treadle: ./javaa: no such program; is it on the PATH?"])
        self.run_it("/etc/passwd", status=126)
        os.mkfifo(self.path("pipe"), 0o755)
        self.run_it("./pipe", status=126)
        complaint = self.run_it("./java", status=1, TREADLE_AGENT="/nowhere/libtreadle.so")
        self.assertEqual(len(complaint), 1)
        self.assertIn("no agent: looked for /nowhere/libtreadle.so", complaint[0])
        self.run_it(status=2)

    def test_the_process_becomes_the_program(self):
        with open(self.path("java"), "w", encoding="utf-8") as script:
            script.write("#!/bin/sh\necho $$\nkill -TERM $$\n")
        with subprocess.Popen([bench.TREADLE, "run", "--best-effort", "./java"],
                              cwd=self.folder, stdout=subprocess.PIPE, text=True,
                              env=self.environment(TREADLE_AGENT=self.agent)) as process:
            self.assertEqual(process.stdout.read(), f"{process.pid}\n")
        self.assertEqual(process.returncode, -signal.SIGTERM)


class Watched(Run):
    """Without --best-effort: a program that stands for a JVM says by the file of answer= that it is profiled."""
    SIGNED = """#!/bin/sh
answer=${1#*answer=}
echo "profiling " >> "${answer%%,*}"
echo "$1"
exit ${STATUS:-0}
"""

    def watch(self, *arguments, **env):
        return subprocess.run([bench.TREADLE, "run", *arguments], cwd=self.folder, text=True, capture_output=True,
                              check=False, timeout=60, env=self.environment(TREADLE_AGENT=self.agent, **env))

    def sign(self):
        with open(self.path("java"), "w", encoding="utf-8") as script:
            script.write(self.SIGNED)

    def sign_nothing(self, name):
        with open(self.path(name), "w", encoding="utf-8") as script:
            script.write("#!/bin/sh\ntrue\n")
        os.chmod(self.path(name), 0o755)

    def test_no_jvm_was_profiled(self):
        done = self.watch("--", "true")
        self.assertEqual((done.returncode, done.stderr),
                         (1, "treadle: no JVM of true was profiled: it started none, or hid its environment from "
                             "it; --best-effort passes its exit status back as it is\n"))
        done = self.watch("./java")
        self.assertEqual(done.returncode, 7)
        self.assertIn("no JVM of ./java was profiled", done.stderr)
        self.assertNotIn("--native", done.stderr)
        self.sign_nothing("script")
        self.assertIn("; --native profiles a script's native programs, too;", self.watch("./script").stderr)
        self.assertNotIn("--native", self.watch("--jvm-only", "./script").stderr)

    def test_a_jvm_was_profiled(self):
        self.sign()
        for status in (0, 3):
            done = self.watch("./java", STATUS=str(status))
            self.assertEqual((done.returncode, done.stderr), (status, ""))

    def test_a_snapshot_was_not_written(self):
        with open(self.path("java"), "w", encoding="utf-8") as script:
            script.write(self.SIGNED.replace('echo "$1"', 'echo "unwritten " >> "${answer%%,*}"'))
        for status in (0, 3):
            done = self.watch("./java", STATUS=str(status))
            self.assertEqual((done.returncode, done.stderr), (status or 1, ""))

    def test_a_wrong_option_stops_a_jvm(self):
        self.sign()
        self.assertIn(",strict=options,interval=2s\n", self.watch("-O", "interval=2s", "./java").stdout)
        self.assertNotIn("strict=options", self.watch("--strict", "./java").stdout)

    def test_what_is_not_there_is_one_line(self):
        done = self.watch("./javaa")
        self.assertEqual((done.returncode, done.stderr),
                         (127, "treadle: ./javaa: no such program; is it on the PATH?\n"))

    def test_signals_are_the_programs(self):
        self.assertEqual(self.watch("--", "sh", "-c", "kill -KILL $$").returncode, -signal.SIGKILL)
        script = "trap 'exit 9' TERM; echo ready; while :; do sleep 0.1; done"
        with subprocess.Popen([bench.TREADLE, "run", "--", "sh", "-c", script], stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.DEVNULL, env=self.environment(TREADLE_AGENT=self.agent)) as process:
            self.assertEqual(process.stdout.readline(), "ready\n")
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(timeout=60), 9)


class Signals(Run):
    """What a program without --best-effort gets of the signals that `treadle run` gets: the program takes each from
    its queue, and tells whether a terminal or a process sent it."""
    PASSED_ON = ("HUP", "INT", "QUIT", "TERM", "USR1", "USR2")
    TELL = f"""\
import os, re, signal
names = {{getattr(signal, "SIG" + name): name for name in {PASSED_ON}}}
signal.pthread_sigmask(signal.SIG_BLOCK, names)
with open("/proc/self/status") as status:
    print(os.getpid(), re.search(r"SigIgn:\\s*(\\w+)", status.read())[1], flush=True)
while True:
    info = signal.sigwaitinfo(names)
    print(names[info.si_signo], "terminal" if info.si_code > 0 else "process", flush=True)
"""

    def command(self):
        return [bench.TREADLE, "run", "--", sys.executable, "-c", self.TELL]

    @contextlib.contextmanager
    def told(self, ignored=()):
        """`treadle run`, and the mask of signals that its program was started to ignore."""
        def ignore():
            for number in ignored:
                signal.signal(number, signal.SIG_IGN)
        with subprocess.Popen(self.command(), stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL,
                              env=self.environment(TREADLE_AGENT=self.agent), preexec_fn=ignore) as process:
            program, mask = process.stdout.readline().split()
            try:
                yield process, int(mask, 16)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(program), signal.SIGKILL)

    def test_each_is_passed_on_once(self):
        with self.told() as (process, _):
            for name in 2 * self.PASSED_ON:
                process.send_signal(getattr(signal, f"SIG{name}"))
                self.assertEqual(process.stdout.readline(), f"{name} process\n")
            self.assertIsNone(process.poll())

    def test_an_ignored_one_stays_ignored(self):
        ignored = (signal.SIGHUP, signal.SIGUSR2)
        with self.told(ignored) as (process, mask):
            for number in ignored:
                self.assertTrue(mask >> (number - 1) & 1, number)
            self.assertFalse(mask >> (signal.SIGTERM - 1) & 1)
            for name in self.PASSED_ON + ("TERM",):
                process.send_signal(getattr(signal, f"SIG{name}"))
                if name not in ("HUP", "USR2"):
                    self.assertEqual(process.stdout.readline(), f"{name} process\n")
            self.assertIsNone(process.poll())

    def test_the_program_does_not_outlive_a_killed_one(self):
        with self.told() as (process, _):
            process.kill()
            self.assertTrue(select.select([process.stdout], [], [], 20)[0], "the program lives on")
            self.assertEqual(process.stdout.read(), "")

    def test_a_terminals_reaches_the_program_once(self):
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(bench.TREADLE, self.command(), self.environment(TREADLE_AGENT=self.agent))
        with open(terminal, "rb+", buffering=0) as screen:
            self.read_line(screen)
            screen.write(b"\x03")
            self.assertEqual(self.read_line(screen), "^CINT terminal")
            os.kill(pid, signal.SIGUSR1)  # a second INT would be before it
            self.assertEqual(self.read_line(screen), "USR1 process")
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def read_line(self, screen):
        text = b""
        while not text.endswith(b"\r\n"):
            text += screen.read(1)
        return text[:-2].decode("utf-8")


if __name__ == "__main__":
    bench.main()
