"""treadle attach, start and stop, up to the agent's door: which processes are asked at all, and what
a JVM that does not let it in gets said. The agent here is an empty file, which no JVM loads."""
import glob
import os
import shutil
import signal
import subprocess
import time
import unittest

import bench

NOBODY = 65534
PROGRAM = """
public class Idle {
    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        Thread.sleep(300_000);
    }
}
"""

# Listens in place of the JVM; closes as many connections as it is told, and answers those after them.
LISTENER = """
import java.net.*;
import java.nio.*;
import java.nio.channels.*;
import java.nio.file.*;

public class Listener {
    public static void main(String[] arguments) throws Exception {
        Path path = Path.of("/tmp/.java_pid" + ProcessHandle.current().pid());
        try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            server.bind(UnixDomainSocketAddress.of(path));
            System.out.println("ready");
            for (int closed = 0;; closed++) {
                try (SocketChannel client = server.accept()) {
                    System.out.println("connection");
                    if (closed >= Integer.parseInt(arguments[0])) {
                        client.read(ByteBuffer.allocate(4096));
                        client.write(ByteBuffer.wrap("0\\nreturn code: 77\\n".getBytes()));
                    }
                }
            }
        }
    }
}
"""


def javas():
    """One a JDK, by the folder it really is in."""
    found = {os.path.realpath(java) for java in glob.glob("/usr/lib/jvm/*/bin/java")}
    return sorted(java for java in found if os.path.exists(java[:-4] + "javac"))


def abandoned_answers(since):
    """Files of requests that were made since, and that no process has open: a request on its way has its own open."""
    found = {}
    for path in glob.glob("/tmp/.treadle-answer-*"):
        try:
            if os.stat(path).st_mtime >= since:
                found[os.path.realpath(path)] = path
        except FileNotFoundError:
            pass
    for descriptor in glob.glob("/proc/[0-9]*/fd/*") if found else ():
        try:
            found.pop(os.readlink(descriptor), None)
        except OSError:
            pass
    return [path for path in found.values() if os.path.exists(path)]


