"""What a report says of a run within a budget: which numbers are so many at least, what was asked and
used, how fine the exact calls are, and why a method has the hook it has. The drawing, in
budget_drawing.h, is the expectation."""
import os
import subprocess

import bench

MS = 1_000_000
S = 1_000_000_000
EPOCH = 1_700_000_000 * S

# From, until (0: recorded now), and the part of the time from then to 10 s.
HOOKED = {
    "hot": {"from_ns": EPOCH + S, "until_ns": EPOCH + 1500 * MS, "share_ppm": 55_555},
    "warm": {"from_ns": EPOCH + 500 * MS, "until_ns": 0, "share_ppm": 210_526},
    "muted": {"from_ns": EPOCH + 2 * S, "until_ns": EPOCH + 3 * S, "share_ppm": 125_000},
}
# 75 of 5,000 ms.
BUDGET = {"asked_ppm": 20_000, "used_ppm": 15_000, "hooks_ns": 40 * MS, "samples_ns": 20 * MS,
          "threads_ns": 10 * MS, "classes_ns": 4 * MS, "jvm_ns": 1 * MS, "waits_ns": 0, "heard_waits": 0,
          "unheard_waits": 0, "timed_waits": 0, "unheard_virtual_waits": 0, "methods": 5,
          "silent_methods": 2, "counted_methods": 0, "muted_methods": 1, "heard_again_methods": 1, "planned_methods": 1,
          "postponed_methods": 1}
# Of 1,698.32 ms of Java: hot's calls take 5 us; warm's 50 us; muted's 1 ms, which is not below 1 ms;
# run's in main 5.5 ms with all below, in worker a second; 100 ms are in no call.
JAVA_NS = 1_698_320_000
RESOLUTION = [(10_000, 320_000), (100_000, 50_320_000), (1_000_000, 50_320_000),
              (10_000_000, 598_320_000), (None, 1_598_320_000)]
VIEWS = ("threads", "tree", "flat", "callers", "spawn", "procedures")


def by_name(rows):
    return {row["method"]: row for row in rows}


