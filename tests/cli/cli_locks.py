"""treadle report --view locks and --view blockers on the ledger that make_ledger calls locks, and on one without them."""
import bench

MS = 1_000_000
S = 1000 * MS

# What locks_drawing.h draws; the wait of pool-2 that is under way has 1 s, from 9 s to the ledger's end at 10 s.
SEMAPHORE = "java.util.concurrent.Semaphore$NonfairSync"
RUN, PUT, TAKE = "app.Main.run", "app.Queue.put", "app.Queue.take"
NO_HOLDS = {"holds": 0, "hold_ns": 0, "hold_max_ns": 0, "hold_p99_ns": 0, "held_ppm": 0}
NOT_KNOWN = {"acquisitions": None, "recursion_max": None}
LOCKS = [
    {"class": SEMAPHORE, "identity": "7b", "kind": "park", "contentions": 2, "wait_ns": 3 * S, "wait_max_ns": 2 * S,
     "wait_p99_ns": 2 * S, "blocked_ns": 0, "blocked_max_ns": 0, "owner_unknown": 2, **NO_HOLDS,
     "acquisitions": 500, "recursion_max": 0,
     "waiters": [{"path": [RUN], "wait_ns": 3 * S}], "blockers": [{"path": [], "blocked_ns": 0}], "holders": []},
    {"class": "app.Queue", "identity": "4d2", "kind": "monitor", "contentions": 17, "wait_ns": 1153 * MS,
     "wait_max_ns": S, "wait_p99_ns": S, "blocked_ns": 90 * MS, "blocked_max_ns": 30 * MS, "owner_unknown": 1,
     "holds": 4, "hold_ns": 200 * MS, "hold_max_ns": 90 * MS, "hold_p99_ns": 90 * MS, "held_ppm": 20_000,
     "acquisitions": None, "recursion_max": 2,
     "waiters": [{"path": [RUN, TAKE], "wait_ns": 1050 * MS}, {"path": [RUN, PUT], "wait_ns": 103 * MS}],
     "blockers": [{"path": [RUN, TAKE], "blocked_ns": 90 * MS}, {"path": [], "blocked_ns": 0}],
     "holders": [{"path": [RUN, TAKE], "hold_ns": 200 * MS}]},
    {"class": "app.Row", "identity": None, "kind": "monitor", "contentions": 1000, "wait_ns": 5 * MS,
     "wait_max_ns": MS, "wait_p99_ns": 8000, "blocked_ns": 4 * MS, "blocked_max_ns": MS, "owner_unknown": 0, **NO_HOLDS,
     **NOT_KNOWN,
     "waiters": [{"path": [RUN], "wait_ns": 5 * MS}], "blockers": [{"path": [RUN], "blocked_ns": 4 * MS}], "holders": []},
]
EDGES = [
    ("main", None, SEMAPHORE, 2, 3 * S),
    ("pool-2", "main", "app.Queue", 6, 1050 * MS),
    ("pool-1", "main", "app.Queue", 10, 100 * MS),
    ("worker-#", "worker-#", "app.Row", 1000, 5 * MS),
    ("pool-1", None, "app.Queue", 1, 3 * MS),
]
KEYS = ("waiter", "blocker", "lock", "count", "wait_ns")


def edges(view):
    return [tuple(edge[key] for key in KEYS) for edge in view["edges"]]


