"""report and export --since and --until: what happened between two snapshots of one process, worked out from
the drawings `earlier` (2 s old) and `plain` (10 s old) of make_ledger."""
import sqlite3

import bench

MS = 1_000_000


class Since(bench.Bench):
    def setUp(self):
        super().setUp()
        self.make("earlier", "a.ledger")
        self.make("plain", "b.ledger")

    def tree(self, *arguments):
        """Base CPU and calls, by thread and path."""
        found = {}

        def visit(thread, path, node):
            path += (node["method"],)
            found[thread["name"], *path] = (node["base"]["cpu_ns"] // MS, node["calls"])
            for child in node["children"]:
                visit(thread, path, child)
        for thread in self.json("report", "-v", "tree", *arguments)["threads"]:
            visit(thread, (), thread["root"])
        return found

    def test_contexts(self):
        """What did not happen between the two is not there: the two calls of work, the gap."""
        root = "<thread>"
        self.assertEqual(self.tree("b.ledger", "--since", "a.ledger"), {
            ("main", root): (60, 0), ("main", root, "main"): (50, 0), ("main", root, "main", "fib"): (200, 6),
            ("main", root, "main", "fib", "fib"): (400, 70),
            ("worker-1", root): (0, 0), ("worker-1", root, "work"): (2190, 3),
            ("worker-1", root, "work", "fib"): (200, 7),
            ("GC Thread#0", root): (800, 0), ("helper", root): (200, 0)})

    def test_threads_and_balance(self):
        data = self.json("report", "b.ledger", "--since", "a.ledger")
        self.assertEqual({t["name"]: t["cpu_ns"] // MS for t in data["threads"]},
                         {"main": 710, "worker-1": 2390, "GC Thread#0": 800, "helper": 200})
        self.assertEqual({t["name"]: t["wall_ns"] // MS for t in data["threads"]},
                         {"main": 200, "worker-1": 8000, "GC Thread#0": 8000, "helper": 8000})
        self.assertEqual((data["process"]["cpu_ns"], data["process"]["wall_ns"]), (4_000_000_100, 8000 * MS))
        self.assertEqual((data["process"]["since_ns"], data["process"]["asof_ns"]),
                         (1_700_000_002 * 1000 * MS, 1_700_000_010 * 1000 * MS))
        # Of the drawing's earlier second 900 ms are in rows.
        self.assertEqual(data["balance"]["charged_cpu_ns"], 4100 * MS)
        text = self.treadle("report", "b.ledger", "--since", "a.ledger")
        self.assertRegex(text, r"interval +from the snapshot of 2023-11-14 22:13:22 to that of 2023-11-14 22:13:30")

    def test_times(self):
        """The last snapshot up to a time, of those of the same process that lie here."""
        whole = self.tree("b.ledger", "--since", "a.ledger")
        for time in ("22:13:22", "22:13:29", "-8s", "-1s"):
            self.assertEqual(self.tree("b.ledger", "--since", time), whole, time)
        self.assertEqual(self.tree("a.ledger", "--since", "a.ledger", "--until", "b.ledger"), whole)
        self.assertEqual(self.tree("b.ledger", "--until", "22:13:25"), self.tree("a.ledger"))

    def test_refused(self):
        self.assertIn("no snapshot of process 4242 was taken by 2023-11-14 22:13:21; the first one is of "
                      "2023-11-14 22:13:22", self.treadle("report", "b.ledger", "--since", "-9s", status=1))
        self.assertIn("neither a snapshot's file nor a time such as 12:30",
                      self.treadle("report", "b.ledger", "--since", "nowhere", status=1))
        self.assertIn("a.ledger: b.ledger is no earlier snapshot of its process",
                      self.treadle("report", "a.ledger", "--since", "b.ledger", status=1))

    def test_exports(self):
        self.treadle("export", "-f", "sqlite", "-o", "x.sqlite", "b.ledger", "--since", "-8s")
        database = sqlite3.connect(self.path("x.sqlite"))
        self.addCleanup(database.close)
        self.assertEqual(database.execute("SELECT name, base_cpu_ns, base_calls FROM flat ORDER BY 1").fetchall(),
                         [("(thread)", 1060 * MS, 0), ("demo.Main.fib", 800 * MS, 83),
                          ("demo.Main.main", 50 * MS, 0), ("demo.Main.work", 2190 * MS, 3)])
        lines = self.treadle("export", "-f", "collapsed", "b.ledger", "--since", "a.ledger").splitlines()
        self.assertIn(f"main;demo.Main.main;demo.Main.fib {200 * MS}", lines)


if __name__ == "__main__":
    bench.main()
