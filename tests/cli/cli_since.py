"""report, export, html and diff --since and --until: what happened between two snapshots of one process, worked out from
the drawings `earlier` (2 s old) and `plain` (10 s old) of make_ledger."""
import json
import os
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

    def test_what_else_lies_there(self):
        """A search by time passes over what is no file, and neither waits for it nor reads what others wrote: the
        snapshot of another user would be the last one before the time."""
        os.mkfifo(self.path("fifo.ledger"))
        os.mkdir(self.path("folder.ledger"))
        whole = self.tree("b.ledger", "--since", "a.ledger")
        self.assertEqual(self.tree("b.ledger", "--since", "-1s"), whole)
        self.assertEqual(self.tree("b.ledger", "--until", "22:13:25"), self.tree("a.ledger"))
        self.assertIn("fifo.ledger: is not a regular file, expected a ledger file",
                      self.treadle("report", "fifo.ledger", "--since", "-1s", status=1))
        if os.geteuid():
            self.skipTest("takes root: a file of another user")
        os.chown(self.path("a.ledger"), 65534, 65534)
        self.assertIn("no snapshot of process 4242 was taken by 2023-11-14 22:13:29; the first one is of "
                      "2023-11-14 22:13:30", self.treadle("report", "b.ledger", "--since", "-1s", status=1))

    def test_exports(self):
        self.treadle("export", "-f", "sqlite", "-o", "x.sqlite", "b.ledger", "--since", "-8s")
        database = sqlite3.connect(self.path("x.sqlite"))
        self.addCleanup(database.close)
        self.assertEqual(database.execute("SELECT name, base_cpu_ns, base_calls FROM flat ORDER BY 1").fetchall(),
                         [("(thread)", 1060 * MS, 0), ("demo.Main.fib", 800 * MS, 83),
                          ("demo.Main.main", 50 * MS, 0), ("demo.Main.work", 2190 * MS, 3)])
        lines = self.treadle("export", "-f", "collapsed", "b.ledger", "--since", "a.ledger").splitlines()
        self.assertIn(f"main;demo.Main.main;demo.Main.fib {200 * MS}", lines)


class Pages(Since):
    INTERVAL = "from the snapshot of 2023-11-14 22:13:22 to that of 2023-11-14 22:13:30"

    def values(self, block):
        """The base values of a block: LEB128 numbers, how many nodes lie between, the value."""
        numbers, number, shift = [], 0, 0
        for byte in block:
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                numbers.append(number)
                number, shift = 0, 0
        return numbers[1::2]

    def test_html(self):
        """The base values are those of test_contexts, whichever columns were loaded together."""
        self.treadle("html", "-o", "page.html", "--since", "a.ledger", "b.ledger")
        blocks = self.blocks("page.html")
        self.assertIn(self.INTERVAL, blocks["facts"].decode("utf-8"))
        self.assertEqual({t["name"]: t["cpu_ns"] // MS for t in json.loads(blocks["threads"])["threads"]},
                         {"main": 710, "worker-1": 2390, "GC Thread#0": 800, "helper": 200})
        self.assertCountEqual([value // MS for value in self.values(blocks["column-cpu"])],
                              [60, 50, 200, 400, 2190, 200, 800, 200])
        self.assertCountEqual(self.values(blocks["column-calls"]), [6, 70, 3, 7])
        self.assertEqual(self.values(blocks["column-minor_faults"]), [33])
        self.treadle("html", "-o", "other.html", "--since", "-8s", "--until", "b.ledger", "b.ledger")
        self.assertEqual(self.blocks("other.html"), blocks)

    def test_html_of_several(self):
        self.assertIn("--since and --until are of one ledger",
                      self.treadle("html", "--since", "a.ledger", "a.ledger", "b.ledger", status=2))
        self.assertIn("a.ledger: b.ledger is no earlier snapshot of its process",
                      self.treadle("html", "-o", "page.html", "--since", "b.ledger", "a.ledger", status=1))
        self.assertFalse(os.path.exists(self.path("page.html")))

    def test_diff(self):
        """Nothing happened from the first snapshot to itself."""
        rows = self.json("diff", "--since", "a.ledger", "a.ledger", "b.ledger")
        self.assertEqual({row["name"]: (row["value"]["a"], row["value"]["b"] // MS) for row in rows["threads"]},
                         {"main": (0, 710), "worker-1": (0, 2390), "GC Thread#0": (0, 800), "helper": (0, 200)})
        self.assertEqual(rows["b"]["since_ns"], 1_700_000_002 * 1000 * MS)
        self.assertIn(f"B  b.ledger  (demo.Main --rounds 3)\n   {self.INTERVAL}\n",
                      self.treadle("diff", "--since", "a.ledger", "a.ledger", "b.ledger"))
        self.assertIn("a.ledger: b.ledger is no earlier snapshot of its process",
                      self.treadle("diff", "--since", "b.ledger", "b.ledger", "a.ledger", status=1))
        same = self.json("diff", "--until", "b.ledger", "a.ledger", "a.ledger")
        self.assertEqual(same["a"]["total"], self.json("diff", "b.ledger", "b.ledger")["a"]["total"])

    def test_diff_page(self):
        self.treadle("diff", "--html", "page.html", "--since", "a.ledger", "b.ledger", "b.ledger")
        blocks = self.blocks("page.html")
        for side in "ab":
            self.assertCountEqual([value // MS for value in self.values(blocks[f"column-cpu-{side}"])],
                                  [60, 50, 200, 400, 2190, 200, 800, 200])
            self.assertCountEqual(self.values(blocks[f"column-calls-{side}"]), [6, 70, 3, 7])
        self.assertIn(self.INTERVAL, blocks["facts"].decode("utf-8"))

    def test_contexts_are_the_same_for_every_metric(self):
        """touch had page faults only, and calls no more, idle nothing: the trees are (thread), main and touch, though
        columns are loaded a few at a time, of which some say that touch was idle."""
        self.make("quiet", "c.ledger", 0)
        self.make("quiet", "d.ledger", 1)
        self.treadle("html", "-o", "page.html", "--since", "c.ledger", "d.ledger")
        self.treadle("diff", "--html", "diff.html", "--since", "c.ledger", "d.ledger", "d.ledger")
        for page, side in (("page.html", ""), ("diff.html", "-a"), ("diff.html", "-b")):
            blocks = self.blocks(page)
            self.assertEqual(len(blocks["nodes"]), 3 * 3, "three numbers a node, each less than 128")
            self.assertEqual(list(blocks[f"column-minor_faults{side}"]), [2, 7], "two nodes before it")
            self.assertEqual(list(blocks[f"column-cpu{side}"])[0], 1)


if __name__ == "__main__":
    bench.main()
