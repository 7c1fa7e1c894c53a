"""treadle report --view waits on the ledger that make_ledger calls waits, and on one without reasons."""
import bench

MS = 1_000_000
PARTS = ["cpu_ns", "runnable_ns", "monitor_ns", "object_wait_ns", "park_ns", "sleep_ns", "io_ns", "fault_ns",
         "safepoint_ns", "unmounted_ns", "unknown_ns"]

# What make_ledger draws, in ms; the rest of the wall time is unknown. `over` has more park than it waited, `reader` more
# time in the run queue than its wait for I/O leaves.
DRAWN = {
    "main": (1000, {"cpu_ns": 100, "runnable_ns": 100, "monitor_ns": 200, "object_wait_ns": 100, "park_ns": 300,
                    "sleep_ns": 50, "io_ns": 100, "unknown_ns": 50}),
    "pool-1": (1010, {"cpu_ns": 10, "park_ns": 900, "unknown_ns": 100}),
    "pool-2": (520, {"cpu_ns": 20, "monitor_ns": 10, "park_ns": 490}),
    "reader": (950, {"cpu_ns": 50, "runnable_ns": 100, "io_ns": 800}),
    "over": (20, {"cpu_ns": 10, "park_ns": 10}),
}


def drawn(name):
    wall, parts = DRAWN[name]
    return wall * MS, {part: parts.get(part, 0) * MS for part in PARTS}


