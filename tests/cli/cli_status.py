"""treadle status: what a running process's ledger says about itself; and list, of stopped ones."""
import os
import subprocess

import bench

MS = 1_000_000


class Status(bench.Bench):
    def setUp(self):
        super().setUp()
        self.process = subprocess.Popen(["sleep", "300"])
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.kill)
        self.pid = str(self.process.pid)
        self.name = f"tmp/treadle-{self.pid}-0123456789abcdef.live"

    def make_it(self, kind):
        self.make(kind, self.name, self.process.pid)

    def facts(self):
        """The lines by their labels; a line without one continues the last."""
        facts, last = {}, None
        for line in self.treadle("status", self.pid).splitlines():
            last = line[:12].strip() or last
            facts[last] = f"{facts[last]}\n{line[12:]}" if last in facts else line[12:]
        return facts

    def test_profiling(self):
        self.make_it("live")
        facts = self.facts()
        self.assertEqual(facts["process"], f"{self.pid}, started 2023-11-14 22:13:19")
        self.assertEqual(facts["command"], "demo.Main --rounds 3")
        self.assertRegex(facts["state"], r"^profiling since 2023-11-14 22:13:20 \(\d+ d \d+ h\)$")
        self.assertEqual(facts["events"], "instrument")
        self.assertEqual(facts["clock"], "rseq (by self-test)")
        self.assertEqual(facts["ledger"], self.path(self.name))
        self.assertRegex(facts["size"], r"^\d\S+ KiB of 64\.0 MiB \(0\.0\d %\)$")
        self.assertEqual(facts["threads"], "4, of which 1 ended")
        self.assertEqual(facts["lost"], "nothing")
        self.assertEqual(facts["snapshots"], "1")
        self.assertNotIn("starts", facts)

    def test_why_the_clock_is_a_slow_one(self):
        self.make_it("slow_clock")
        self.assertEqual(self.facts()["clock"], "plain (by self-test; rseq: does not tell every switch here; "
                                                "perf: Permission denied)")
        self.assertEqual(self.json("status", self.pid)["refused_clocks"],
                         {"rseq": "does not tell every switch here", "perf": "Permission denied"})

    def test_stopped(self):
        self.make_it("stopped")
        facts = self.facts()
        self.assertRegex(facts["state"], r"^stopped since 2023-11-14 22:13:29 \(\d+ d \d+ h\), "
                                         r"attached 500 ms after the process began$")
        self.assertEqual(facts["beside"], "5.00 MiB that the agent holds beside the ledger, about")
        self.assertEqual(facts["starts"], "2, not profiled for 2.000 s in between")
        entry, = [entry for entry in self.json("list")["ledgers"] if self.pid in entry["path"]]
        self.assertEqual(entry["state"], "stopped")
        self.assertRegex(self.treadle("list"), rf" {self.pid} +stopped ")

    def test_json(self):
        self.make_it("stopped")
        status = self.json("status", self.pid)
        self.assertEqual({key: status[key] for key in (
            "pid", "command", "state", "since_ns", "starts", "attached_after_ns", "unprofiled_ns",
            "events", "clock", "max_bytes", "threads", "ended_threads", "snapshots",
            "full_errno", "held_bytes")}, {
                "pid": self.process.pid, "command": "demo.Main --rounds 3", "state": "stopped",
                "since_ns": 1_700_000_009_000_000_000, "starts": 2, "attached_after_ns": 500 * MS,
                "unprofiled_ns": 2000 * MS, "events": "instrument", "clock": "rseq",
                "max_bytes": 64 << 20, "threads": 4, "ended_threads": 1, "snapshots": 1,
                "full_errno": 0, "held_bytes": 5 << 20})
        self.assertEqual(status["path"], self.path(self.name))
        self.assertEqual(status["bytes"] % 4096, 0)
        self.assertEqual(set(status["losses"].values()), {0})
        self.assertLessEqual({"classes", "methods", "left_alone"}, set(status["hooks"]))

    def test_positions_corrected(self):
        self.make_it("live")
        self.assertEqual(self.json("status", self.pid)["positions_corrected"], 0)
        self.assertNotIn("positions", self.facts())
        os.unlink(self.path(self.name))
        self.make_it("stopped")
        self.assertEqual(self.json("status", self.pid)["positions_corrected"], 1)
        self.assertEqual(self.facts()["positions"], "1 position corrected: samples found threads elsewhere")

    def test_what_has_none(self):
        self.assertEqual(self.treadle("status", self.pid, status=1),
                         f"treadle: process {self.pid} is not profiled: it has no ledger in /dev/shm, $XDG_RUNTIME_DIR, "
                         f"$TMPDIR or /tmp; to profile it: treadle attach {self.pid}\n")
        self.make("orphan", "tmp/treadle-4194999-0123456789abcdef.live", 4194999)
        complaint = self.treadle("status", "4194999", status=1)
        self.assertIn("has ended; to show its ledger: treadle report /", complaint)
        with open(self.path(self.name), "wb") as file:
            file.write(b"junk")
        self.assertIn("not a ledger", self.treadle("status", self.pid, status=1))

    def test_stop_of_a_stopped_one_keeps_a_snapshot(self):
        self.make_it("stopped")
        text = self.treadle("stop", self.pid, "-o", self.path("%p.ledger"))
        self.assertEqual(text, f"{self.pid} was stopped already: treadle report {self.pid}, "
                               f"treadle start {self.pid}\n{self.path(self.pid)}.ledger\n")
        self.assertTrue(os.path.exists(self.path(f"{self.pid}.ledger")))


if __name__ == "__main__":
    bench.main()
