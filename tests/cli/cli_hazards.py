"""treadle report --view hazards, and --check hazards, on the ledgers that make_ledger calls hazards and harmless."""
import bench

MS = 1_000_000
S = 1000 * MS
EPOCH = 1_700_000_000 * S
LOCK = "java.util.concurrent.locks.ReentrantLock$NonfairSync"
RUN = ["app.Main.run"]

# What hazards_drawing.h draws, at 10 s; what is over, makes no sense or is no hazard there is in none of these.
DEADLOCKS = [
    {"threads": ["pay-1", "pay-2"], "locks": [LOCK + "@7b", "app.Account@4d2"], "thread_ids": [40, 41],
     "paths": [["app.Pay.from", "java.util.concurrent.locks.ReentrantLock.lock"], ["app.Main.run", "app.Pay.to"]],
     "waiting_ns": [3 * S, 2 * S], "since_ns": EPOCH + 8 * S, "found_ns": EPOCH + 8 * S, "ends_by_itself": False,
     "behind": [False, False]},
    {"threads": ["try-1", "try-2"], "locks": ["(class not known)", "app.Try@9"], "thread_ids": [40, 41],
     "paths": [["app.Try.now"], ["app.Try.soon"]], "waiting_ns": [None, S], "since_ns": None,
     "found_ns": EPOCH + S, "ends_by_itself": True, "behind": [False, False]},
    {"threads": ["up"], "locks": ["app.Read@3"], "thread_ids": [40], "paths": [["app.Read.up"]], "waiting_ns": [S],
     "since_ns": EPOCH + 9 * S, "found_ns": EPOCH + 10 * S, "ends_by_itself": False, "behind": [False]},
    {"threads": ["turn-1", "turn-2"], "locks": ["app.Read@4", "app.Read@4"], "thread_ids": [40, 41], "paths": [[], []],
     "waiting_ns": [S, S], "since_ns": EPOCH + 9 * S, "found_ns": EPOCH + 10 * S, "ends_by_itself": False,
     "behind": [True, False]},
]
ORDERS = [{"locks": ["A@41", "B@42"], "threads": ["left", "right"], "counts": [3, 3], "locks_known": True,
           "paths": [["app.L.outer", "app.L.inner"], ["app.R.outer", "app.R.inner"]]}]
INVERSIONS = [{"lock": "app.Rank@1", "waiter": "high", "waiter_priority": 8, "holder": "low", "holder_priority": 2,
               "count": 2, "wait_ns": 40 * MS, "wait_max_ns": 30 * MS, "paths": [RUN, RUN]}]
CONVOYS = [{"lock": "app.Till@6", "count": 6000, "wait_ns": 16 * S, "hold_ns": 6 * S, "paths": [RUN, RUN]}]
KINDS = {"deadlocks": DEADLOCKS, "lock_order": ORDERS, "inversions": INVERSIONS, "convoys": CONVOYS}


