"""treadle export --format sqlite: the questions of tools/export/README.md, their answers worked out from the
drawing in make_ledger."""
import os
import re
import sqlite3

import bench

MS = 1_000_000
# Nodes and the tables that grow with them, as the plans of the questions and of the views name them.
LARGE = ("nodes", "n", "b", "above", "calls", "k", "sums_below", "s")
README = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "export", "README.md")

# In the order of the document. Waiting is wall - CPU - run-queue delay.
ANSWERS = [
    [("demo.Main.main;demo.Main.fib;demo.Main.fib", 500 * MS, 90),
     ("demo.Main.main;demo.Main.fib", 300 * MS, 10), ("demo.Main.main", 200 * MS, 1)],
    [("worker-1", "demo.Main.work", 2350 * MS), ("GC Thread#0", "", 1000 * MS),
     ("main", "demo.Main.main;demo.Main.fib;demo.Main.fib", 500 * MS)],
    [("demo.Main.work", 2350 * MS // 6, 6), ("demo.Main.main", 200 * MS, 1),
     ("demo.Main.fib", 1000 * MS // 107, 107)],
    [("worker-1", 30 * MS, 0), ("main", 6 * MS, 0), ("GC Thread#0", 3 * MS, 0), ("helper", 3 * MS, 0)],
    [("helper", 9697 * MS, 96), ("GC Thread#0", 8997 * MS, 89), ("worker-1", 6370 * MS, 70),
     ("main", 1094 * MS, 49)],
    [("demo.Main.fib", 90, 500 * MS), ("demo.Main.main", 10, 300 * MS), ("demo.Main.work", 7, 200 * MS)],
    [("demo.Main.work", 2350 * MS), ("demo.Main.fib", 200 * MS)],
    [("demo.Main.fib", 10, 800 * MS), ("demo.Main.work", 2, 0)],
    [("platform", 2, 3700 * MS), ("vm", 1, 1000 * MS), ("native", 1, 300 * MS)],
    [("main", "demo.Main.main;demo.Main.fib;demo.Main.fib", 33)],
    [("demo.Main.fib", 1, 107)],
    [("main", "worker-1", 2600 * MS)],
    [],
    [],
    [(5_000_000_100, 5_000_000_000, 100, 0)],
]


class Sqlite(bench.Bench):
    def export(self, kind, *arguments, number=0):
        self.make(kind, number=number)
        self.treadle("export", "-f", "sqlite", "-o", "x.sqlite", f"{kind}.ledger", *arguments)
        database = sqlite3.connect(self.path("x.sqlite"))
        self.addCleanup(database.close)
        self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
        return database

    def columns(self, database, table):
        return [row[1] for row in database.execute(f"PRAGMA table_info({table})")]

    def questions(self):
        with open(README, encoding="utf-8") as file:
            return re.findall(r"(?ms)^```sql\n(.*?)^```", file.read())

    def test_questions(self):
        database = self.export("plain")
        questions = self.questions()
        self.assertGreaterEqual(len(questions), 10)
        for question, answer in zip(questions, ANSWERS, strict=True):
            self.assertEqual(database.execute(question).fetchall(), answer, question)

    def test_lock_waits(self):
        """What locks_drawing.h draws; the wait that is under way counts until the ledger's end."""
        database = self.export("locks")
        question, = (question for question in self.questions() if "lock_waits" in question)
        self.assertEqual(database.execute(question).fetchall(), [
            ("java.util.concurrent.Semaphore$NonfairSync", 0x7b, "park", None, 2, 3000 * MS, 2000 * MS),
            ("app.Queue", 0x4d2, "monitor", "main", 17, 1153 * MS, 1000 * MS),
            ("app.Row", None, "monitor", "worker-#", 1000, 5 * MS, MS),
        ])
        self.assertEqual(database.execute("SELECT waiter, blocker, waiter_path, blocker_path, count, hold_ns, hold_max_ns, recursion_max "
                                          "FROM lock_waits WHERE lock_class = 'app.Queue' ORDER BY count").fetchall(), [
            ("pool-1", None, "app.Queue.put < app.Main.run", None, 1, 0, 0, None),
            ("pool-2", "main", "app.Queue.take < app.Main.run", "app.Queue.take < app.Main.run", 6, 10 * MS, 5 * MS, 2),
            ("pool-1", "main", "app.Queue.put < app.Main.run", "app.Queue.take < app.Main.run", 10, 80 * MS, 30 * MS, 1),
        ])
        self.assertEqual(database.execute("SELECT lock_class, acquisitions FROM lock_waits WHERE acquisitions IS NOT NULL").fetchall(),
                         [("java.util.concurrent.Semaphore$NonfairSync", 500)])
        self.assertEqual(database.execute("SELECT * FROM lock_holds").fetchall(), [
            ("app.Queue", 0x4d2, "monitor", "main", "app.Queue.take < app.Main.run", 4, 200 * MS, 90 * MS)])

    def test_no_question_scans_what_is_large(self):
        """On a ledger that is large enough for the planner to care. The first of an order that an index has
        may be read off it."""
        database = self.export("large", number=20_000)
        for question in self.questions():
            for *_, step in database.execute("EXPLAIN QUERY PLAN " + question):
                self.assertNotIn("AUTOMATIC", step, question)
                scanned = re.match(r"SCAN (\w+)(?: USING (?:COVERING )?INDEX (\w+))?", step)
                if not scanned or scanned[1] not in LARGE:
                    continue
                self.assertEqual((scanned[1], scanned[2]), ("n", "nodes_by_cpu_ns"), question + step)
                self.assertNotIn("WHERE", question)
                self.assertIn("LIMIT", question)

    def test_below(self):
        """Whether the exporter has added them up or the view does."""
        database = self.export("bushy", number=120_000)
        nodes = database.execute("SELECT n.parent, m.full_name, n.base_cpu_ns, n.base_calls FROM nodes n "
                                 "JOIN methods m ON m.id = n.method ORDER BY n.id").fetchall()
        tops = {"demo.Bushy.m3": 1, "demo.Bushy.m44": 0, "(thread)": 1}
        below = {top: {} for top in tops}
        above = []
        for parent, name, cpu_ns, calls in nodes:
            above.append({name} | (above[parent] if parent is not None else set()))
            for top in above[-1] & set(tops):
                sums = below[top].setdefault(name, [0, 0])
                sums[0] += cpu_ns
                sums[1] += calls
        for top, wide in tops.items():
            self.assertEqual(database.execute("SELECT wide FROM methods WHERE full_name = ?", (top,)).fetchall(),
                             [(wide,)])
            answer = database.execute("SELECT name, sum(base_cpu_ns), sum(base_calls) FROM below "
                                      "WHERE top_name = ? GROUP BY method", (top,)).fetchall()
            self.assertEqual({name: sums for name, *sums in answer}, below[top])
            self.assertEqual(len(answer), len(below[top]))

    def test_errors_below(self):
        """The root of the sum of the squares of those of the nodes, which no two rows share; added up by the exporter
        or by whoever asks."""
        database = self.export("bushy-sampled", number=30_001)
        squares = {}
        for parent, name, error in database.execute("SELECT n.parent, m.full_name, n.base_cpu_error_ns FROM nodes n "
                                                    "JOIN methods m ON m.id = n.method ORDER BY n.id"):
            if parent is not None:
                squares[name] = squares.get(name, 0) + error * error
        self.assertGreater(sum(square > 0 for square in squares.values()), 200)
        asked = ("SELECT name, sqrt(sum(1.0 * base_cpu_error_ns * base_cpu_error_ns)) FROM below "
                 "WHERE top_name = ? GROUP BY method")
        for top, wide in (("(thread)", 1), ("demo.Bushy.m1", 1), ("demo.Bushy.m44", 0)):
            self.assertEqual(database.execute("SELECT wide FROM methods WHERE full_name = ?", (top,)).fetchone(), (wide,))
            found = dict(database.execute(asked, (top,)).fetchall())
            wanted = squares if top == "(thread)" else self.squares_below(database, top)
            self.assertEqual({n for n, e in found.items() if e}, {n for n, s in wanted.items() if s}, top)
            for name, error in found.items():
                self.assertAlmostEqual(error, wanted.get(name, 0) ** 0.5, delta=0.51, msg=(top, name))
        self.assertEqual([row[1] for row in database.execute("PRAGMA table_info(callers)") if "error" in row[1]],
                         ["base_cpu_error_ns", "cum_cpu_error_ns", "base_wall_error_ns", "cum_wall_error_ns"])

    def squares_below(self, database, top):
        squares, inside = {}, {}
        for node, parent, name, error in database.execute(
                "SELECT n.id, n.parent, m.full_name, n.base_cpu_error_ns FROM nodes n JOIN methods m ON m.id = n.method "
                "ORDER BY n.id"):
            inside[node] = name == top or inside.get(parent, False)
            if inside[node]:
                squares[name] = squares.get(name, 0) + error * error
        return squares

    def test_shared_kernel_threads(self):
        database = self.export("virtual")
        question = next(q for q in self.questions() if "group_concat" in q)
        self.assertEqual(database.execute(question).fetchall(),
                         [(4243, "request-1, request-2, carrier-1")])
        self.assertEqual(database.execute("SELECT name, kind, mounts, times_pinned, parked_ns FROM threads "
                                          "WHERE mounts > 0 ORDER BY name").fetchall(),
                         [("request-1", "virtual", 5, 2, 900 * MS), ("request-2", "virtual", 1200, 0, 1980 * MS)])

    def test_tables(self):
        database = self.export("plain")

        def rows(query):
            return database.execute(query).fetchall()
        self.assertEqual(rows("SELECT pid, command, ledger, start_ns, wall_ns, cpu_ns FROM process"),
                         [(4242, "demo.Main --rounds 3", "closed", 1_699_999_999_500_000_000, 10_500 * MS,
                           5_000_000_100)])
        self.assertEqual(rows("SELECT id, parent, last, depth, recursion, kind FROM nodes WHERE thread = 0 ORDER BY id"),
                         [(0, None, 4, 0, 0, "exact"), (1, 0, 4, 1, 0, "exact"), (2, 1, 3, 2, 0, "exact"),
                          (3, 2, 3, 3, 1, "exact"), (4, 1, 4, 2, 0, "exact")])
        self.assertEqual(rows("SELECT kind FROM nodes WHERE id = 6"), [("gap",)])
        self.assertEqual(rows("SELECT thread, position, name FROM renames"), [(1, 1, "worker: idle")])
        self.assertEqual(rows("SELECT name, unit, of_nodes FROM metrics WHERE name LIKE '%faults'"),
                         [("minor_faults", "count", 1), ("major_faults", "count", 0)])
        self.assertEqual(rows("SELECT class, name, signature, source FROM methods WHERE name = 'fib'"),
                         [("demo.Main", "fib", "(I)J", "Demo.java")])
        self.assertEqual(rows("SELECT base_cpu_ns, cum_cpu_ns, base_calls, nodes FROM flat WHERE name = "
                              "'demo.Main.fib'"), [(1000 * MS, 1000 * MS, 107, 3)])
        self.assertEqual(rows("SELECT end_ns, start_ns FROM threads WHERE name = 'main'"),
                         [(1_700_000_000 * 10**9 + 2200 * MS, 1_700_000_000 * 10**9)])

    def test_sums_are_those_of_the_report(self):
        database = self.export("family")
        for thread in self.json("report")["threads"]:
            self.assertEqual(
                database.execute("SELECT t.cpu_ns, t.wall_ns, t.calls, sum(n.base_cpu_ns), sum(n.base_calls) "
                                 "FROM threads t JOIN nodes n ON n.thread = t.id WHERE t.name = ?",
                                 (thread["name"],)).fetchall(),
                [(thread["cpu_ns"], thread["wall_ns"], thread["calls"], thread["cpu_ns"], thread["calls"])])
        flat = {method["method"]: method for method in self.json("report", "-v", "flat")["methods"]}
        self.assertEqual(database.execute("SELECT base_cpu_ns, cum_cpu_ns FROM flat WHERE name = "
                                          "'demo.Main.run'").fetchall(),
                         [(flat["run"]["base"]["cpu_ns"], flat["run"]["cum"]["cpu_ns"])])

    def test_sampled_frames(self):
        database = self.export("sampled")
        self.assertEqual(database.execute("SELECT kind, count(*), sum(base_samples), sum(base_calls) FROM nodes "
                                          "GROUP BY kind ORDER BY kind").fetchall(),
                         [("exact", 6, 11, 14), ("native", 5, 36, 0), ("sampled", 2, 13, 0)])
        self.assertEqual(database.execute("SELECT samples FROM threads WHERE name = 'main'").fetchall(), [(30,)])
        # As cli_samples works them out: 0.2007 and 0.2187 of 200 ms.
        for table in ("nodes JOIN methods ON methods.id = nodes.method", "flat JOIN methods ON methods.id = method"):
            errors = database.execute("SELECT base_cpu_error_ns, cum_cpu_error_ns, base_wall_error_ns, "
                                      f"cum_wall_error_ns FROM {table} WHERE full_name = 'demo.Inner.loop'").fetchall()
            self.assertEqual([[round(error / MS, 2) for error in row] for row in errors],
                             [[40.14, 43.74, 40.14, 43.74]], table)
        errors = database.execute("SELECT base_cpu_error_ns, cum_cpu_error_ns, base_wall_error_ns, cum_wall_error_ns FROM "
                                  "calls JOIN methods ON methods.id = callee WHERE full_name = 'demo.Inner.loop'").fetchall()
        self.assertEqual([[round(error / MS, 2) for error in row] for row in errors], [[40.14, 43.74, 40.14, 43.74]])
        self.assertEqual(database.execute("SELECT sum(cum_cpu_error_ns) FROM nodes WHERE kind = 'exact'").fetchone(),
                         (0,), "measured")
        self.assertEqual([name for name in self.columns(self.export("plain"), "nodes") if "error" in name], [])

    def test_selected_threads(self):
        database = self.export("plain", "-t", "worker-*")
        self.assertEqual(database.execute("SELECT name FROM threads").fetchall(), [("worker-1",)])
        self.assertEqual(database.execute("SELECT count(*), min(thread) FROM nodes").fetchall(), [(4, 1)])
        self.assertEqual(database.execute("SELECT charged_cpu_ns FROM balance").fetchall(), [(5_000_000_000,)])

    def test_hostile_names(self):
        database = self.export("hostile")
        names = [name for name, in database.execute("SELECT name FROM threads ORDER BY id")]
        self.assertEqual(names, ["red \033[31malert\033[0m", "two\nlines\tand a tab",
                                 "evil \u202etxt.exe", "zero\u200bwidth", "x" * 10240,
                                 "nul \u2400 inside", "clef \U0001d11e", "broken \ufffd\ufffd",
                                 'comma, "quoted"', "csi \x9b31m", "", "\u65e5\u672c"])
        self.assertEqual(database.execute("SELECT sum(base_cpu_ns) FROM nodes").fetchall(), [(90 * MS,)])

    def test_deep_and_damaged(self):
        database = self.export("deep", number=1000)
        longest, = database.execute("SELECT max(length(path)) FROM paths").fetchone()
        self.assertLess(longest, 9000)
        database = self.export("overflow")
        self.assertEqual(database.execute("SELECT max(cum_cpu_ns) FROM nodes").fetchall(), [(2**63 - 1,)])


if __name__ == "__main__":
    bench.main()
