"""treadle report --view blockers on the ledger that make_ledger calls cascade (cascade_drawing.h): waits followed to who
really ran. The numbers were worked out on paper:

    50 ms middle > disk        40 of I/O, 10 of CPU, as disk's time in take is 80 to 20
    40 ms first > middle       20 of middle's CPU, and 20 > disk: 16 of I/O, 4 of CPU; over app.Queue
     8 ms first > middle        4 of middle's CPU, and  4 > disk: 3.2 of I/O, 0.8 of CPU; over app.Row
    70 ms self > disk          56 of I/O, 14 of CPU
    10 ms late > self          10 of self's CPU: self has the lock that it waited for before
    10 ms x > y, and y > x     in a cycle
     5 ms lost                 for nobody knows whom"""
import struct

import bench

US = 1000
MS = 1000 * US

DISK, QUEUE, ROW = "app.Disk", "app.Queue", "app.Row"
RAN = [
    ("disk", "io", 115_200 * US, 96 * MS, ["app.Main.run", "app.Queue.take"]),
    ("disk", "cpu", 28_800 * US, 24 * MS, ["app.Main.run", "app.Queue.take"]),
    ("middle", "cpu", 24 * MS, 24 * MS, ["app.Main.run", "app.Queue.put"]),
    ("self", "cpu", 10 * MS, 10 * MS, ["app.Main.run", "app.Queue.put"]),
    ("x", "cycle", 10 * MS, 10 * MS, ["app.Main.run", "app.Queue.put"]),
    ("y", "cycle", 10 * MS, 10 * MS, ["app.Main.run", "app.Queue.put"]),
    ("lost", "owner_unknown", 5 * MS, 5 * MS, []),
]
FOLLOWED = {
    ("self disk", QUEUE, "io"): 56 * MS, ("self disk", QUEUE, "cpu"): 14 * MS,
    ("middle disk", DISK, "io"): 40 * MS, ("middle disk", DISK, "cpu"): 10 * MS,
    ("first middle", QUEUE, "cpu"): 20 * MS, ("first middle", ROW, "cpu"): 4 * MS,
    ("first middle disk", QUEUE + " " + DISK, "io"): 16 * MS, ("first middle disk", QUEUE + " " + DISK, "cpu"): 4 * MS,
    ("first middle disk", ROW + " " + DISK, "io"): 3200 * US, ("first middle disk", ROW + " " + DISK, "cpu"): 800 * US,
    ("late self", QUEUE, "cpu"): 10 * MS, ("x y", "app.X", "cycle"): 10 * MS, ("y x", "app.Y", "cycle"): 10 * MS,
    ("lost", "", "owner_unknown"): 5 * MS,
}


class Blockers(bench.Bench):
    def setUp(self):
        super().setUp()
        self.make("cascade")
        self.view = self.json("report", "cascade.ledger", "-v", "blockers")

    def test_who_ran(self):
        self.assertEqual([(row["thread"], row["does"], row["wait_ns"], row["direct_ns"], row["path"])
                          for row in self.view["ran"]], RAN)

    def test_chains(self):
        found = {(" ".join(chain["threads"]), " ".join(chain["locks"]), chain["does"]): chain["wait_ns"]
                 for chain in self.view["followed"]}
        self.assertEqual(found, FOLLOWED)
        lasts = {" ".join(chain["threads"]): chain["last_lock"] for chain in self.view["followed"] if chain["last_lock"]}
        self.assertEqual(lasts, {"x y": "app.Y", "y x": "app.X", "lost": ROW})
        weights = [chain["wait_ns"] for chain in self.view["followed"]]
        self.assertEqual(weights, sorted(weights, reverse=True))

    def test_nothing_is_lost_and_nothing_counts_twice(self):
        waits_ns = sum(edge["wait_ns"] for edge in self.view["edges"])
        self.assertEqual(waits_ns, 203 * MS)
        self.assertEqual(sum(row["wait_ns"] for row in self.view["ran"]), waits_ns)
        self.assertEqual(sum(chain["wait_ns"] for chain in self.view["followed"]), waits_ns)

    def test_knots(self):
        self.assertEqual(self.view["knots"], [{"kind": "cycle", "threads": ["x", "y"], "wait_ns": 20 * MS}])

    def test_text(self):
        text = self.treadle("report", "cascade.ledger", "-v", "blockers")
        lines = [line.rstrip() for line in text[text.index("Who really ran"):].splitlines()]
        self.assertEqual(lines[:13], [
            "Who really ran",
            "the same waits, followed from lock to lock; inferred from what a blocker's time consists of where it stood",
            "",
            "WHO RAN  DOES           EXPLAINS   DIRECT  CHAIN",
            "disk     io               115 ms  96.0 ms  self > disk",
            "disk     cpu             28.8 ms  24.0 ms  self > disk",
            "middle   cpu             24.0 ms  24.0 ms  first > middle",
            "self     cpu             10.0 ms  10.0 ms  late > self",
            "x        cycle           10.0 ms  10.0 ms  y > x",
            "y        cycle           10.0 ms  10.0 ms  x > y",
            "lost     owner_unknown   5.00 ms  5.00 ms  lost",
            "cycle, 20.0 ms of waits for one another: x, y",
        ][:13] + lines[12:13])

    def test_times_that_no_integer_holds_shares_of(self):
        self.make("cascade")
        with open(self.path("cascade.ledger"), "rb") as file:
            octets = file.read()
        for ms in (5, 8, 10, 20, 40, 50, 70, 80):
            for wrong in (2**63, 2**64 - 1):
                with open(self.path("damaged.ledger"), "wb") as file:
                    file.write(octets.replace(struct.pack("<Q", ms * 1_000_000), struct.pack("<Q", wrong)))
                for view in ("blockers", "locks"):
                    for how in ((), ("--json",), ("--csv",)):
                        self.treadle("report", "--view", view, *how, "damaged.ledger")

    def test_of_one_waiter(self):
        view = self.json("report", "cascade.ledger", "-v", "blockers", "-t", "self")
        self.assertEqual([(row["thread"], row["does"], row["wait_ns"]) for row in view["ran"]], [("disk", "io", 56 * MS), ("disk", "cpu", 14 * MS)])
        self.assertEqual(view["knots"], [])


if __name__ == "__main__":
    bench.main()