class Budget(bench.Bench):
    def setUp(self):
        super().setUp()
        self.make("budget")
        self.make("counted_budget")

    def explain(self, glob="app.*"):
        methods = self.json("report", "budget.ledger", "--explain", glob)["methods"]
        return {f"{row['class'].split('.')[-1]}.{row['method']}{row['signature']}": row
                for row in methods}

    def test_every_view_has_budget_and_resolution(self):
        for view in VIEWS:
            report = self.json("report", "budget.ledger", "--view", view)
            self.assertEqual(report["budget"], BUDGET, view)
            self.assertEqual([(step["below_ns"], step["cpu_ppm"]) for step in report["resolution"]],
                             [(below, ns * 1_000_000 // JAVA_NS) for below, ns in RESOLUTION], view)
            text = self.treadle("report", "budget.ledger", "--view", view)
            self.assertIn(
                "\nbudget      2.0 % asked, 1.5 % used (hooks 40.0 ms, samples 20.0 ms, threads "
                "10.0 ms, class changes 4.00 ms, JVM 1.00 ms); 2 of 5 methods not recorded (1 for "
                "now), 1 is recorded again, 1 not hooked by the plan, 1 "
                "not hooked yet\n", text, view)
            self.assertIn("\nresolution  Java CPU in exact calls of less than 10.0 µs 0.02 %, "
                          "100 µs 3.0 %, 1.00 ms 3.0 %, 10.0 ms 35.2 %; longer 58.9 %, in none "
                          "5.9 %\n", text, view)

    def test_calls_are_so_many_at_least(self):
        tree = self.treadle("report", "budget.ledger", "--view", "tree")
        self.assertRegex(tree, r"main  \(platform, .*, ≥1 212 calls\n")
        self.assertRegex(tree, r"worker  \(platform, .*, 6 calls\n")
        for view in ("tree", "flat", "callers"):
            text = self.treadle("report", "budget.ledger", "--view", view)
            self.assertRegex(text, r" ≥64 .* app\.Main\.hot \[recorded 5\.6 %\]\n", view)
            self.assertRegex(text, r" ≥1 000 .* app\.Main\.warm \[recorded 21\.1 %\]\n", view)
            self.assertRegex(text, r" ≥48 .* app\.Main\.muted \[recorded 12\.5 %\]\n", view)
            self.assertRegex(text, r" 10[01] .* app\.Main\.run\n", view)
        self.assertRegex(self.treadle("report", "budget.ledger", "--view", "procedures"),
                         r" 100 .* app\.Main\.hot \[recorded 5\.6 %\]\n")
        for view in ("threads", "spawn"):
            text = self.treadle("report", "budget.ledger", "--view", view)
            self.assertRegex(text, r"main .* ≥1 212( |\n)", view)
            self.assertRegex(text, r"worker .* 6( |\n)", view)

    def test_counted_calls_are_exact(self):
        flat = self.treadle("report", "counted_budget.ledger", "--view", "flat")
        self.assertRegex(flat, r" 2 000 .* app\.Main\.muted \[recorded 12\.5 %, else counted\]\n")
        self.assertRegex(flat, r" ≥64 .* app\.Main\.hot \[recorded 5\.6 %\]\n")
        self.assertIn("; 2 of 5 methods not recorded (1 counted), 1 is recorded again, ", " ".join(flat.split()))
        row = by_name(self.json("report", "counted_budget.ledger", "--view", "flat")["methods"])["muted"]
        self.assertEqual((row["calls"], row["counted"], row.get("hooked")),
                         (2000, {"calls": 1952, "recorded_ppm": 125_000}, None))
        row = by_name(self.csv("report", "counted_budget.ledger", "--view", "flat"))["muted"]
        self.assertEqual((row["calls"], row["calls_at_least"], row["hooked_ppm"]), ("2000", "0", "125000"))
        budget = self.json("report", "counted_budget.ledger")["budget"]
        self.assertEqual((budget["silent_methods"], budget["counted_methods"], budget["muted_methods"]), (2, 1, 0))

    def test_counted_calls_are_in_no_tree(self):
        for view in ("tree", "callers"):
            text = self.treadle("report", "counted_budget.ledger", "--view", view)
            self.assertRegex(text, r" ≥48 .* app\.Main\.muted \[recorded 12\.5 %, else counted\]\n", view)
        text = self.treadle("report", "counted_budget.ledger", "--view", "flat", "--thread", "main")
        self.assertRegex(text, r" ≥48 .* app\.Main\.muted ")
        self.assertRegex(self.treadle("report", "counted_budget.ledger"), r"main .* ≥1 212( |\n)")

    def test_explain_counted(self):
        text = self.treadle("report", "counted_budget.ledger", "--explain", "app.Main.muted")
        self.assertRegex(text, r"\n  hook      counted, but not recorded, until its class is changed again: since "
                               r"[-0-9: ]+, after about 48 calls, at 700 calls a second ")
        self.assertRegex(text, r"\n  calls     2 000, recorded 12\.5 % of the time since [-0-9: ]+; 1 952 of them only "
                               r"counted\n")
        row = self.json("report", "counted_budget.ledger", "--explain", "app.Main.muted")["methods"][0]
        self.assertEqual((row["hook"], row["calls"], row["counted"]["calls"]), ("counted", 2000, 1952))

    def check_hooked(self, rows, most):
        met = 0
        for row in rows:
            expected = HOOKED.get(row["method"]) if row["class"] == "app.Main" else None
            self.assertEqual(row.get("hooked"), expected, row["method"])
            met += expected is not None
        self.assertGreaterEqual(met, most)

    def test_json_says_when(self):
        def nodes(node):
            yield node
            for child in node["children"]:
                yield from nodes(child)

        threads = self.json("report", "budget.ledger", "--view", "tree")["threads"]
        self.check_hooked([node for thread in threads for node in nodes(thread["root"])], 4)
        self.check_hooked(self.json("report", "budget.ledger", "--view", "flat")["methods"], 3)
        self.check_hooked(
            self.json("report", "budget.ledger", "--view", "procedures")["procedures"], 1)
        for stanza in self.json("report", "budget.ledger", "--view", "callers")["methods"]:
            self.check_hooked([stanza["self"], *stanza["children"]], 0)
            for parent in stanza["parents"]:
                self.assertEqual(parent.get("hooked"), stanza["self"].get("hooked"))
        for view in ("threads", "spawn"):
            for row in self.json("report", "budget.ledger", "--view", view)["threads"]:
                self.assertEqual(row.get("calls_at_least"), True if row["name"] == "main" else None)

    def test_csv_says_how_much(self):
        for view in ("tree", "flat", "callers", "procedures"):
            met = set()
            for row in self.csv("report", "budget.ledger", "--view", view):
                method = row["self_method"] if row.get("role") == "parent" else row["method"]
                share = HOOKED[method]["share_ppm"] if method in HOOKED else 1_000_000
                self.assertEqual(row["hooked_ppm"], str(share), (view, row))
                met.add(method)
            self.assertIn("hot", met)
        for view in ("threads", "spawn"):
            self.assertEqual({row["thread"]: row["calls_at_least"] for row in
                              self.csv("report", "budget.ledger", "--view", view)},
                             {"main": "1", "worker": "0", "GC": "0"})
        self.make("plain")
        self.assertNotIn("calls_at_least", self.csv("report", "plain.ledger")[0])

    def test_explain_hooked(self):
        methods = self.explain()
        self.assertEqual(
            {name.split("(")[0]: row["hook"] for name, row in methods.items()},
            {"Main.run": "always", "Main.hot": "silenced", "Main.warm": "again",
             "Main.muted": "muted", "Main.planned": "planned", "Main.never": "never_called",
             "Main.other": "not_included", "Main.secret": "excluded", "Main.get": "trivial",
             "Main.read0": "native", "Main.tiny": "postponed",
             "Main.todo": "abstract", "Main.huge": "left_alone",
             "Broken.x": "left_alone", "Gone.x": "left_since"})
        hot = methods["Main.hot()V"]
        self.assertEqual(hot["hooked"], HOOKED["hot"])
        self.assertEqual(hot["silenced"], {
            "at_ns": EPOCH + 1500 * MS, "calls": 64, "calls_a_second": 50_000,
            "allowed_a_second": 2000, "times": 1})
        self.assertEqual(hot["calls"], 64)
        # 100 of the 250 samples in run's 500 ms: the farther end of Wilson's interval is 0.0618 away.
        self.assertEqual((hot["exact_cpu_ns"], hot["sampled_cpu_ns"]), (320_000, 200 * MS))
        self.assertAlmostEqual(hot["sampled_error_ns"] / MS, 30.9, delta=0.05)
        self.assertEqual(methods["Main.muted()V"]["silenced"]["times"], 3)
        self.assertIsNone(methods["Main.planned()V"]["silenced"]["allowed_a_second"])
        run = methods["Main.run()V"]
        self.assertNotIn("hooked", run)
        self.assertEqual((run["calls"], run["exact_cpu_ns"], run["sampled_cpu_ns"]),
                         (101, 1_550_320_000, 0))
        self.assertEqual([name for name, row in methods.items() if row["named"]], ["Main.warm()V"])
        self.assertEqual(methods["Gone.x()V"]["calls"], 5)
        self.assertEqual(methods["Main.huge()V"]["left_alone"], "code_too_large")
        self.assertEqual(methods["Broken.x()V"]["left_alone"], "malformed")
        self.assertEqual(self.explain("java.lang.Math.max")["Math.max(II)I"]["hook"],
                         "not_looked_at")

    def test_explain_text(self):
        text = self.treadle("report", "budget.ledger", "--explain", "app.Main.hot")
        self.assertEqual(
            text, "app.Main.hot\n"
            "  hook      off, until its class is changed again: 2023-11-14 22:13:21, after about 64 calls, at 50 000 "
            "calls a second where the budget of 2.0 % allowed 2 000\n"
            "  calls     ≥64, recorded 5.6 % of the time since 2023-11-14 22:13:21\n"
            "  CPU       200 ms with all that it called: 320 µs exact, 200 ms ± 30.9 ms by samples\n")
        text = self.treadle("report", "budget.ledger", "--explain", "app.Main.*e*")
        self.assertTrue(text.startswith("9 methods match:\n\napp.Main.get()\n"), text)
        self.assertIn("\napp.Main.muted\n  hook      silent for now, to be tried again: since "
                      "2023-11-14 22:13:23, after about 48 calls, at 700 calls a second where the "
                      "budget of 2.0 % allowed 600; it fell silent 3 times\n", text)
        self.assertIn("\napp.Main.planned\n  hook      not hooked from the beginning: plan= "
                      "leaves it out, with 70 000 calls a second in that run\n", text)
        self.assertIn("\napp.Main.never\n  hook      hooked since its class was first looked at; "
                      "never called\n\n", text)
        self.assertIn("  hook      not hooked yet: the program has more methods than the budget bears hooks for, and this "
                      "one is small, or dear to the JVM's verifier, or comes late in the order that plan= gives\n",
                      self.treadle("report", "budget.ledger", "--explain", "app.Main.tiny"))
        self.assertIn("\napp.Main.huge\n  hook      not hooked: the code would be too large\n",
                      self.treadle("report", "budget.ledger", "--explain", "app.Main.[hr]*"))
        self.assertIn("  hook      not hooked: a trivial accessor",
                      self.treadle("report", "budget.ledger", "--explain", "app.Main.get(int)"))

    def test_explain_nothing(self):
        complaint = self.treadle("report", "budget.ledger", "--explain", "app.Main.nevr", status=1)
        self.assertEqual(complaint.count("\n"), 1)
        self.assertIn("budget.ledger: knows no method 'app.Main.nevr': ", complaint)
        self.assertIn("; nearest: app.Main.never, ", complaint)
        complaint = self.treadle("report", "budget.ledger", "--explain", "secret", status=1)
        self.assertIn("; nearest: app.Main.secret, ", complaint)
        self.treadle("report", "budget.ledger", "--explain", "x", "--csv", status=2)

    def test_merged(self):
        self.make("budget", "other.ledger")
        self.treadle("merge", "-o", "all.ledger", "budget.ledger", "other.ledger")
        rows = self.json("report", "all.ledger", "--explain", "app.*")["methods"]
        self.assertEqual({row["method"]: row["hook"] for row in rows},
                         {name.split(".")[-1].split("(")[0]: row["hook"]
                          for name, row in self.explain().items()})
        hot, = [row for row in rows if row["method"] == "hot"]
        self.assertEqual((hot["calls"], hot["hooked"]["share_ppm"], hot["silenced"]["times"]),
                         (128, 55_555, 2))

    def test_status(self):
        process = subprocess.Popen(["sleep", "300"])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.make("live_budget", f"tmp/treadle-{process.pid}-0123456789abcdef.live", process.pid)
        text = self.treadle("status", str(process.pid))
        self.assertIn("\nbudget      2.0 % asked, 1.5 % used (hooks 40.0 ms, ", text)
        self.assertIn("\n            0.5 % used in the last 3.000 s; a method may be called 1 500 "
                      "times a second just now\n", text)
        self.assertIn("\nresolution  Java CPU in exact calls of less than 10.0 µs 0.02 %, ", text)
        status = self.json("status", str(process.pid))
        self.assertEqual(status["budget"], {**BUDGET, "allowed_a_second": 1500, "recent": {
            "wall_ns": 3 * S, "cpu_ns": 2 * S, "own_ns": 10 * MS, "used_ppm": 5000}})
        self.assertEqual([step["cpu_ppm"] for step in status["resolution"]],
                         [ns * 1_000_000 // JAVA_NS for _, ns in RESOLUTION])
        self.make("stopped_budget", f"tmp/treadle-{process.pid}-0123456789abcdef.live", process.pid)
        self.assertIsNone(self.json("status", str(process.pid))["budget"]["recent"])
        self.assertNotIn("used in the last", self.treadle("status", str(process.pid)))


if __name__ == "__main__":
    bench.main()
