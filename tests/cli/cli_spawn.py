"""treadle report --view spawn on the ledger that make_ledger calls family, and on broken ones."""
import bench

MS = 1_000_000


def tree_of(threads):
    """[(name, threads, own CPU in ms, CPU with all below, [the same of those below])]"""
    return [(thread["name"], thread["count"], thread["cpu_ns"] // MS, thread["cum_cpu_ns"] // MS,
             tree_of(thread["children"])) for thread in threads]


class Spawn(bench.Bench):
    def setUp(self):
        super().setUp()
        self.make("family")

    def spawn(self, *arguments):
        return tree_of(self.json("report", "family.ledger", "-v", "spawn", *arguments)["threads"])

    def text(self, *arguments, env=None):
        return self.treadle("report", "family.ledger", "-v", "spawn", *arguments, env=env)

    def test_text(self):
        self.assertEqual(self.text(), """\
Who started whom, Cum with all threads below, 12 of 12 threads

THREAD          KIND      THREADS      CPU  CUM CPU     WALL  CALLS
main            platform       10   100 ms  1.093 s   200 ms      1
  server        platform        8  50.0 ms   593 ms   100 ms      2
    worker-2    platform        3   300 ms   325 ms   600 ms     20
      helper-7  platform        1  20.0 ms  20.0 ms  40.0 ms      3
      task      virtual         1  5.00 ms  5.00 ms  10.0 ms      1
    worker-1    platform        2   200 ms   210 ms   400 ms     10
      helper-1  platform        1  10.0 ms  10.0 ms  20.0 ms      3
    worker-9    virtual         1  7.00 ms  7.00 ms  14.0 ms      1
    worker-x    platform        1  1.00 ms  1.00 ms  2.00 ms      1
  worker-3      platform        1   400 ms   400 ms   800 ms      1
GC Thread#1     vm              1  40.0 ms  40.0 ms  80.0 ms      0
GC Thread#0     vm              1  30.0 ms  30.0 ms  60.0 ms      0
""")

    def test_fold(self):
        self.assertEqual(self.text("--fold"), """\
Who started whom, Cum with all threads below, 12 of 12 threads

THREAD             KIND      THREADS      CPU  CUM CPU     WALL  CALLS
main               platform       10   100 ms  1.093 s   200 ms      1
  server           platform        8  50.0 ms   593 ms   100 ms      2
    worker-# ×2    platform        5   500 ms   535 ms  1.000 s     30
      helper-# ×2  platform        2  30.0 ms  30.0 ms  60.0 ms      6
      task         virtual         1  5.00 ms  5.00 ms  10.0 ms      1
    worker-9       virtual         1  7.00 ms  7.00 ms  14.0 ms      1
    worker-x       platform        1  1.00 ms  1.00 ms  2.00 ms      1
  worker-3         platform        1   400 ms   400 ms   800 ms      1
GC Thread# ×2      vm              2  70.0 ms  70.0 ms   140 ms      0
""")
        self.assertEqual(self.spawn("--fold")[0][4][0][4][0],
                         ("worker-#", 5, 500, 535, [("helper-#", 2, 30, 30, []),
                                                    ("task", 1, 5, 5, [])]))

    def test_json(self):
        self.assertEqual(self.spawn(), [
            ("main", 10, 100, 1093, [
                ("server", 8, 50, 593, [
                    ("worker-2", 3, 300, 325, [("helper-7", 1, 20, 20, []),
                                               ("task", 1, 5, 5, [])]),
                    ("worker-1", 2, 200, 210, [("helper-1", 1, 10, 10, [])]),
                    ("worker-9", 1, 7, 7, []),
                    ("worker-x", 1, 1, 1, [])]),
                ("worker-3", 1, 400, 400, [])]),
            ("GC Thread#1", 1, 40, 40, []),
            ("GC Thread#0", 1, 30, 30, [])])
        main = self.json("report", "family.ledger", "-v", "spawn")["threads"][0]
        self.assertEqual(list(main), ["name", "kind", "count", "cpu_ns", "cum_cpu_ns", "wall_ns",
                                      "calls", "children"])
        self.assertEqual((main["kind"], main["wall_ns"], main["calls"]), ("platform", 200 * MS, 1))

    def test_csv(self):
        rows = self.csv("report", "family.ledger", "-v", "spawn", "--fold")
        self.assertEqual([(row["level"], row["thread"], row["count"]) for row in rows],
                         [("0", "main", "10"), ("1", "server", "8"), ("2", "worker-#", "5"),
                          ("3", "helper-#", "2"), ("3", "task", "1"), ("2", "worker-9", "1"),
                          ("2", "worker-x", "1"), ("1", "worker-3", "1"),
                          ("0", "GC Thread#", "2")])
        self.assertEqual(rows[2], {"thread": "worker-#", "level": "2", "kind": "platform",
                                   "count": "5", "cpu_ns": str(500 * MS),
                                   "cum_cpu_ns": str(535 * MS), "wall_ns": str(1000 * MS),
                                   "calls": "30"})

    def test_selected_threads_come_with_what_they_started(self):
        self.assertEqual(self.spawn("--thread", "server"), [self.spawn()[0][4][0]])
        self.assertEqual([row[:4] for row in self.spawn("--thread", "worker-[123]")],
                         [("worker-3", 1, 400, 400), ("worker-2", 3, 300, 325),
                          ("worker-1", 2, 200, 210)])
        self.assertEqual(self.spawn("--thread", "worker-[123]", "--fold"),
                         [("worker-#", 6, 900, 935, [("helper-#", 2, 30, 30, []),
                                                     ("task", 1, 5, 5, [])])])
        self.assertEqual(self.spawn("--thread", "*er-*"),
                         self.spawn("--thread", "worker-*"), "helpers stay below their workers")
        self.assertIn("8 of 12 threads", self.text("--thread", "server"))

    def test_top_hangs_together(self):
        self.assertEqual(self.spawn("--top", "4"),
                         [("main", 10, 100, 1093, [("server", 8, 50, 593,
                                                    [("worker-2", 3, 300, 325, [])]),
                                                   ("worker-3", 1, 400, 400, [])])])
        self.assertIn("(8 more, not shown)", self.text("--top", "4"))

    def test_order_of_siblings(self):
        def below_server(*arguments):
            server = next(row for row in self.spawn(*arguments)[-1][4] if row[0] == "server")
            return [row[0] for row in server[4]]
        self.assertEqual(below_server("--sort", "name", "--thread", "main"),
                         ["worker-1", "worker-2", "worker-9", "worker-x"])
        self.assertEqual([row[0] for row in self.spawn("--sort", "name")],
                         ["GC Thread#0", "GC Thread#1", "main"])
        self.assertEqual([row[0] for row in self.spawn("--thread", "main", "--sort", "base")[0][4]],
                         ["worker-3", "server"])
        self.assertEqual([row[0] for row in self.spawn("--thread", "main", "--sort", "calls")[0][4]],
                         ["server", "worker-3"])

    def test_metric(self):
        lines = self.text("--metric", "calls").splitlines()
        self.assertRegex(lines[2], r"^THREAD +KIND +THREADS  CALLS  CUM CALLS +WALL$")
        self.assertRegex(lines[3], r"^main +platform +10 +1 +43 +200 ms$")
        lines = self.text("--metric", "wall").splitlines()
        self.assertRegex(lines[2], r"^THREAD +KIND +THREADS +WALL  CUM WALL  CALLS$")
        self.assertRegex(lines[3], r"^main +platform +10 +200 ms +2\.186 s +1$")
        self.make("plain")
        text = self.treadle("report", "plain.ledger", "-v", "spawn", "-m", "major_faults")
        self.assertIn("MAJ FLT  CUM MAJ FLT", text)

    def test_renamed_and_nameless(self):
        self.make("plain")
        text = self.treadle("report", "plain.ledger", "-v", "spawn")
        self.assertRegex(text, r"\nmain +platform +2 +1\.100 s +3\.700 s ")
        self.assertRegex(text, r"\n  worker-1 +platform +1 +2\.600 s +2\.600 s ")
        self.make("hostile")
        text = self.treadle("report", "hostile.ledger", "-v", "spawn")
        self.assertIn("\n(no name) ", text)
        self.assertNotIn("\033", text)


