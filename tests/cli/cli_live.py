"""Ledgers of processes that run, and of those that were killed; and the list of them all."""
import os
import subprocess

import bench

GONE = 4_194_999  # beyond the largest pid


class Live(bench.Bench):
    def setUp(self):
        super().setUp()
        self.process = subprocess.Popen(["sleep", "300"])
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.kill)
        self.pid = self.process.pid

    def make_live(self):
        return self.make("live", f"tmp/treadle-{self.pid}-0123456789abcdef.live", self.pid)

    def make_orphan(self):
        return self.make("orphan", f"tmp/treadle-{GONE}-0123456789abcdef.live", GONE)

    def entries(self):
        """By path, those of this test: other JVMs may run on this machine."""
        return {entry["path"]: entry for entry in self.json("list")["ledgers"]
                if self.folder in entry["path"] or "/" not in entry["path"]}

    def test_report_by_pid(self):
        self.make_live()
        text = self.treadle("report", str(self.pid))
        self.assertIn(f"process     {self.pid}, started 2023-11-14 22:13:19, ", text)
        self.assertNotIn("orphan", text)
        self.assertEqual(self.json("report", str(self.pid))["process"]["pid"], self.pid)

    def test_orphan(self):
        name = self.make_orphan()
        for source in (name, str(GONE)):
            text = self.treadle("report", source)
            self.assertIn("orphan: its process ended without closing it; charged up to 10.00 s",
                          text)
        self.assertEqual(self.json("report", name)["process"]["ledger"], "orphan")

    def test_list(self):
        self.make_live()
        self.make_orphan()
        self.make("plain")
        with open(self.path("bad.ledger"), "wb") as file:
            file.write(b"junk")
        entries = self.entries()
        live = os.path.join(self.live, f"treadle-{self.pid}-0123456789abcdef.live")
        orphan = os.path.join(self.live, f"treadle-{GONE}-0123456789abcdef.live")
        self.assertEqual(set(entries), {live, orphan, "plain.ledger", "bad.ledger"})
        self.assertEqual({path: entry["state"] for path, entry in entries.items()},
                         {live: "live", orphan: "orphan", "plain.ledger": "snapshot",
                          "bad.ledger": "unreadable"})
        self.assertEqual(entries[live]["pid"], self.pid)
        self.assertEqual(entries[live]["threads"], 4)
        self.assertEqual(entries[live]["command"], "demo.Main --rounds 3")
        self.assertGreater(entries[live]["bytes"], 4096)
        self.assertIn("not a ledger", entries["bad.ledger"]["error"])
        done = self.run_treadle("list")
        text = done.stdout.decode("utf-8")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr.decode("utf-8"), r"^treadle: bad\.ledger: .*not a ledger.*\n$")
        self.assertRegex(text, r"(?m)^COMMAND +PID +STATE +STARTED +SIZE +THREADS +PATH$")
        self.assertRegex(text, rf"(?m)^demo\.Main --rounds 3 +{self.pid} +live +"
                               rf"2023-11-14 22:13:19 +\S+ KiB +4 +{live}$")
        self.assertNotIn("not a ledger", text)
        self.assertRegex(text, r"(?m)^ +unreadable +\S+ +\S+ +bad.ledger$")

    def test_snapshots_of_a_jvm_that_works_elsewhere(self):
        elsewhere = self.path("elsewhere")
        os.mkdir(elsewhere)
        with subprocess.Popen(["sleep", "300"], cwd=elsewhere) as process:
            try:
                self.make("live", f"tmp/treadle-{process.pid}-0123456789abcdef.live", process.pid)
                self.make("plain", "elsewhere/far.ledger")
                self.make("plain", "near.ledger")
                paths = sorted(p for p in self.entries() if p.endswith(".ledger"))
            finally:
                process.kill()
        self.assertEqual(paths, sorted([os.path.join(os.path.realpath(elsewhere), "far.ledger"), "near.ledger"]))

    def test_merged_ledgers_say_so_where_a_pid_would_be(self):
        self.make("plain")
        self.make("diffa")
        self.treadle("merge", "-o", "both.ledger", "plain.ledger", "diffa.ledger")
        self.assertRegex(self.treadle("list"), r"(?m) merged +snapshot .* both\.ledger$")

    def test_names_that_are_none_are_left_alone(self):
        for name in ("treadle-x-1.live", "treadle-12.live", "treadle--5-1.live", "other.live"):
            with open(os.path.join(self.live, name), "wb"):
                pass
        os.symlink("/etc/passwd", os.path.join(self.live, f"treadle-{self.pid}-1.live"))
        self.assertEqual(self.entries(), {})
        self.assertIn("has no ledger", self.treadle("report", str(self.pid), status=1))

    def test_nothing_to_list(self):
        self.treadle("list")
        self.assertIn("there is nothing to name", self.treadle("list", "x", status=2))


if __name__ == "__main__":
    bench.main()
