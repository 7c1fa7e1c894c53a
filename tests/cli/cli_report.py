"""treadle report on the ledger that make_ledger calls plain: its drawing is the expectation."""
import itertools
import os
import subprocess

import bench

MS = 1_000_000


class Threads(bench.Bench):
    def setUp(self):
        super().setUp()
        self.make("plain")

    def test_text(self):
        text = self.treadle("report", "plain.ledger")
        lines = text.splitlines()
        self.assertEqual(lines[0], "process     4242, started 2023-11-14 22:13:19, "
                                   "snapshot of 2023-11-14 22:13:30")
        self.assertEqual(lines[1], "command     demo.Main --rounds 3")
        table = lines[lines.index("") + 1:]
        self.assertEqual(table[0].split("  ")[0], "THREAD")
        self.assertEqual([line.split("  ")[0] for line in table[1:5]],
                         ["worker-1 → worker: idle", "main", "GC Thread#0", "helper"])
        self.assertIn("█████▎      52.0 %", table[1])
        self.assertRegex(table[2], r" 4242  ended +200 ms +40\.0 ms +1\.100 s +2\.200 s +1\.094 s ")
        self.assertRegex(table[1], r" 10 000 / 70 +0\.29 +258 µs +0\.7 % +3 210 / 0 +1\.18 MiB +48\.8 KiB +11 ")
        self.assertEqual(len({len(line) for line in table[1:5]}), 1, "the columns are aligned")

    def test_text_balance(self):
        text = self.treadle("report", "plain.ledger")
        balance = text[text.index("\nBalance\n"):]
        self.assertRegex(balance, r"kernel CPU of the process +5\.000000 s\n")
        self.assertRegex(balance, r"charged to Java threads +3\.700000 s +74\.0 %\n")
        self.assertRegex(balance, r"charged to VM threads +1\.000000 s +20\.0 %\n")
        self.assertRegex(balance, r"charged to native threads +0\.300000 s +6\.0 %\n")
        self.assertRegex(balance, r"difference \(kernel - charged\) +\+100 ns +0 ppm\n")
        self.assertIn("  clock rseq\n  nothing lost\n", balance)
        self.assertRegex(balance, r"not available  block_io_delay, .*needs CAP_NET_ADMIN")

    def test_json(self):
        report = self.json("report", "plain.ledger")
        self.assertLessEqual({"pid", "command", "jvm", "start_ns", "wall_ns", "cpu_ns", "user_ns",
                              "sys_ns"}, set(report["process"]))
        self.assertEqual(report["process"]["start_ns"], 1_699_999_999_500_000_000)
        self.assertEqual(report["process"]["wall_ns"], 10_500 * MS)
        worker = report["threads"][0]
        self.assertEqual(worker["name"], "worker-1")
        self.assertEqual(worker["kind"], "platform")
        self.assertEqual(worker["tids"], [4243, 4250])
        self.assertIs(worker["terminated"], False)
        self.assertEqual(worker["parent"], "main")
        self.assertEqual(worker["cpu_ns"], 2600 * MS)
        self.assertEqual(worker["wall_ns"], 9000 * MS)
        self.assertEqual(worker["calls"], 11)
        self.assertEqual(worker["metrics"]["voluntary_switches"], 10_000)
        self.assertEqual(worker["renames"], ["worker: idle"])
        self.assertNotIn("block_io_delay", worker["metrics"])
        self.assertEqual({thread["kind"] for thread in report["threads"]},
                         {"platform", "vm", "native"})
        balance = report["balance"]
        self.assertEqual(balance["kernel_cpu_ns"], 5_000_000_100)
        self.assertEqual(balance["charged_cpu_ns"], 5_000_000_000)
        self.assertEqual(balance["difference_ppm"], 0)
        self.assertEqual(balance["dropped_events"], 0)
        self.assertEqual(balance["clock"], "rseq")
        self.assertEqual(balance["unavailable"][0]["source"], "taskstats")

    def test_csv(self):
        rows = self.csv("report", "plain.ledger")
        self.assertEqual([row["thread"] for row in rows],
                         ["worker-1", "main", "GC Thread#0", "helper"])
        self.assertEqual(rows[0]["cpu_ns"], str(2600 * MS))
        self.assertEqual(rows[0]["tids"], "4243 4250")
        self.assertEqual(rows[1]["run_queue_delay_ns"], str(6 * MS))

    def test_selection_order_and_top(self):
        def names(*arguments):
            return [thread["name"]
                    for thread in self.json("report", "plain.ledger", *arguments)["threads"]]
        self.assertEqual(names("--thread", "*er*"), ["worker-1", "helper"])
        self.assertEqual(names("--top", "2"), ["worker-1", "main"])
        self.assertEqual(names("--sort", "name"), ["GC Thread#0", "helper", "main", "worker-1"])
        self.assertEqual(names("--metric", "calls")[0], "main")
        self.assertEqual(names("--sort", "waiting")[0], "helper")
        self.assertEqual(names("--sort", "start")[-1], "worker-1")
        self.assertIn("(2 more, not shown)", self.treadle("report", "plain.ledger", "-n", "2"))

    def test_metric_gets_a_column_and_the_share(self):
        text = self.treadle("report", "plain.ledger", "--metric", "major_faults")
        self.assertIn("MAJ FLT  SHARE OF MAJ FLT", text)
        text = self.treadle("report", "plain.ledger", "--metric", "wall")
        self.assertIn("SHARE OF WALL", text)

    def test_fold(self):
        self.make("pool")
        text = self.treadle("report", "pool.ledger", "--fold")
        self.assertIn("pool-#-thread-# ×12", text)
        self.assertIn("3 alive", text)
        self.assertIn("\nalone-1 ", text)
        threads = self.json("report", "pool.ledger", "--fold")["threads"]
        self.assertEqual([(t["name"], t["count"], t["running"], t["cpu_ns"]) for t in threads],
                         [("alone-1", 1, 1, 500 * MS), ("pool-#-thread-#", 12, 3, 78 * MS)])
        self.assertEqual(len(self.json("report", "pool.ledger")["threads"]), 13)

    def test_processors_busy_over_time(self):
        """2, 0.5, 0, 1, 0.25: the last slot is half over. Since the moment of `earlier`, 2 s, there are four."""
        self.make("busy")
        self.make("earlier")
        busy = self.json("report", "busy.ledger")["process"]["busy"]
        self.assertEqual((busy["slot_ns"], busy["ppm"]), (2000 * MS, [2_000_000, 500_000, 0, 1_000_000, 250_000]))
        text = self.treadle("report", "busy.ledger")
        self.assertIn("\nbusy        █▂ ▄▁  up to 2.00 processors in 2.000 s; a column: 2.000 s\n", text)
        since = self.json("report", "busy.ledger", "--since", "earlier.ledger")["process"]["busy"]
        self.assertEqual((since["first_ns"], since["ppm"]), (busy["first_ns"] + 2000 * MS, busy["ppm"][1:]))
        self.assertEqual(self.json("report", "earlier.ledger")["process"]["busy"]["ppm"], [])
        self.assertNotIn("\nbusy ", self.treadle("report", "earlier.ledger"))

    def test_how_threads_run(self):
        """worker-1: 2.6 s of CPU in 9 s, 10,000 + 70 switches. The pool: 78 ms within 10 s, for three threads live on;
        12 * (1,000 + 7) switches. A virtual thread stops by its mounts, too, but there no switches are counted."""
        self.make("pool")
        self.make("virtual")
        keys = ("lived_ns", "parallel_ppm", "quantum_ns", "preempted_ppm")
        threads = {t["name"]: tuple(t[key] for key in keys) for t in self.json("report", "plain.ledger")["threads"]}
        self.assertEqual(threads["worker-1"], (9000 * MS, 288_888, 2600 * MS // 10_070, 70 * 1_000_000 // 10_070))
        pool = self.json("report", "pool.ledger", "--fold")["threads"][1]
        self.assertEqual(tuple(pool[key] for key in keys),
                         (10_000 * MS, 7_800, 78 * MS // 12_084, 84 * 1_000_000 // 12_084))
        row = self.csv("report", "pool.ledger", "--fold")[1]
        self.assertEqual([row[key] for key in keys[1:]], [str(pool[key]) for key in keys[1:]])
        request = self.json("report", "virtual.ledger")["threads"][1]
        self.assertEqual((request["parallel_ppm"], request.get("quantum_ns")), (10_000, None))

    def test_virtual_threads(self):
        self.make("virtual")
        text = self.treadle("report", "virtual.ledger")
        table = text[text.index("\nTHREAD ") + 1:text.index("\n\nBalance")]
        self.assertEqual(table, """\
THREAD     KIND       TID  STATE      CPU     WALL  WAITING  RUN QUEUE  MOUNTS  PINNED  MOUNTED   PARKED  PARALLEL  \
CALLS  SHARE OF CPU
main       platform  4242  ended   100 ms  5.000 s  4.900 s          0                                        0.02  \
    0  ███████▍    74.1 %
request-2  virtual   4243  ended  20.0 ms  2.000 s  1.980 s          0   1 200       0  20.0 ms  1.980 s      0.01  \
    0  █▌          14.8 %
request-1  virtual   4243  ended  10.0 ms  1.000 s   960 ms    30.0 ms       5       2   100 ms   900 ms      0.01  \
    0  ▊            7.4 %
carrier-1  carrier   4243  ended  5.00 ms  5.000 s  4.995 s          0                                        0.00  \
    0  ▍            3.7 %""")
        rows = {row["thread"]: row for row in self.csv("report", "virtual.ledger")}
        self.assertEqual(list(rows["main"])[-4:],
                         ["mounts", "pinned", "mounted_ns", "parked_ns"])
        self.assertEqual([list(rows[name].values())[-4:] for name in ("main", "request-1")],
                         [["", "", "", ""], ["5", "2", str(100 * MS), str(900 * MS)]])
        self.assertEqual(rows["request-1"]["waiting_ns"], str(960 * MS))
        only_main = self.csv("report", "virtual.ledger", "--thread", "main")
        self.assertIn("mounts", only_main[0], "the ledger has some, whatever is shown")
        text = self.treadle("report", "virtual.ledger", "--fold")
        self.assertRegex(text, r"\nrequest-# ×2 +virtual +ended +30\.0 ms +3\.000 s +2\.940 s "
                               r"+30\.0 ms +1 205 +2 +120 ms +2\.880 s ")
        threads = {thread["name"]: thread
                   for thread in self.json("report", "virtual.ledger", "--fold")["threads"]}
        self.assertEqual([threads["request-#"][key] for key in ("mounts", "pinned", "parked_ns")],
                         [1205, 2, 2880 * MS])
        self.assertNotIn("mounts", threads["main"])
        self.assertNotIn("MOUNTS", self.treadle("report", "plain.ledger"))
        self.assertNotIn("mounts", self.csv("report", "plain.ledger")[0])

    def test_virtual_threads_of_a_killed_process_wait_on(self):
        self.make("parked", number=999_999_999)
        text = self.treadle("report", "parked.ledger", "--thread", "request-3")
        self.assertRegex(text, r"\nrequest-3 +virtual +4243 +alive +30\.0 ms +9\.000 s "
                               r"+8\.970 s +0 +3 +0 +1\.000 s +8\.000 s ")

    def test_a_glob_that_matches_no_thread(self):
        self.make("plain")
        self.make("sampled")
        there = {"plain": "; there are 'worker-1', 'main', 'GC Thread#0', 'helper'\n",
                 "sampled": "; there are 'GC Thread#0', 'main', 'worker'\n"}
        for ledger, views in (("plain", ("threads", "spawn", "tree", "flat", "callers")),
                              ("sampled", ("images", "procedures"))):
            for view in views:
                for form in ([], ["--json"], ["--csv"]):
                    done = self.run_treadle("report", "-v", view, "-t", "nobody", f"{ledger}.ledger", *form)
                    self.assertEqual((done.returncode, done.stdout), (1, b""), (view, form))
                    self.assertEqual(done.stderr.decode(), f"treadle: {ledger}.ledger: no thread's name matches 'nobody'"
                                     + there[ledger])

    def test_what_a_glob_was_meant_to_be(self):
        self.make("plain")
        for glob, hint in (("worker", "'*worker*' matches 1 name"), ("er", "'*er*' matches 2 names"),
                           ("worker-2", "nearest: 'worker-1'"), ("mian", "nearest: 'main'")):
            said = self.treadle("report", "-t", glob, "plain.ledger", status=1)
            self.assertIn(f"no thread's name matches '{glob}'; {hint}; there are 'worker-1', ", said)
        self.make("hostile")
        said = self.treadle("report", "-t", "x\x1b[2J", "hostile.ledger", status=1)
        self.assertNotIn("\x1b", said)
        self.assertEqual(said.count("\n"), 1)

    def test_a_wrong_sort_key_names_each_once(self):
        self.make("plain")
        for view in ("threads", "flat", "spawn"):
            said = self.treadle("report", "-v", view, "--sort", "zzzzzz", "plain.ledger", status=2)
            keys = said.splitlines()[0].split("there are ")[1].split(", ")
            self.assertEqual(len(keys), len(set(keys)), keys)

    def test_losses_are_told(self):
        self.make("losses")
        text = self.treadle("report", "losses.ledger")
        for line in ("lost  12 345 calls not recorded", "lost  2 threads not recorded",
                     "lost  3 metric values", "lost  4 exits that did not match",
                     "full  the ledger reached max-mem (64.0 MiB)",
                     "5 positions corrected: samples found threads elsewhere"):
            self.assertIn(line, text)
        self.assertNotIn("nothing lost", text)
        balance = self.json("report", "losses.ledger")["balance"]
        self.assertEqual(balance["dropped_events"], 12345)
        self.assertEqual(balance["dropped_threads"], 2)

    def test_hooks_are_told(self):
        self.make("hooks")
        text = self.treadle("report", "hooks.ledger")
        self.assertIn("\nhooks       5 231 methods of 402 classes have hooks; the JDK's own classes "
                      "and trivial accessors have no hooks, their time is their caller's "
                      "(77 001 methods so far)\n"
                      "            left alone: 3 methods (the code would be too large), "
                      "1 class (malformed class file)\n", text)
        hooks = self.json("report", "hooks.ledger")["hooks"]
        self.assertEqual((hooks["classes"], hooks["methods"], hooks["filtered_methods"]),
                         (402, 5231, 77001))
        self.assertIs(hooks["default_filter"], True)
        self.assertEqual({key: count for key, count in hooks["left_alone"].items() if count},
                         {"code_too_large": 3, "malformed": 1})
        text = self.treadle("report", "plain.ledger")
        self.assertIn("have hooks; not hooked: what include=/exclude= leave out\n", text)
        self.assertNotIn("left alone", text)
        self.assertIs(self.json("report", "plain.ledger")["hooks"]["default_filter"], False)

    def test_only_profiled_time_counts(self):
        self.make("paused")
        text = self.treadle("report", "paused.ledger")
        self.assertIn("\nprofiling   attached 500 ms after the process began, stopped since "
                      "2023-11-14 22:13:29, not profiled for 2.000 s in between\n", text)
        self.assertIn("\ntime        7.000 s wall, 5.000 s CPU", text)
        self.assertIn("5 231 methods of 402 classes had hooks", text)
        process = self.json("report", "paused.ledger")["process"]
        self.assertEqual(process["wall_ns"], 7000 * MS)
        self.assertEqual(process["attached_after_ns"], 500 * MS)
        self.assertEqual(process["unprofiled_ns"], 2000 * MS)
        self.assertEqual(process["stopped_ns"], 1_700_000_009_000_000_000)
        walls = {row["thread"]: int(row["wall_ns"]) // MS
                 for row in self.csv("report", "paused.ledger")}
        self.assertEqual(walls["GC Thread#0"], 7000)
        self.assertNotIn("profiling", self.treadle("report", "plain.ledger"))
        process = self.json("report", "plain.ledger")["process"]
        self.assertEqual((process["attached_after_ns"], process["unprofiled_ns"],
                          process["stopped_ns"]), (0, 0, 0))

    def test_damage_is_told(self):
        with open(self.path("plain.ledger"), "r+b") as ledger:
            ledger.seek(-4096, 2)
            ledger.write(b"x" * 4096)
        text = self.treadle("report", "plain.ledger")
        self.assertRegex(text, r"lost  [\d ]+ records unreadable, the first at byte \d+: ")
        self.assertGreater(
            self.json("report", "plain.ledger")["balance"]["skipped_records"], 0)

    def test_newest_snapshot_is_the_default(self):
        self.make("pool", "newer.ledger")
        os.utime(self.path("plain.ledger"), (1, 1))
        self.assertEqual(len(self.json("report")["threads"]), 13)


class Check(bench.Bench):
    """Charged without the last moments: 5 s in all these ledgers."""

    def assert_out(self, ledger, ppm, *arguments):
        """That it is out by so much: that many ppm pass, one less does not."""
        self.treadle("report", ledger, *arguments, "--check", str(ppm))
        complaint = self.treadle("report", ledger, *arguments, "--check", str(ppm - 1), status=1)
        self.assertEqual(complaint.count("\n"), 1, complaint)
        self.assertTrue(complaint.startswith(
            f"treadle: {ledger}: the balance is out by {ppm} ppm, more than {ppm - 1}: kernel CPU "),
            complaint)
        self.assertTrue(complaint.endswith(", charged 5.000 s\n"), complaint)

    def test_difference_counts_either_way(self):
        self.make("plain")  # 100 ns of 5.0000001 s are 0.02 ppm: not none
        self.assert_out("plain.ledger", 1)
        self.make("kernel_total", number=8000)  # 3 s of 8 s are not charged
        self.assert_out("kernel_total.ledger", 375_000)
        self.make("kernel_total", number=1000)  # 4 s more than the kernel's 1 s are
        self.assert_out("kernel_total.ledger", 4_000_000)
        self.make("kernel_total", number=5000)
        self.treadle("report", "kernel_total.ledger", "--check", "0")

    def test_last_moments_are_not_charged(self):
        self.make("last_moments")  # 1.0001 ms of 5.0010001 s: 199.98 ppm
        text = self.treadle("report", "last_moments.ledger", "--check", "200")
        self.assertRegex(text, r"difference \(kernel - charged\) +0 +0 ppm\n")
        self.assert_out("last_moments.ledger", 200)

    def test_unknown_total_does_not_pass(self):
        self.make("kernel_total", number=0)
        complaint = self.treadle("report", "kernel_total.ledger", "--check", "1000000", status=1)
        self.assertIn("kernel_total.ledger: has no balance to check", complaint)
        self.treadle("report", "kernel_total.ledger")

    def test_all_views_and_forms_are_printed_first(self):
        self.make("last_moments")
        views = ("threads", "spawn", "tree", "flat", "callers")
        for view, form in itertools.product(views, ([], ["--json"], ["--csv"], ["-t", "main"])):
            arguments = ["report", "last_moments.ledger", "-v", view, *form]
            printed = self.treadle(*arguments)
            self.assert_out("last_moments.ledger", 200, *arguments[2:])
            both = subprocess.run([bench.TREADLE, *arguments, "--check", "199"], cwd=self.folder,
                                  env=self.environment(), stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, check=False).stdout
            self.assertTrue(both.startswith(printed + "treadle: "), both)
            self.assertEqual(both.count("\n"), printed.count("\n") + 1)

    def test_a_full_disk_is_one_line(self):
        self.make("last_moments")
        with open("/dev/full", "wb") as full:
            done = subprocess.run([bench.TREADLE, "report", "last_moments.ledger", "--check", "1"],
                                  cwd=self.folder, stdout=full, stderr=subprocess.PIPE,
                                  env=self.environment(), check=False)
        self.assertEqual((done.returncode, done.stderr), (
            1, b"treadle: standard output: cannot be written: No space left on device\n"))


class Tree(bench.Bench):
    def setUp(self):
        super().setUp()
        self.make("plain")

    def test_text(self):
        text = self.treadle("report", "plain.ledger", "--view", "tree", "--thread", "main")
        self.assertEqual(text, """\
Call trees, Base and Cum (of which Share) in cpu, 1 of 4 threads
Level   RL    Calls       Base        Cum    Share  Name

main  (platform, tid 4242, ended)  1.100 s CPU, 2.200 s wall, 103 calls
    0    0        0     100 ms    1.100 s  100.0 %  (thread)
    1    0        1     200 ms    1.000 s   90.9 %    demo.Main.main
    2    0       10     300 ms     800 ms   72.7 %      demo.Main.fib
    3    1       90     500 ms     500 ms   45.5 %        demo.Main.fib
    2    0        2          0          0      0 %      demo.Main.work
""")

    def test_json(self):
        threads = self.json("report", "plain.ledger", "--view", "tree")["threads"]
        self.assertEqual([thread["name"] for thread in threads],
                         ["worker-1", "main", "GC Thread#0", "helper"])
        root = threads[1]["root"]
        self.assertEqual(list(root), ["class", "method", "signature", "kind", "calls",
                                      "recursion", "base", "cum", "share_ppm", "children"])
        self.assertEqual((root["class"], root["method"], root["kind"]), ("", "<thread>", "exact"))
        in_main = root["children"][0]
        self.assertEqual((in_main["class"], in_main["method"], in_main["signature"]),
                         ("demo.Main", "main", "([Ljava/lang/String;)V"))
        fib = in_main["children"][0]["children"][0]
        self.assertEqual((fib["calls"], fib["recursion"]), (90, 1))
        self.assertEqual(fib["base"],
                         {"cpu_ns": 500 * MS, "wall_ns": 1000 * MS, "minor_faults": 33})
        self.assertEqual(root["cum"],
                         {"cpu_ns": 1100 * MS, "wall_ns": 2200 * MS, "minor_faults": 33})
        gap = threads[0]["root"]["children"][1]
        self.assertEqual((gap["method"], gap["kind"]), ("(between Java threads)", "gap"))

    def test_top_keeps_what_hangs_together(self):
        threads = self.json("report", "plain.ledger", "-v", "tree", "--top", "3")["threads"]
        self.assertEqual([thread["name"] for thread in threads], ["worker-1", "main"])
        self.assertEqual(threads[0]["root"]["children"][0]["method"], "work")
        self.assertEqual(threads[0]["root"]["children"][0]["children"], [])
        self.assertEqual(threads[1]["root"]["children"], [])

    def test_csv(self):
        rows = self.csv("report", "plain.ledger", "-v", "tree", "-t", "main")
        self.assertEqual([(row["level"], row["method"], row["base_cpu_ns"]) for row in rows],
                         [("0", "(thread)", str(100 * MS)), ("1", "main", str(200 * MS)),
                          ("2", "fib", str(300 * MS)), ("3", "fib", str(500 * MS)),
                          ("2", "work", "0")])
        self.assertEqual(rows[3]["cum_minor_faults"], "33")

    def test_deep(self):
        self.make("deep", number=50_000)
        node = self.json("report", "deep.ledger", "-v", "tree")["threads"][0]["root"]
        self.assertEqual(node["cum"]["cpu_ns"], 50_000_000)
        depth = 0
        while node["children"]:
            node = node["children"][0]
            depth += 1
        self.assertEqual(depth, 50_000)
        self.assertEqual(node["recursion"], 16_666)
        text = self.treadle("report", "deep.ledger", "-v", "tree")
        self.assertLess(max(map(len, text.splitlines())), 300)


class FlatAndCallers(bench.Bench):
    def setUp(self):
        super().setUp()
        self.make("plain")

    def test_flat(self):
        self.assertEqual(self.treadle("report", "plain.ledger", "--view", "flat"), """\
Methods, Base (of which Share) and Cum in cpu, 4 of 4 threads
    Calls       Base        Cum    Share  Name
        6    2.350 s    2.550 s   47.0 %  demo.Main.work
        0    1.400 s    5.000 s   28.0 %  (thread)
      107    1.000 s    1.000 s   20.0 %  demo.Main.fib
        1     200 ms    1.000 s    4.0 %  demo.Main.main
        0    50.0 ms    50.0 ms    1.0 %  (between Java threads)
""")
        methods = self.json("report", "plain.ledger", "-v", "flat")["methods"]
        fib = methods[2]
        self.assertEqual(list(fib), ["class", "method", "signature", "calls", "base", "cum", "share_ppm"])
        self.assertEqual(fib["share_ppm"], 200_000)
        self.assertEqual((fib["calls"], fib["base"]["cpu_ns"], fib["cum"]["cpu_ns"]),
                         (107, 1000 * MS, 1000 * MS))
        self.assertEqual(self.csv("report", "plain.ledger", "-v", "flat")[0]["base_cpu_ns"],
                         str(2350 * MS))
        methods = self.json("report", "plain.ledger", "-v", "flat", "-t", "main")["methods"]
        self.assertEqual({m["method"]: m["calls"] for m in methods},
                         {"(thread)": 0, "main": 1, "fib": 100, "work": 2})
        methods = self.json("report", "plain.ledger", "-v", "flat", "--sort", "calls",
                            "--top", "1")["methods"]
        self.assertEqual([m["method"] for m in methods], ["fib"])

    def test_callers_text(self):
        text = self.treadle("report", "plain.ledger", "--view", "callers")
        self.assertIn("""
       10     300 ms     800 ms   16.0 %      demo.Main.main
        7     200 ms     200 ms    4.0 %      demo.Main.work
       90     500 ms          0      0 %      demo.Main.fib
      107    1.000 s    1.000 s   20.0 %  demo.Main.fib
       90     500 ms          0      0 %      demo.Main.fib
""", text)

    def check_rules(self, methods):
        for stanza in methods:
            own, parents, children = stanza["self"], stanza["parents"], stanza["children"]
            self.assertEqual(sum(p["calls"] for p in parents), own["calls"])
            for metric in own["base"]:
                self.assertEqual(sum(p["base"][metric] for p in parents), own["base"][metric])
                self.assertEqual(sum(p["cum"][metric] for p in parents), own["cum"][metric])
                self.assertEqual(sum(c["cum"][metric] for c in children),
                                 own["cum"][metric] - own["base"][metric])

    def test_callers_json(self):
        methods = self.json("report", "plain.ledger", "-v", "callers")["methods"]
        self.assertEqual([stanza["self"]["method"] for stanza in methods],
                         ["work", "main", "fib", "(between Java threads)"])
        self.assertEqual(methods[1]["parents"][0]["method"], "(thread)")
        self.check_rules(methods)
        self.make("deep", number=3000)
        self.check_rules(self.json("report", "deep.ledger", "-v", "callers")["methods"])

    def test_callers_csv(self):
        rows = self.csv("report", "plain.ledger", "-v", "callers", "--top", "1")
        self.assertEqual([(row["role"], row["method"], row["calls"]) for row in rows],
                         [("parent", "(thread)", "4"), ("parent", "main", "2"),
                          ("self", "work", "6"), ("child", "fib", "7")])


if __name__ == "__main__":
    bench.main()