class Hazards(bench.Bench):
    def setUp(self):
        super().setUp()
        self.make("hazards")
        self.make("harmless")
        self.make("plain")

    def test_text(self):
        self.assertEqual(self.treadle("report", "hazards.ledger", "--view", "hazards"), f"""\
lost      3 hazards not recorded: deadlocks, or orders of locks
lost      12 waits for locks in which deadlocks are not found: no room

What is wrong with locks

Deadlock of 2 threads, for 2.000 s
  pay-1, for 3.000 s, waits for {LOCK}@7b, held by pay-2
    in java.util.concurrent.locks.ReentrantLock.lock < app.Pay.from
  pay-2, for 2.000 s, waits for app.Account@4d2, held by pay-1
    in app.Pay.to < app.Main.run

Deadlock of 2 threads, which will end by itself
  try-1, waits for (class not known), held by try-2
    in app.Try.now
  try-2 (virtual), for 1.000 s, for some time only, waits for app.Try@9, held by try-1
    in app.Try.soon

Deadlock of 1 thread, for 1.000 s
  up, for 1.000 s, waits for app.Read@3, held by itself
    in app.Read.up

Deadlock of 2 threads, for 1.000 s
  turn-1, for 1.000 s, waits for app.Read@4, in the queue behind turn-2
    in (no method)
  turn-2, for 1.000 s, waits for app.Read@4, held by turn-1
    in (no method)

Two locks were taken in both orders
  left took B@42 while it held A@41
    in app.L.inner < app.L.outer
    held since app.L.outer
  right took A@41 while it held B@42
    in app.R.inner < app.R.outer
    held since app.R.outer

Priority inversion
  high (priority 8) waited for app.Rank@1, held by low (priority 2), 2 times, 40.0 ms, 30.0 ms at most
    in app.Main.run
    held in app.Main.run

Convoy
  app.Till@6: 6 000 waits, 16.00 s in all; somebody waited for 6.000 s, a turn took 1.00 ms
    waits in app.Main.run
    held in app.Main.run

""")

    def test_json(self):
        view = self.json("report", "hazards.ledger", "--view", "hazards")
        self.assertEqual({kind: view[kind] for kind in KINDS}, KINDS)
        self.assertEqual(view["looked_at"], {"waits": 9000, "orders": 11, "ended_deadlocks": 1})
        self.assertEqual([loss["count"] for loss in view["losses"]], [3, 12])

    def test_csv(self):
        rows = self.csv("report", "hazards.ledger", "--view", "hazards")
        self.assertEqual([(row["hazard"], row["thread"], row["lock"], row["held"]) for row in rows], [
            ("deadlock", "pay-1", LOCK + "@7b", "app.Account@4d2"),
            ("deadlock", "pay-2", "app.Account@4d2", LOCK + "@7b"),
            ("deadlock", "try-1", "(class not known)", "app.Try@9"),
            ("deadlock", "try-2", "app.Try@9", "(class not known)"),
            ("deadlock", "up", "app.Read@3", "app.Read@3"),
            ("deadlock", "turn-1", "app.Read@4", "app.Read@4"),
            ("deadlock", "turn-2", "app.Read@4", ""),
            ("lock_order", "left", "B@42", "A@41"),
            ("lock_order", "right", "A@41", "B@42"),
            ("inversion", "high", "app.Rank@1", ""),
            ("convoy", "", "app.Till@6", ""),
        ])

    def test_check(self):
        """The hazards are printed, one line says why the status is 3."""
        done = self.run_treadle("report", "hazards.ledger", "--check", "hazards")
        self.assertEqual(done.returncode, 3)
        self.assertEqual(done.stdout.decode(), self.treadle("report", "hazards.ledger", "-v", "hazards"))
        self.assertEqual(done.stderr.decode(), "treadle: hazards.ledger: has hazards: deadlocks 4, pairs of locks in "
                                               "both orders 1\n")
        done = self.run_treadle("report", "hazards.ledger", "--check", "hazards", "--view", "threads", "--json")
        self.assertEqual((done.returncode, b'"threads"' in done.stdout), (3, True))

    def test_check_of_what_is_harmless(self):
        """A deadlock that will end by itself, inversions and convoys are shown, and are no reason for status 3."""
        text = self.treadle("report", "harmless.ledger", "--check", "hazards")
        for shown in ("which will end by itself", "Priority inversion", "Convoy", "No locks in both orders: 0 orders"):
            self.assertIn(shown, text)

    def test_without_waits(self):
        self.assertIn("(not looked for: hazards need waits=on)\n",
                      self.treadle("report", "plain.ledger", "--check", "hazards"))
        view = self.json("report", "plain.ledger", "-v", "hazards")
        self.assertEqual([view[kind] for kind in KINDS], [[], [], [], []])

    def test_merge(self):
        """Hazards of two processes stay apart; names get their prefix, times move to the earlier process's zero."""
        self.treadle("merge", "-o", "both.ledger", "hazards.ledger", "harmless.ledger")
        view = self.json("report", "both.ledger", "-v", "hazards")
        deadlocks = view["deadlocks"]
        self.assertEqual([[name.rpartition("] ")[2] for name in deadlock["threads"]] for deadlock in deadlocks],
                         [["pay-1", "pay-2"], ["try-1", "try-2"], ["up"], ["turn-1", "turn-2"], ["try-1", "try-2"]])
        self.assertEqual(deadlocks[0]["threads"][0], "[pid 4242 demo.Main] pay-1")
        self.assertEqual(len(view["lock_order"]), 1)
        self.assertEqual(view["losses"][0]["count"], 3)

    def test_usage(self):
        self.assertIn("hazard", self.treadle("report", "plain.ledger", "--check", "hazard", status=2))


if __name__ == "__main__":
    bench.main()