class Waits(bench.Bench):
    def setUp(self):
        super().setUp()
        self.make("waits")

    def text(self, *arguments):
        return self.treadle("report", "waits.ledger", "-v", "waits", *arguments)

    def test_text(self):
        self.assertEqual(self.text(), """\
What wall time consists of

THREAD  KIND         WALL      CPU  RUNNABLE  MONITOR  OBJECT WAIT     PARK    SLEEP     I/O  UNKNOWN  PARTS
pool-1  virtual   1.010 s  10.0 ms         0        0            0   900 ms        0       0   100 ms  pppppppppppppppppp..
main    platform  1.000 s   100 ms    100 ms   200 ms       100 ms   300 ms  50.0 ms  100 ms  50.0 ms  ##rrmmmmwwppppppsii.
reader  platform   950 ms  50.0 ms    100 ms        0            0        0        0  800 ms        0  #rriiiiiiiiiiiiiiiii
pool-2  virtual    520 ms  20.0 ms         0  10.0 ms            0   490 ms        0       0        0  #ppppppppppppppppppp
over    platform  20.0 ms  10.0 ms         0        0            0  10.0 ms        0       0        0  ##########pppppppppp
parts: # CPU, r runnable, m monitor, w Object.wait, p park, s sleep, i I/O, . unknown
the kernel's figures: CPU, runnable; measured from begin to end: monitor, Object.wait, park, sleep, I/O; what is left: unknown
""")

    def test_stops_and_unmounted_time(self):
        self.make("stops")
        text = self.treadle("report", "stops.ledger", "-v", "waits")
        self.assertRegex(text, r"\nTHREAD .* I/O  SAFEPOINT  UNMOUNTED  UNKNOWN  PARTS\n")
        self.assertRegex(text, r"\ncomputer +platform +200 ms +100 ms +20\.0 ms( +0){5} +60\.0 ms +0 +20\.0 ms +#{10}rrg{6}\.\.\n")
        self.assertRegex(text, r"\npool-3 +virtual +100 ms +20\.0 ms( +0){3} +50\.0 ms( +0){3} +30\.0 ms +0 +####p{10}u{6}\n")
        self.assertIn(", i I/O, g safepoint, u unmounted, . unknown\n", text)
        waits = {thread["name"]: thread["waits"]
                 for thread in self.json("report", "stops.ledger", "-v", "waits")["threads"]}
        self.assertEqual((waits["computer"]["safepoint_ns"], waits["pool-3"]["unmounted_ns"]), (60 * MS, 30 * MS))

    def test_waits_that_the_budget_had_no_room_for(self):
        self.make("stops")
        text = self.treadle("report", "stops.ledger", "-v", "waits")
        self.assertTrue(text.endswith("""
5.0 % of the waits are in UNKNOWN: the budget had no room for their reasons (overhead=)
30.0 % of the waits are waits of virtual threads without a reason, in UNMOUNTED, or in UNKNOWN where the carrier waited, too: \
the budget had no room for them (overhead=)
15.0 % of the waits have the time from begin to end, with the CPU time in between: the budget had no room for more (overhead=)
"""), text)
        self.assertEqual(self.run_treadle("merge", "-o", "all.ledger", "waits.ledger", "stops.ledger").returncode, 0)
        for ledger in ("stops", "all"):
            budget = self.json("report", f"{ledger}.ledger", "-v", "waits")["budget"]
            self.assertEqual([budget[key] for key in ("heard_waits", "unheard_waits", "timed_waits", "unheard_virtual_waits")],
                             [100, 100, 30, 60])

    def test_json(self):
        threads = self.json("report", "waits.ledger", "-v", "waits")["threads"]
        self.assertEqual([thread["name"] for thread in threads], ["pool-1", "main", "reader", "pool-2", "over"])
        for thread in threads:
            self.assertEqual((thread["wall_ns"], thread["waits"]), drawn(thread["name"]))
            self.assertEqual(list(thread["waits"]), PARTS)
            self.assertEqual(sum(thread["waits"].values()), thread["wall_ns"])

    def test_csv(self):
        rows = self.csv("report", "waits.ledger", "-v", "waits", "--sort", "name")
        self.assertEqual([row["thread"] for row in rows], ["main", "over", "pool-1", "pool-2", "reader"])
        for row in rows:
            self.assertEqual((int(row["wall_ns"]), {part: int(row[part]) for part in PARTS}), drawn(row["thread"]))

    def test_fold_and_top(self):
        pool = self.json("report", "waits.ledger", "-v", "waits", "--fold", "--top", "1")["threads"]
        self.assertEqual([(row["name"], row["count"], row["wall_ns"], row["waits"]["park_ns"]) for row in pool],
                         [("pool-#", 2, 1530 * MS, 1390 * MS)])
        self.assertIn("\npool-# ×2 ", self.text("--fold"))
        self.assertIn("(4 more, not shown)\n", self.text("--top", "1"))

    def test_sort(self):
        self.assertRegex(self.text("--sort", "cpu"), r"\nmain .*\nreader .*\npool-2 .*\npool-1 .*\nover ")
        self.assertRegex(self.text("--sort", "park"), r"\npool-1 .*\npool-2 .*\nmain .*\nover .*\nreader ")
        self.assertRegex(self.text("--sort", "io_wait"), r"\nreader .*\nmain .*\npool")
        self.assertIn("there are ", self.treadle("report", "waits.ledger", "-v", "waits", "--sort", "qqqqq", status=2))

    def test_reasons_are_metrics_like_any_other(self):
        tree = self.json("report", "waits.ledger", "-v", "tree", "-t", "main")["threads"][0]["root"]
        self.assertEqual([tree["cum"][metric] for metric in ("monitor_wait", "object_wait", "park", "sleep",
                                                           "io_wait")],
                         [200 * MS, 100 * MS, 300 * MS, 50 * MS, 100 * MS])
        self.assertIn("300 ms", self.treadle("report", "waits.ledger", "-v", "tree", "-t", "main", "-m", "park"))
        self.assertIn("park_ns", self.csv("report", "waits.ledger")[0])

    def test_without_reasons(self):
        self.make("plain")
        text = self.treadle("report", "plain.ledger", "-v", "waits")
        self.assertRegex(text, r"\nmain +platform +2\.200 s +1\.100 s +6\.00 ms +- +- +- +- +- +1\.094 s ")
        for thread in self.json("report", "plain.ledger", "-v", "waits")["threads"]:
            self.assertEqual(sum(thread["waits"].values()), thread["wall_ns"])
        self.assertIn("has no park: it needs waits=on",
                      self.treadle("report", "plain.ledger", "-v", "tree", "-m", "park", status=1))


if __name__ == "__main__":
    bench.main()