class Broken(bench.Bench):
    def test_circles_are_opened_and_told(self):
        self.make("circle")
        report = self.json("report", "circle.ledger", "-v", "spawn")
        self.assertEqual(tree_of(report["threads"]), [
            ("a", 4, 10, 100, [("c", 3, 30, 90, [("d", 1, 40, 40, []), ("b", 1, 20, 20, [])])]),
            ("nowhere", 1, 70, 70, []),
            ("method", 1, 60, 60, []),
            ("self", 1, 50, 50, [])])
        report = self.json("report", "circle.ledger")
        self.assertEqual(report["balance"]["skipped_records"], 4)
        parents = {thread["name"]: thread["parent"] for thread in report["threads"]}
        self.assertEqual(parents, {"a": None, "b": "c", "c": "a", "d": "c", "self": None,
                                   "method": None, "nowhere": None})

    def test_long_chain(self):
        self.make("chain", number=20_000)
        rows = self.csv("report", "chain.ledger", "-v", "spawn")
        self.assertEqual(len(rows), 20_000)
        self.assertEqual((rows[0]["thread"], rows[0]["count"], rows[0]["cum_cpu_ns"]),
                         ("link-0", "20000", str(20_000 * MS)))
        self.assertEqual((rows[-1]["thread"], rows[-1]["level"], rows[-1]["cum_cpu_ns"]),
                         ("link-19999", "19999", str(MS)))
        thread = self.json("report", "chain.ledger", "-v", "spawn")["threads"][0]
        for _ in range(19_999):
            thread, = thread["children"]
        self.assertEqual(thread["children"], [])
        lines = self.treadle("report", "chain.ledger", "-v", "spawn").splitlines()
        self.assertIn(" " * 40 + "link-20 ", lines[3 + 20])
        self.assertIn(" " * 40 + "[level 19999] link-19999 ", lines[-1])
        self.assertEqual(len({len(line) for line in lines[2:]}), 1, "the columns are aligned")


if __name__ == "__main__":
    bench.main()
