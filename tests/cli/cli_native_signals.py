"""treadle run with programs that use signals themselves: what they see of them, and how they end, is as without."""
import os
import pathlib
import signal
import subprocess

import bench

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "preload" / "program_signals.c"
LIBRARY = os.environ.get("NATIVE_LIBRARY", "")


class Signals(bench.Bench):
    def setUp(self):
        super().setUp()
        if not os.path.exists(LIBRARY):
            self.skipTest("libtreadle-native.so is not built here")
        self.program = self.path("signals")
        subprocess.run(["cc", "-O1", "-D_GNU_SOURCE", "-pthread", str(SOURCE), "-o", self.program], check=True)

    def run_it(self, use, *command):
        return subprocess.run([*command, self.program, use], cwd=self.folder, text=True, capture_output=True,
                              check=False, timeout=100, env=self.environment(TREADLE_PRELOAD=LIBRARY))

    def profile(self, use):
        return self.run_it(use, bench.TREADLE, "run", "--native", "--sample=cpu", "-o", "signals.ledger", "--")

    def test_the_program_sees_what_it_sees_without(self):
        for use in ("defaults", "handlers", "masks", "interrupts", "waits", "descriptor", "timers", "executes"):
            with self.subTest(use):
                alone, profiled = self.run_it(use), self.profile(use)
                self.assertTrue(alone.stdout)
                self.assertEqual((profiled.stdout, profiled.returncode), (alone.stdout, alone.returncode),
                                 profiled.stderr)

    def test_there_are_samples_whatever_the_action_is(self):
        for use in ("defaults", "handlers"):
            with self.subTest(use):
                self.profile(use)
                tree = self.json("report", "signals.ledger", "--view", "tree")
                rows = [thread for thread in tree["threads"] if thread["name"] == "signals"]
                self.assertEqual(len(rows), 1)
                self.assertIn("consume", self.sampled(rows[0]["root"]))

    def sampled(self, node):
        return {node["method"]}.union(*map(self.sampled, node["children"]))

    def test_a_signal_without_a_handler_ends_the_program(self):
        alone, profiled = self.run_it("sent"), self.profile("sent")
        self.assertEqual(alone.returncode, -signal.SIGPROF)
        self.assertEqual(profiled.returncode, -signal.SIGPROF, profiled.stderr)
        self.assertEqual(profiled.stdout, "")


if __name__ == "__main__":
    bench.main()
