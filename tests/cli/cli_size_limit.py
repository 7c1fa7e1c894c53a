"""A limit of the size of files (ulimit -f): a line, status 1, the file that was to be replaced as it was, and nothing half
written. A program that treadle starts has its own way with the signal."""
import os
import resource
import signal
import subprocess

import bench

LIMIT_BYTES = 512
OLD = b"what was there before\n"


class SizeLimit(bench.Bench):
    def limited(self, *arguments, file=None, ignored=False):
        """`treadle` within the limit; without a file the output goes into a pipe."""
        def prepare():
            resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT_BYTES, LIMIT_BYTES))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN if ignored else signal.SIG_DFL)
        environment = self.environment(TREADLE_AGENT=self.path("libtreadle.so"))
        return subprocess.run([bench.TREADLE, *arguments], cwd=self.folder, env=environment, check=False,
                              stdout=file or subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, preexec_fn=prepare,
                              restore_signals=False)

    def assert_refused(self, run, what):
        self.assertEqual(run.returncode, 1, f"{what}: {run}")
        self.assertEqual(run.stderr.count(b"\n"), 1, f"{what}: {run}")
        self.assertTrue(run.stderr.startswith(b"treadle: "), f"{what}: {run}")

    def test_files(self):
        self.make("plain")
        self.make("plain", "other.ledger")
        for command in (["html"], ["diff", "other.ledger", "--html"], ["merge", "other.ledger"], ["export", "-f", "csv"],
                        ["export", "-f", "sqlite"], ["export", "-f", "perfetto"]):
            for before in (None, OLD):
                name = "output.ledger" if command[0] == "merge" else "output"
                place = ["-o", name] if command[0] != "diff" else [name]
                if before:
                    with open(self.path(name), "wb") as file:
                        file.write(before)
                files = set(os.listdir(self.folder))
                run = self.limited(command[0], "plain.ledger", *command[1:], *place)
                self.assert_refused(run, command)
                self.assertEqual(set(os.listdir(self.folder)), files, command)
                if before:
                    with open(self.path(name), "rb") as file:
                        self.assertEqual(file.read(), before, command)
                    os.unlink(self.path(name))

    def test_standard_output(self):
        self.make("plain")
        with open(self.path("output"), "wb") as file:
            run = self.limited("report", "plain.ledger", "--view", "tree", "--json", file=file)
        self.assert_refused(run, "report")
        self.assertIn(b"standard output: cannot be written: File too large", run.stderr)

    def test_programs(self):
        """SIGXFSZ ends a program that treadle starts, unless it was ignored before."""
        with open(self.path("libtreadle.so"), "wb"):
            pass  # a shell loads no agent
        program = ["sh", "-c", f"head -c {2 * LIMIT_BYTES} /dev/zero >big"]
        for ignored, status in ((False, 128 + signal.SIGXFSZ), (True, 1)):
            run = self.limited("run", "--best-effort", "--", *program, ignored=ignored)
            self.assertEqual(run.returncode, status, run)


if __name__ == "__main__":
    bench.main()
