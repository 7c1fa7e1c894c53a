"""Contexts that were folded: every view has them as what they are, calls and base of each method are those of the
ledger in which nothing was folded, and what lies above has the same cum."""
import sqlite3
from collections import Counter

import bench

MS = 1_000_000
CALLS = {"a": 2, "b": 12, "c": 66}  # of both threads
BASE_MS = {"a": 20, "b": 50, "c": 62}


class Folded(bench.Bench):
    def setUp(self):
        super().setUp()
        self.make("folded", "folded.ledger", 1)
        self.make("folded", "whole.ledger", 0)

    def root(self, *arguments):
        return self.json("report", "-v", "tree", *arguments)["threads"][0]["root"]

    def test_tree(self):
        a, top = self.root("folded.ledger")["children"]
        self.assertEqual((a["method"], a["cum"]["cpu_ns"]), ("a", 65 * MS))
        below, = (child for child in a["children"] if child["kind"] == "folded")
        self.assertEqual((below["method"], below["contexts"], below["calls"], below["base"]["cpu_ns"]), ("(folded)", 7, 0, 0))
        self.assertEqual(below["cum"]["cpu_ns"], 35 * MS)
        rows = [(m["kind"], m["method"], m["calls"], m["base"]["cpu_ns"]) for m in below["children"]]
        self.assertEqual(rows, [("exact", "c", 30, 30 * MS), ("exact", "b", 2, 5 * MS)])
        self.assertEqual((top["kind"], top["contexts"], top["cum"]["cpu_ns"]), ("folded", 0, MS))
        text = self.treadle("report", "-v", "tree", "folded.ledger")
        self.assertIn("(folded) of 7 contexts\n", text)
        kinds = Counter(row["kind"] for row in self.csv("report", "-v", "tree", "folded.ledger"))
        self.assertEqual(kinds["folded"], 4)

    def test_a_pool_has_the_contexts_of_all(self):
        below, = (child for child in self.root("folded.ledger", "--fold")["children"][0]["children"]
                  if child["kind"] == "folded")
        self.assertEqual((below["contexts"], below["cum"]["cpu_ns"]), (14, 70 * MS))

    def test_flat_is_that_of_the_whole_ledger(self):
        for name in ("folded.ledger", "whole.ledger"):
            methods = {m["method"]: m for m in self.json("report", "-v", "flat", name)["methods"] if m["class"]}
            self.assertEqual({key: m["calls"] for key, m in methods.items()}, CALLS)
            self.assertEqual({key: m["base"]["cpu_ns"] // MS for key, m in methods.items()}, BASE_MS)
            self.assertEqual(methods["a"]["cum"]["cpu_ns"], 130 * MS)

    def test_stanzas_add_up(self):
        stanzas = self.json("report", "-v", "callers", "folded.ledger")["methods"]
        for stanza in stanzas:
            own = stanza["self"]
            for key in ("base", "cum"):
                self.assertEqual(sum(p[key]["cpu_ns"] for p in stanza["parents"]), own[key]["cpu_ns"], own["method"])
            self.assertEqual(sum(p["calls"] for p in stanza["parents"]), own["calls"], own["method"])
            self.assertEqual(sum(c["cum"]["cpu_ns"] for c in stanza["children"]),
                             own["cum"]["cpu_ns"] - own["base"]["cpu_ns"], own["method"])
        c, = (stanza for stanza in stanzas if stanza["self"]["method"] == "c")
        self.assertEqual([(p["method"], p["calls"]) for p in c["parents"]], [("(folded)", 66)])

    def test_exports(self):
        text = self.treadle("export", "--format", "collapsed", "folded.ledger")
        lines = dict(line.rsplit(" ", 1) for line in text.splitlines())
        paths = {path.split(";", 1)[1]: path for path in lines}
        self.assertEqual(sum("(folded);" in path for path in paths), 3, text)
        self.treadle("export", "--format", "sqlite", "--output", "x.sqlite", "folded.ledger")
        with sqlite3.connect(self.path("x.sqlite")) as database:
            rows = database.execute("SELECT kind, count(*), sum(base_calls) FROM nodes GROUP BY kind").fetchall()
        self.assertEqual({kind: (count, calls) for kind, count, calls in rows if kind == "folded"}, {"folded": (4, 0)})
        for name in ("pprof", "speedscope", "perfetto", "jfr"):
            self.treadle("export", "--format", name, "--output", f"x.{name}", "folded.ledger")

    def test_merge_keeps_them(self):
        self.treadle("merge", "--output", "both.ledger", "folded.ledger", "whole.ledger")
        trees = self.json("report", "-v", "tree", "both.ledger")["threads"]
        contexts = [child["contexts"] for thread in trees for top in thread["root"]["children"]
                    for child in [top, *top["children"]] if child["kind"] == "folded"]
        self.assertEqual(sorted(contexts), [0, 0, 7, 7])

    def test_diff_compares_methods(self):
        """Trees differ; flat is the same, but for the row of what is folded."""
        told = self.json("diff", "whole.ledger", "folded.ledger", "-v", "flat")
        sides = [(m["method"], m["base"]["a"], m["base"]["b"], m["calls"]["change"]) for m in told["methods"] if m["class"]]
        self.assertEqual(sorted(sides), [(name, ns * MS, ns * MS, 0) for name, ns in sorted(BASE_MS.items())])
        tree = self.treadle("diff", "whole.ledger", "folded.ledger", "-v", "tree")
        self.assertIn("(folded)", tree)


if __name__ == "__main__":
    bench.main()