class Attach(bench.Bench):
    def setUp(self):
        super().setUp()
        self.began = time.time() - 1
        os.chmod(self.folder, 0o755)
        self.agent = self.path("libtreadle.so")
        with open(self.agent, "wb"):
            pass
        os.chmod(self.agent, 0o755)
        with open(self.path("Idle.java"), "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        with open(self.path("Listener.java"), "w", encoding="utf-8") as file:
            file.write(LISTENER)

    def start(self, *command, **options):
        process = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, env=self.environment(),
                                   **options)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def start_java(self, java, *flags, program=("Idle.java",), **options):
        process = self.start(java, *flags, *program, **options)
        self.addCleanup(self.remove_socket, process)
        for line in process.stdout:
            if line == "ready\n":
                return process
        return self.fail("the JVM ended")

    @staticmethod
    def remove_socket(process):
        """A JVM that is killed leaves it behind."""
        process.kill()
        process.wait()
        try:
            os.unlink(f"/tmp/.java_pid{process.pid}")
        except FileNotFoundError:
            pass

    def refused(self, command, pid, *arguments):
        """The one line that says why."""
        complaint = self.treadle(command, str(pid), *arguments, status=1,
                                 env={"TREADLE_AGENT": self.agent})
        self.assertTrue(complaint.startswith("treadle: "), complaint)
        self.assertEqual(complaint.count("\n"), 1, complaint)
        return complaint

    def assert_unhurt(self, process):
        """It runs, and left no files of ours behind."""
        time.sleep(0.1)
        self.assertIsNone(process.poll())
        self.assertEqual(glob.glob(self.path(".attach_pid*")), [])
        self.assertFalse(os.path.exists(f"/tmp/.attach_pid{process.pid}"))
        self.assertEqual(abandoned_answers(self.began), [])

    def test_processes_that_are_no_jvm_are_left_in_peace(self):
        process = self.start("sleep", "300")
        self.assertIn(f"process {process.pid} is no JVM", self.refused("attach", process.pid))
        for command in ("start", "stop"):
            self.assertIn(f"process {process.pid} is not profiled: it has no ledger in ",
                          self.refused(command, process.pid))
        self.assert_unhurt(process)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        self.assertIn("there is no process", self.refused("attach", process.pid))

    def test_a_ledger_alone_is_no_jvm(self):
        process = self.start("sleep", "300")
        self.make("live", f"tmp/treadle-{process.pid}-0123456789abcdef.live", process.pid)
        self.assertIn("is profiled already", self.refused("attach", process.pid))
        self.assertIn("is being profiled", self.refused("start", process.pid))
        self.assertIn("is no JVM", self.refused("stop", process.pid))
        self.assertIn("is no JVM", self.refused("start", process.pid, "--include", "a.*"))
        self.make("stopped", f"tmp/treadle-{process.pid}-0123456789abcdef.live", process.pid)
        self.assertIn("the agent already, stopped: treadle start",
                      self.refused("attach", process.pid))
        self.assert_unhurt(process)

    def test_usage(self):
        for command in ("attach", "start", "stop", "status"):
            self.assertIn("which process?", self.treadle(command, status=2))
            self.assertIn("one PID is wanted", self.treadle(command, "x", status=2))
            self.assertIn("one PID is wanted", self.treadle(command, "7", "8", status=2))
            self.assertIn("999999999", self.refused(command, 999_999_999))
        self.assertIn("events=jvmti works only from a JVM's start",
                      self.treadle("attach", "7", "--events", "jvmti", status=2))
        self.assertIn("separate globs with ';'",
                      self.treadle("start", "7", "--include", "a,b", status=2))

    @unittest.skipUnless(os.geteuid() == 0, "takes root to be another user")
    def test_processes_of_other_users(self):
        process = self.start("sleep", "300")
        try:
            done = subprocess.run([bench.TREADLE, "attach", str(process.pid)], check=False,
                                  capture_output=True, text=True, user=NOBODY, group=NOBODY,
                                  extra_groups=[], env=self.environment())
        except PermissionError:
            self.skipTest("only root may enter the build folder")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, f"treadle: process {process.pid} runs as root, 0:0: a JVM "
                                      "lets in only that user and group, and root\n")

    def check_refusals(self, java, **options):
        process = self.start_java(java, **options)
        task = max(map(int, os.listdir(f"/proc/{process.pid}/task")))
        self.assertIn(f"{task} is a thread of process {process.pid}", self.refused("attach", task))
        self.assertIn("bytes long: a running JVM takes 1024",
                      self.refused("attach", process.pid, "--include", "x" * 1024))
        for _ in range(2):
            complaint = self.refused("attach", process.pid)
            self.assertIn(f"process {process.pid}: {self.agent} was not loaded", complaint)
            self.assertIn("file too short", complaint)
            self.assert_unhurt(process)
        process.kill()
        self.assertNotIn("Full thread dump", process.stdout.read())

    def test_refusals_come_back(self):
        for java in javas():
            with self.subTest(java):
                self.check_refusals(java)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "takes root, and setpriv")
    def test_root_that_cannot_become_another_user(self):
        process = self.start_java(javas()[0], user=NOBODY, group=NOBODY, extra_groups=[])
        for dropped in ("setuid,-setgid", "setuid", "setgid"):
            done = subprocess.run(["setpriv", f"--bounding-set=-{dropped}", f"--inh-caps=-{dropped}", bench.TREADLE,
                                   "attach", str(process.pid)], cwd=self.folder, check=False, capture_output=True,
                                  text=True, timeout=60, env=self.environment(TREADLE_AGENT=self.agent))
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertEqual(done.stderr, f"treadle: process {process.pid} runs as user {NOBODY}, group {NOBODY}, and "
                                          "treadle cannot become these: Operation not permitted\n")
        self.assert_unhurt(process)

    @unittest.skipUnless(os.geteuid() == 0, "takes root to be another user")
    def test_root_attaches_to_jvms_of_others(self):
        for java in javas():
            with self.subTest(java):
                self.check_refusals(java, user=NOBODY, group=NOBODY, extra_groups=[])

    @unittest.skipUnless(os.geteuid() == 0, "takes root to be another user")
    def test_root_that_attaches_has_no_supplementary_groups(self):
        """While it talks: the JVM is suspended, so that it talks until the JVM goes on."""
        for java in javas()[:1]:
            process = self.start_java(java, user=NOBODY, group=NOBODY, extra_groups=[])
            self.refused("attach", process.pid)  # from then on the JVM listens
            process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
            with subprocess.Popen([bench.TREADLE, "attach", str(process.pid)], extra_groups=[4242],
                                  env=self.environment(TREADLE_AGENT=self.agent), stderr=subprocess.PIPE) as talker:
                effective = groups = []
                while talker.poll() is None and effective != [str(NOBODY)]:
                    time.sleep(0.005)
                    with open(f"/proc/{talker.pid}/status", encoding="ascii") as file:
                        lines = dict(line.rstrip("\n").split(":", 1) for line in file)
                    effective, groups = lines["Uid"].split()[1:2], lines["Groups"].split()
                process.send_signal(signal.SIGCONT)
                self.assertIn(b"file too short", talker.communicate()[1])
            self.assertEqual((effective, groups), ([str(NOBODY)], []))

    def test_jvms_that_let_nobody_in(self):
        for java in javas():
            with self.subTest(java):
                process = self.start_java(java, "-XX:+DisableAttachMechanism")
                self.assertIn("runs with -XX:+DisableAttachMechanism",
                              self.refused("attach", process.pid))
                self.assert_unhurt(process)
                process = self.start_java(java, "-XX:-EnableDynamicAgentLoading")
                self.assertIn("Dynamic agent loading is not enabled",
                              self.refused("attach", process.pid))
                self.assert_unhurt(process)

    def test_a_jvm_that_cannot_be_woken(self):
        for java in javas()[:1]:
            process = self.start_java(java, "-Xrs")
            self.assertIn("file too short", self.refused("attach", process.pid))
            os.unlink(f"/tmp/.java_pid{process.pid}")
            self.assertIn("does not catch the SIGQUIT", self.refused("attach", process.pid))
            self.assert_unhurt(process)

    def test_a_suspended_jvm(self):
        for java in javas()[:1]:
            process = self.start_java(java)
            process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
            self.assertIn(f"is suspended: kill -CONT {process.pid}",
                          self.refused("attach", process.pid))

    def test_a_socket_of_somebody_else(self):
        for java in javas()[:1]:
            process = self.start_java(java)
            listener = f"/tmp/.java_pid{process.pid}"
            with open(listener, "wb"):
                pass
            self.assertIn("is not the socket of process", self.refused("attach", process.pid))

    def test_a_connection_that_is_closed_unread_is_made_again(self):
        for closed, says in ((0, "77"), (1, "77"), (2, "closed the connection without an answer")):
            process = self.start_java(javas()[0], program=("Listener.java", str(closed)))
            self.assertIn(says, self.refused("attach", process.pid))
            process.kill()
            self.assertEqual(process.stdout.read(), "connection\n" * (1 + (closed > 0)))

    def test_an_agent_that_is_not_there(self):
        for java in javas()[:1]:
            process = self.start_java(java)
            os.unlink(self.agent)
            self.assertIn("no agent: looked for", self.refused("attach", process.pid))
            self.assert_unhurt(process)


if __name__ == "__main__":
    bench.main()