class Locks(bench.Bench):
    def setUp(self):
        super().setUp()
        self.make("locks")

    def text(self, view, *arguments):
        lines = self.treadle("report", "locks.ledger", "-v", view, *arguments).splitlines()
        return "".join(line.rstrip() + "\n" for line in lines)

    def view(self, view, *arguments):
        return self.json("report", "locks.ledger", "-v", view, *arguments)

    def test_text_of_locks(self):
        self.assertEqual(self.text("locks"), """\
lost      7 waits for locks not recorded, nor for whom
lost      1 image of native libraries whose waits are not recorded: their calls could not be replaced
lost      2 images of native libraries that are not named where their locks are

Locks that threads waited for
BLOCKED: somebody waited, blocked in: the owner when the wait began. HOLDS: whole, of those that somebody had to wait for, since the lock's class has hooks
ACQUIRED: since hooks tell so, nested acquisitions not counted. RECURSION: how deeply the owner had the lock nested when a wait began, at most. -: not known

LOCK                                           KIND     WAITS     WAIT      P99      MAX  BLOCKED  HOLDS    HOLD  LONGEST   HELD  ACQUIRED  RECURSION  OWNER UNKNOWN
java.util.concurrent.Semaphore$NonfairSync@7b  park         2  3.000 s  2.000 s  2.000 s        0                                      500          0              2
  waits in app.Main.run                                        3.000 s
app.Queue@4d2                                  monitor     17  1.153 s  1.000 s  1.000 s  90.0 ms      4  200 ms  90.0 ms  2.0 %         -          2              1
  waits in app.Queue.take < app.Main.run                       1.050 s
  waits in app.Queue.put < app.Main.run                         103 ms
  blocked in app.Queue.take < app.Main.run                                                90.0 ms
  held until app.Queue.take < app.Main.run                                                                200 ms
app.Row@*                                      monitor  1 000  5.00 ms  8.00 µs  1.00 ms  4.00 ms                                        -          -              0
  waits in app.Main.run                                        5.00 ms
  blocked in app.Main.run                                                                 4.00 ms
25.0 % of all waits, for locks or not, are in none of these numbers: the budget had no room for them (overhead=); those for locks are left out last
at least 1 234 holds that somebody had to wait for, not in HOLDS: no hook told of the begin or of the end; what the budget had no room for is not counted
""")

    def test_text_of_blockers(self):
        self.assertEqual(self.text("blockers"), """\
lost      7 waits for locks not recorded, nor for whom
lost      1 image of native libraries whose waits are not recorded: their calls could not be replaced
lost      2 images of native libraries that are not named where their locks are

Who waited for whom
BLOCKER: the lock's owner when the wait began

WAITER    BLOCKER          LOCK                                        WAITS     WAIT
main      (owner unknown)  java.util.concurrent.Semaphore$NonfairSync      2  3.000 s
pool-2    main             app.Queue                                       6  1.050 s
pool-1    main             app.Queue                                      10   100 ms
worker-#  worker-#         app.Row                                     1 000  5.00 ms
pool-1    (owner unknown)  app.Queue                                       1  3.00 ms

Who really ran
the same waits, followed from lock to lock; inferred from what a blocker's time consists of where it stood

WHO RAN   DOES           EXPLAINS   DIRECT  CHAIN
main      owner_unknown   3.000 s  3.000 s  main
main      unknown         1.150 s  1.150 s  pool-2 > main
worker-#  unknown         5.00 ms  5.00 ms  worker-#
pool-1    owner_unknown   3.00 ms  3.00 ms  pool-1
25.0 % of all waits, for locks or not, are in none of these numbers: the budget had no room for them (overhead=); those for locks are left out last
""")

    def test_json(self):
        self.assertEqual(self.view("locks")["locks"], LOCKS)
        self.assertEqual(self.view("locks")["unseen_holds"], 1234)
        self.assertEqual(edges(self.view("blockers")), EDGES)
        self.assertEqual([loss["count"] for loss in self.view("locks")["losses"]], [7, 1, 2])

    def test_csv(self):
        for view, rows in (("locks", [{key: value for key, value in lock.items() if key not in ("waiters", "blockers", "holders")}
                                      for lock in LOCKS]),
                           ("blockers", [dict(zip(KEYS, edge)) for edge in EDGES])):
            written = self.csv("report", "locks.ledger", "-v", view)
            self.assertEqual(written, [{key: "" if value is None else str(value) for key, value in row.items()}
                                       for row in rows])

    def test_thread_selects_who_waits(self):
        self.assertEqual([(lock["class"], lock["contentions"]) for lock in self.view("locks", "-t", "pool-*")["locks"]],
                         [("app.Queue", 17)])
        self.assertEqual([(lock["class"], lock["acquisitions"], lock["recursion_max"])
                          for lock in self.view("locks", "-t", "main")["locks"]],
                         [(SEMAPHORE, None, 0), ("app.Queue", None, None)])
        self.assertEqual(edges(self.view("blockers", "-t", "pool-2")), EDGES[1:2])

    def test_sort_and_top(self):
        for view, sorts in (("locks", {"hold": "QRS", "blocked": "QRS", "count": "RQS", "max": "SQR", "class": "QRS"}),
                            ("blockers", {"count": "RQQSQ", "waiter": "SQQQR", "lock": "QQQRS"})):
            for sort, expected in sorts.items():
                rows = self.csv("report", "locks.ledger", "-v", view, "--sort", sort)
                names = [(row.get("class") or row["lock"]).rpartition(".")[2][0] for row in rows]
                self.assertEqual("".join(names), expected, (view, sort))
        self.assertIn("(2 more, not shown)\n", self.text("locks", "--top", "1"))
        self.assertIn("(4 more, not shown)\n", self.text("blockers", "--top", "1"))
        self.assertIn("there are ", self.treadle("report", "locks.ledger", "-v", "locks", "--sort", "qq", status=2))

    def test_fold(self):
        self.assertEqual(edges(self.view("blockers", "--fold"))[1],
                         ("pool-#", "main", "app.Queue", 16, 1150 * MS))

    def test_merge(self):
        """A wait that is under way is over in the merge; threads have their process's prefix."""
        self.make("plain")
        self.assertEqual(self.run_treadle("merge", "-o", "all.ledger", "locks.ledger", "plain.ledger").returncode, 0)
        merged = self.json("report", "all.ledger", "-v", "locks")
        self.assertEqual(merged["locks"], LOCKS)
        self.assertEqual(merged["unseen_holds"], 1234)
        self.assertEqual([loss["count"] for loss in merged["losses"]], [7, 1, 2])
        self.assertEqual(self.run_treadle("merge", "-o", "later.ledger", "plain.ledger", "locks.ledger").returncode, 0)
        self.assertEqual(self.json("report", "later.ledger", "-v", "locks")["losses"], merged["losses"])
        waiters = [edge["waiter"] for edge in self.json("report", "all.ledger", "-v", "blockers")["edges"]]
        self.assertEqual(waiters, [f"[pid 4242 demo.Main] {edge[0]}" for edge in EDGES])

    def test_without_waits(self):
        self.make("plain")
        for view, key in (("locks", "locks"), ("blockers", "edges")):
            self.assertIn("(no waits for locks: they need waits=on)\n",
                          self.treadle("report", "plain.ledger", "-v", view))
            self.assertEqual(self.json("report", "plain.ledger", "-v", view)[key], [])
        self.assertEqual(self.json("report", "plain.ledger", "-v", "locks")["unseen_holds"], 0)
        self.assertNotIn("HOLDS:", self.treadle("report", "plain.ledger", "-v", "locks").partition("(no waits")[2])


if __name__ == "__main__":
    bench.main()
