"""Recursion that was folded, as every view and export tells it. The drawing is tests/cli/recursive_drawing.h."""
import contextlib
import csv
import io
import sqlite3

import bench

DIFFER = ("recursion=2 in A, all in B: contexts of recursive calls are not the same; methods can be compared")


class Recursion(bench.Bench):
    def setUp(self):
        super().setUp()
        self.make("recursive", "folded.ledger", 2)
        self.make("recursive", "whole.ledger", 0)

    def fib(self, ledger, deepest=False):
        node = self.json("report", ledger, "--view", "tree")["threads"][0]["root"]["children"][0]
        return node["children"][0] if deepest else node

    def test_tree(self):
        text = self.treadle("report", "folded.ledger", "--view", "tree")
        self.assertIn("demo.Main.fib [levels 1-2]\n", text)
        self.assertEqual(text.count("[levels"), 1)
        self.assertIn("levels of recursion kept apart: 2\n", self.treadle("report", "folded.ledger"))
        whole = self.treadle("report", "whole.ledger", "--view", "tree")
        self.assertNotIn("[levels", whole)
        self.assertNotIn("recursion", self.treadle("report", "whole.ledger"))

    def test_json(self):
        self.assertNotIn("recursion_max", self.fib("folded.ledger"))
        deeper = self.fib("folded.ledger", deepest=True)
        self.assertEqual((deeper["calls"], deeper["recursion"], deeper["recursion_max"]), (6, 1, 2))
        self.assertNotIn("recursion_max", self.fib("whole.ledger", deepest=True))

    def test_csv(self):
        exported = self.treadle("export", "-f", "csv", "-o", "-", "folded.ledger")
        for rows in (self.csv("report", "folded.ledger", "--view", "tree"),
                     list(csv.DictReader(io.StringIO(exported)))):
            have = [(row["recursion"], row["recursion_max"]) for row in rows if row["class"]]
            self.assertEqual(have, [("0", "0"), ("1", "2")])

    def test_sqlite(self):
        self.treadle("export", "-f", "sqlite", "-o", "x.sqlite", "folded.ledger")
        with contextlib.closing(sqlite3.connect(self.path("x.sqlite"))) as database:
            have = database.execute("SELECT n.recursion, n.recursion_max FROM nodes n JOIN methods m ON m.id = n.method "
                                    "WHERE m.name = 'fib' ORDER BY n.id").fetchall()
        self.assertEqual(have, [(0, 0), (1, 2)])

    def test_sums_are_the_same(self):
        for ledger in ("folded.ledger", "whole.ledger"):
            flat = self.json("report", ledger, "--view", "flat")["methods"]
            fib = next(m for m in flat if m["method"] == "fib")
            self.assertEqual((fib["calls"], fib["base"]["cpu_ns"], fib["cum"]["cpu_ns"]),
                             (7, 60_000_000, 60_000_000))

    def test_merge(self):
        self.treadle("merge", "-o", "both.ledger", "folded.ledger", "whole.ledger")
        text = self.treadle("report", "both.ledger", "--view", "tree")
        self.assertEqual(text.count("fib [levels 1-2]\n"), 1)

    def test_fold(self):
        deeper = self.json("report", "folded.ledger", "--view", "tree", "--fold")
        deeper = deeper["threads"][0]["root"]["children"][0]["children"][0]
        self.assertEqual(deeper["recursion_max"], 2)

    def test_diff(self):
        text = self.treadle("diff", "folded.ledger", "whole.ledger", "--view", "tree")
        self.assertIn(DIFFER, text)
        self.assertNotIn("recursion=", self.treadle("diff", "folded.ledger", "folded.ledger"))
        told = str(self.json("diff", "folded.ledger", "whole.ledger"))
        self.assertEqual(told.count("'recursion': 2"), 1)


if __name__ == "__main__":
    bench.main()
