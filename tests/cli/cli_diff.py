"""treadle diff on the ledgers that make_ledger calls plain and family: their drawings are the
expectation."""
import json
import os
import re
import stat

import bench

MS = 1_000_000


def values(a, b):
    return {"a": a, "b": b, "change": b - a}


class Diff(bench.Bench):
    def setUp(self):
        super().setUp()
        self.make("plain")
        self.make("family")

    def both(self, *arguments):
        return self.json("diff", "plain.ledger", "family.ledger", *arguments)

    def test_threads(self):
        threads = self.both()["threads"]
        self.assertEqual(
            [(t["name"], t["kind"], t["state"], t["threads"]["a"], t["threads"]["b"],
              t["value"]["a"] // MS, t["value"]["b"] // MS, t["value"]["change"] // MS,
              t["calls"]["change"]) for t in threads],
            [("worker-#", "platform", "both", 1, 3, 2600, 900, -1700, 31 - 11),
             ("main", "platform", "both", 1, 1, 1100, 100, -1000, 1 - 103),
             ("GC Thread#", "vm", "both", 1, 2, 1000, 70, -930, 0),
             ("helper", "native", "gone", 1, 0, 300, 0, -300, 0),
             ("server", "platform", "new", 0, 1, 0, 50, 50, 2),
             ("helper-#", "platform", "new", 0, 2, 0, 30, 30, 6),
             ("worker-9", "virtual", "new", 0, 1, 0, 7, 7, 1),
             ("task", "virtual", "new", 0, 1, 0, 5, 5, 1),
             ("worker-x", "platform", "new", 0, 1, 0, 1, 1, 1)])
        rows = self.csv("diff", "plain.ledger", "family.ledger")
        self.assertEqual([row["thread"] for row in rows], [t["name"] for t in threads])
        self.assertEqual((rows[1]["a_cpu_ns"], rows[1]["b_cpu_ns"], rows[1]["change_cpu_ns"],
                          rows[1]["change_calls"], rows[4]["state"]),
                         (str(1100 * MS), str(100 * MS), str(-1000 * MS), "-102", "new"))

    def test_text(self):
        text = self.treadle("diff", "plain.ledger", "family.ledger")
        self.assertTrue(text.startswith("A  plain.ledger  (demo.Main --rounds 3)\n"
                                        "B  family.ledger  (demo.Main --rounds 3)\n\n"))
        self.assertRegex(text, r"\nworker-# +platform +1 → 3 +2\.600 s +900 ms +-1\.700 s +-65\.4 % "
                               r"+11 +31 +\+20\n")
        self.assertRegex(text, r"\nhelper +native +gone +1 → 0 +300 ms +0 +-300 ms +-100\.0 % ")
        self.assertRegex(text, r"\nserver +platform +new +0 → 1 +0 +50\.0 ms +\+50\.0 ms +0 +2 ")
        table = text[text.index("THREAD "):text.index("\n\nTOTALS")].splitlines()
        self.assertEqual(len({len(line) for line in table}), 1, "the columns are aligned")
        for line in (r"cpu of the threads shown +5\.000 s +1\.163 s +-3\.837 s +-76\.7 %\n",
                     r"calls of the threads shown +114 +43 +-71 ",
                     r"kernel CPU of the process +5\.000 s +5\.000 s +0 +0 %\n",
                     r"charged to Java threads +3\.700 s +1\.093 s ",
                     r"difference \(kernel - charged\) +\+100 ns \(0 ppm\) +\+3\.837 s \(767400 ppm\)"):
            self.assertRegex(text, line)

    def test_totals_and_balance(self):
        report = self.both()
        self.assertEqual((report["metric"], report["normalized"]), ("cpu_ns", False))
        self.assertEqual((report["a"]["total"], report["a"]["calls"]), (5000 * MS, 114))
        self.assertEqual((report["b"]["total"], report["b"]["calls"]), (1163 * MS, 43))
        self.assertEqual(report["a"]["balance"]["kernel_cpu_ns"], 5000 * MS + 100)
        self.assertEqual(report["a"]["balance"]["charged_cpu_ns"], 5000 * MS)
        self.assertEqual(report["b"]["balance"]["difference_ppm"], 767400)

    def test_tree(self):
        threads = {t["name"]: t for t in self.both("--view", "tree")["threads"]}
        root = threads["main"]["root"]
        self.assertEqual((root["method"], root["base"], root["cum"]),
                         ("<thread>", values(100 * MS, 99 * MS), values(1100 * MS, 100 * MS)))
        in_main, run = root["children"]
        self.assertEqual((in_main["method"], in_main["state"], in_main["calls"], in_main["cum"]),
                         ("main", "gone", values(1, 0), values(1000 * MS, 0)))
        self.assertEqual((run["method"], run["state"], run["calls"], run["cum"]),
                         ("run", "new", values(0, 1), values(0, 1 * MS)))
        fib, work = in_main["children"]
        self.assertEqual((fib["class"], fib["signature"], fib["cum"]),
                         ("demo.Main", "(I)J", values(800 * MS, 0)))
        self.assertEqual((work["calls"], work["cum"]), (values(2, 0), values(0, 0)))
        self.assertEqual(fib["children"][0]["recursion"], 1)
        rows = self.csv("diff", "plain.ledger", "family.ledger", "--view", "tree")
        nested = [row for row in rows if row["recursion"] == "1"]
        self.assertEqual([(row["thread"], row["level"], row["method"], row["a_base_cpu_ns"],
                           row["change_cum_cpu_ns"]) for row in nested],
                         [("main", "3", "fib", str(500 * MS), str(-500 * MS))])

    def test_tree_text(self):
        text = self.treadle("diff", "plain.ledger", "family.ledger", "--view", "tree",
                            "--thread", "main")
        self.assertIn("""
main  (platform, threads: 1)
    0         0    1.100 s     100 ms   -1.000 s    -90.9 %   -1.00 ms  (thread)
    1        -1    1.000 s          0   -1.000 s   -100.0 %    -200 ms    demo.Main.main [gone]
    2       -10     800 ms          0    -800 ms   -100.0 %    -300 ms      demo.Main.fib [gone]
    3       -90     500 ms          0    -500 ms   -100.0 %    -500 ms        demo.Main.fib [gone]
    2        -2          0          0          0                     0      demo.Main.work [gone]
    1        +1          0    1.00 ms   +1.00 ms              +1.00 ms    demo.Main.run [new]
""", text)
        text = self.treadle("diff", "plain.ledger", "family.ledger", "--view", "tree", "--top", "2")
        self.assertIn("demo.Main.work [gone]", text)
        self.assertNotIn("\nmain", text)
        self.assertIn("(3 contexts of this thread changed less or not, not shown)", text)
        self.assertIn("(8 threads changed less or not, not shown)", text)

    def test_flat(self):
        rows = self.both("--view", "flat")["methods"]
        self.assertEqual(
            [(r["method"], r["state"], r["base"]["a"] // MS, r["base"]["b"] // MS,
              r["cum"]["a"] // MS, r["calls"]["a"], r["calls"]["b"]) for r in rows],
            [("work", "gone", 2350, 0, 2550, 6, 0), ("fib", "gone", 1000, 0, 1000, 107, 0),
             ("(thread)", "both", 1400, 1151, 5000, 0, 0), ("main", "gone", 200, 0, 1000, 1, 0),
             ("(between Java threads)", "gone", 50, 0, 50, 0, 0), ("run", "new", 0, 12, 0, 0, 43)])
        text = self.treadle("diff", "plain.ledger", "family.ledger", "--view", "flat", "-n", "1")
        self.assertRegex(text, r" -6 +2\.350 s +0 +-2\.350 s +-100\.0 % +-2\.550 s +"
                               r"demo\.Main\.work \[gone\]\n\(5 changed less or not, not shown\)")
        rows = self.csv("diff", "plain.ledger", "family.ledger", "--view", "flat")
        self.assertEqual((rows[5]["method"], rows[5]["change_base_cpu_ns"], rows[5]["a_calls"]),
                         ("run", str(12 * MS), "0"))

    def test_collapsed(self):
        lines = self.treadle("diff", "plain.ledger", "family.ledger", "--collapsed").splitlines()
        self.assertEqual(lines[:10], [
            "worker-# 0 897000000",
            "worker-#;demo.Main.work 2350000000 0",
            "worker-#;demo.Main.work;demo.Main.fib 200000000 0",
            "worker-#;(between Java threads) 50000000 0",
            "worker-#;demo.Main.run 0 3000000",
            "main 100000000 99000000",
            "main;demo.Main.main 200000000 0",
            "main;demo.Main.main;demo.Main.fib 300000000 0",
            "main;demo.Main.main;demo.Main.fib;demo.Main.fib 500000000 0",
            "main;demo.Main.run 0 1000000"])
        counts = [re.fullmatch(r"[^;]+(;[^;]+)* (\d+) (\d+)", line).groups()[1:] for line in lines]
        self.assertEqual(sum(int(a) for a, b in counts), 5000 * MS)
        self.assertEqual(sum(int(b) for a, b in counts), 1163 * MS)

    def test_hostile_names(self):
        self.make("hostile")
        for arguments in ([], ["--collapsed"], ["--csv"], ["--view", "tree"], ["--view", "flat"]):
            text = self.treadle("diff", "plain.ledger", "hostile.ledger", *arguments)
            self.assertNotRegex(text, "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u200b]")
        for line in self.treadle("diff", "hostile.ledger", "plain.ledger",
                                 "--collapsed").splitlines():
            self.assertRegex(line, r"^[^;]+(;[^;]+)* \d+ \d+$")

    def test_a_ledger_and_itself(self):
        for view in ("threads", "tree", "flat"):
            for options in ([], ["--normalize"], ["--metric", "wall"], ["--metric", "calls"]):
                report = self.treadle("diff", "plain.ledger", "plain.ledger", "--view", view,
                                      "--json", *options)
                changes = re.findall(r'"change":(-?\d+)', report)
                self.assertGreater(len(changes), 4)
                self.assertEqual(set(changes), {"0"})
                self.assertEqual(set(re.findall(r'"state":"(\w+)"', report)), {"both"})
        text = self.treadle("diff", "plain.ledger", "plain.ledger", "--view", "tree")
        self.assertIn("(4 threads changed less or not, not shown)", text)

    def test_normalize(self):
        """A's 5000 ms become 1163 ms, so main's 1100 ms 255.86 ms; its 103 of 114 calls become
        38.85 of 43."""
        report = self.both("--normalize")
        self.assertEqual((report["normalized"], report["a"]["total"]), (True, 5000 * MS))
        rows = {t["name"]: t for t in report["threads"]}
        self.assertEqual(rows["main"]["value"], values(255_860_000, 100 * MS))
        self.assertEqual(rows["main"]["calls"], values(39, 1))
        tree = self.both("--normalize", "--view", "tree")["threads"]
        self.assertEqual(sum(t["root"]["cum"]["a"] for t in tree), 1163 * MS)
        self.assertIn("A's values are scaled",
                      self.treadle("diff", "plain.ledger", "family.ledger", "--normalize"))

    def test_metric_and_selection(self):
        def names(*arguments):
            return [t["name"] for t in self.both(*arguments)["threads"]]
        self.assertEqual(names("--metric", "calls")[0], "main")
        self.assertEqual(names("--thread", "*er*", "--top", "2"), ["worker-#", "helper"])
        for arguments in ([], ["-v", "tree"], ["-v", "flat"], ["--json"], ["--csv"], ["--collapsed"], ["--html", "x.html"]):
            done = self.run_treadle("diff", "plain.ledger", "family.ledger", "-t", "nobody", *arguments)
            self.assertEqual((done.returncode, done.stdout), (1, b""), arguments)
            self.assertIn(b"treadle: plain.ledger, family.ledger: no thread's name matches 'nobody'; there are '",
                          done.stderr)
            self.assertEqual(done.stderr.count(b"\n"), 1)
        self.make("pool")
        report = self.json("diff", "plain.ledger", "pool.ledger", "--metric", "voluntary_switches")
        self.assertEqual(report["b"]["total"], 12 * 1000)

    def test_what_samples_tell_may_be_off(self):
        # The root of both sides' squares. In B nothing was sampled; in A, of samples of 10 ms, loop has 10 of 20 on top
        # and 15 in it, of work's 200 ms: as cli_samples works out, 40.1 and 43.7 ms; work has 5 of these. Scaled to B's
        # total, 5000 of 650 ms, loop's are 308.8 ms and 336.5 ms.
        self.make("sampled")
        def loop(*arguments):
            report = self.json("diff", "sampled.ledger", "plain.ledger", "-v", "flat", *arguments)
            row = next(row for row in report["methods"] if row["method"] == "loop")
            return [round(row[key]["error_ns"] / MS, 1) for key in ("base", "cum")]
        self.assertEqual(loop(), [40.1, 43.7])
        self.assertEqual(loop("--normalize"), [308.8, 336.5])
        both = self.json("diff", "sampled.ledger", "sampled.ledger", "-v", "flat")["methods"]
        row = next(row for row in both if row["method"] == "loop")
        self.assertEqual(round(row["base"]["error_ns"] / MS, 1), 56.8)  # 40.141 times the root of two
        for view in ("flat", "tree"):
            rows = self.csv("diff", "sampled.ledger", "plain.ledger", "-v", view)
            row = next(row for row in rows if row["method"] == "loop")
            self.assertEqual([round(int(row[key]) / MS, 1) for key in ("base_error_ns", "cum_error_ns")], [40.1, 43.7])
            text = self.treadle("diff", "sampled.ledger", "plain.ledger", "-v", view)
            shown = next(line for line in text.splitlines() if "demo.Inner.loop" in line).split()
            errors = [word + " ms" for word in shown if word.startswith("±")]
            self.assertEqual(errors, ["±40.1 ms", "±43.7 ms"] if view == "flat" else ["±43.7 ms", "±40.1 ms"])
            narrow = self.treadle("diff", "sampled.ledger", "plain.ledger", "-v", view, env={"COLUMNS": "80"})
            self.assertNotIn("±", narrow)
            self.assertNotIn("±", self.treadle("diff", "plain.ledger", "family.ledger", "-v", view))
        self.assertNotIn("error_ns", json.dumps(self.both("-v", "tree")))

    def test_calls_are_so_many_at_least(self):
        """budget_drawing.h: main has 1,212 calls, of which hot's 64, warm's 1,000 and muted's 48 were not all recorded.
        More calls of B would make a change larger, more calls of A make it smaller."""
        self.make("budget")
        partial = {"hot": 64, "warm": 1000, "muted": 48}
        for view in ("tree", "flat"):
            for order, mark, sign in ((("plain", "budget"), "≥", "+"), (("budget", "plain"), "≤", "-")):
                shown = self.treadle("diff", *(f"{kind}.ledger" for kind in order), "-v", view)
                for name, calls in partial.items():
                    self.assertRegex(shown, rf" {mark}\{sign}{calls:_}".replace("_", " ") + rf" .* app\.Main\.{name} ")
                self.assertRegex(shown, rf" \{sign}10[01] .* app\.Main\.run ")
        text = self.treadle("diff", "budget.ledger", "plain.ledger")
        self.assertRegex(text, r"main +platform .* ≥1 212 +103 +≤-1 109\n")
        self.assertRegex(text, r"worker +platform .* 6 +0 +-6\n")
        self.assertRegex(text, r"calls of the threads shown +≥1 218 +114 +≤-1 104 +≤-90\.6 %\n")
        text = self.treadle("diff", "budget.ledger", "budget.ledger", "-m", "calls")
        self.assertRegex(text, r"main +platform +1 +≥1 212 +≥1 212 +\?0 +\?0 % +≥1 212 +≥1 212 +\?0\n")
        text = self.treadle("diff", "plain.ledger", "budget.ledger", "-v", "tree", "-m", "calls")
        self.assertRegex(text, r"\n +0 +0 +103 +≥1 212 +≥\+1 109 +≥\+1076\.7 % +0 +\(thread\)\n")
        self.assertRegex(text, r"\n +1 +\+100 +0 +≥1 164 +≥\+1 164 +\+100 +app\.Main\.run \[new\]\n")

        def check(calls, in_a, in_b):
            self.assertEqual((calls.get("a_at_least", False), calls.get("b_at_least", False)), (in_a, in_b), calls)
        report = self.json("diff", "plain.ledger", "budget.ledger", "-v", "flat")
        self.assertEqual([report[side].get("calls_at_least") for side in "ab"], [None, True])
        for row in report["methods"]:
            check(row["calls"], False, row["method"] in partial)
            check(row["base"], False, False)
        rows = self.csv("diff", "budget.ledger", "budget.ledger", "-v", "tree")
        self.assertEqual({row["method"] for row in rows if row["a_calls_at_least"] == "1"}, set(partial))
        self.assertTrue(all(row["a_calls_at_least"] == row["b_calls_at_least"] for row in rows))
        for row in self.json("diff", "budget.ledger", "plain.ledger", "-m", "calls")["threads"]:
            check(row["calls"], row["name"] == "main", False)
            check(row["value"], row["name"] == "main", False)
        rows = self.csv("diff", "budget.ledger", "plain.ledger")
        self.assertEqual([row["thread"] for row in rows if row["a_calls_at_least"] == "1"], ["main"])
        self.assertNotIn("at_least", self.treadle("diff", "plain.ledger", "family.ledger", "--csv"))
        self.assertNotIn("at_least", self.treadle("diff", "plain.ledger", "family.ledger", "--json"))

    def test_refused(self):
        def refused(*arguments, status=2):
            complaint = self.treadle("diff", *arguments, status=status)
            self.assertTrue(complaint.startswith("treadle"), complaint)
            return complaint
        self.assertIn("two ledgers are needed", refused("plain.ledger"))
        self.assertIn("not more", refused("a", "b", "c"))
        self.assertIn("not several", refused("a", "b", "--json", "--collapsed"))
        self.assertIn("did you mean 'tree'", refused("a", "b", "--view", "tre"))
        self.assertIn("did you mean 'wall'", refused("a", "b", "--metric", "wal"))
        self.assertIn("none.ledger: cannot be opened",
                      refused("plain.ledger", "none.ledger", status=1))
        for arguments, lacks in ((["-m", "read_bytes"], "family.ledger: has no read_bytes"),
                                 (["-m", "read_bytes", "-v", "tree"], "plain.ledger: has no read"),
                                 (["-m", "read_bytes", "--collapsed"], "plain.ledger: has no read")):
            complaint = refused("plain.ledger", "family.ledger", *arguments, status=1)
            self.assertEqual(complaint.count("\n"), 1)
            self.assertIn(lacks, complaint)

    def has_page(self):
        try:
            self.treadle("diff", "plain.ledger", "family.ledger", "--html", "probe.html")
        except AssertionError:
            complaint = self.treadle("diff", "plain.ledger", "family.ledger", "--html", "x", status=1)
            self.assertRegex(complaint, r"^treadle: this treadle was built without the page .*\bnpm\b.*\n$")
            return False
        os.unlink(self.path("probe.html"))
        return True

    def test_page(self):
        if not self.has_page():
            self.skipTest("built without the page")
        with open(self.path("x.html"), "w", encoding="ascii") as file:
            file.write("what was there before")
        self.assertEqual(self.treadle("diff", "plain.ledger", "family.ledger", "--html", "x.html"), "x.html\n")
        self.assertEqual(stat.S_IMODE(os.stat(self.path("x.html")).st_mode), 0o600)
        with open(self.path("x.html"), encoding="utf-8") as file:
            text = file.read()
        self.assertTrue(text.startswith("<!doctype html>") and text.endswith("</html>\n"))
        files = set(os.listdir(self.folder))
        self.assertEqual(self.treadle("diff", "plain.ledger", "family.ledger", "--html", "-"), text)
        self.assertEqual(set(os.listdir(self.folder)), files)
        blocks = self.blocks("x.html")
        about = json.loads(blocks["about"])
        self.assertEqual((about["ledgers"], about["metric"]), (["plain.ledger", "family.ledger"], "cpu"))
        self.assertEqual(about["diff"]["a"]["total"], 5000 * MS)
        threads = json.loads(blocks["threads"])["threads"]
        main = [thread["name"] for thread in threads].index("main")
        self.assertEqual(threads[main], {"name": "main", "kind": "platform", "state": "both", "a": 1, "b": 1})
        self.assertEqual(len(blocks["sides"]) * 3, len(blocks["nodes"]))  # mark, levels up, method
        # main of A has 1 + 10 + 90 + 2 calls, of B 1; so much is one octet.
        self.assertEqual((blocks["threads-calls-a"][main], blocks["threads-calls-b"][main]), (103, 1))

    def test_page_refused(self):
        if not self.has_page():
            self.skipTest("built without the page")

        def refused(*arguments, status=1):
            before = set(os.listdir(self.folder))
            complaint = self.treadle("diff", "plain.ledger", *arguments, status=status)
            self.assertTrue(complaint.startswith("treadle"), complaint)
            self.assertEqual(set(os.listdir(self.folder)), before)
            return complaint
        for arguments, expected in ((["family.ledger", "--html", "none/x.html"],
                                     "none/x.html: cannot be written: No such file"),
                                    (["family.ledger", "--html", "plain.ledger"], "is the ledger itself"),
                                    (["family.ledger", "--html", "family.ledger"], "is the ledger itself"),
                                    (["family.ledger", "--html", "tmp"], "tmp: is no regular file"),
                                    (["none.ledger", "--html", "x.html"], "none.ledger: cannot be opened"),
                                    (["family.ledger", "--html", "x.html", "-t", "nobody"],
                                     "no thread's name matches 'nobody'"),
                                    (["family.ledger", "--html", "x.html", "-m", "read_bytes"],
                                     "plain.ledger: has no read_bytes")):
            complaint = refused(*arguments)
            self.assertEqual(complaint.count("\n"), 1)
            self.assertIn(expected, complaint)
        for option in ("--json", "--csv", "--collapsed"):
            self.assertIn("not several", refused("family.ledger", "--html", "x.html", option, status=2))
        for options in (["--view", "tree"], ["--top", "3"]):
            self.assertIn("neither --view nor --top",
                          refused("family.ledger", "--html", "x.html", *options, status=2))
        self.assertIn("requires an argument", refused("family.ledger", "--html", status=2))

    def test_damage_is_told(self):
        with open(self.path("family.ledger"), "r+b") as ledger:
            ledger.seek(-4096, 2)
            ledger.write(b"x" * 4096)
        self.assertGreater(self.both()["b"]["balance"]["skipped_records"], 0)
        self.assertRegex(self.treadle("diff", "plain.ledger", "family.ledger"),
                         r"\nlost: records unreadable +0 +\d+ ")


if __name__ == "__main__":
    bench.main()
