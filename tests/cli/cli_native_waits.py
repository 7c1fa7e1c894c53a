"""Why threads of programs without a JVM wait: tests/preload/waiting.c knows of each of its waits between how much and how
much it took."""
import unittest

import cli_native

FLAGS = ["-O1", "-g", "-D_GNU_SOURCE", "-pthread"]
ROUNDS = 5
REASONS = {"io_ns", "park_ns", "sleep_ns"}
# The one that is left by a jump out of its read sleeps afterwards.
SLEEPS_TOO = "left-read"
OFTEN = 200_000
NAPS = 200


class Waits(cli_native.Native):
    def waits(self, *arguments, options):
        """What the program said, the view of waits, and each thread's parts."""
        program = self.compile("waiting.c", *FLAGS)
        said, ledger = self.profile(program, *arguments, options=options)
        if isinstance(ledger, list): # its children have some, too
            ledger = max(ledger, key=lambda name: self.json("report", name)["process"]["wall_ns"])
        self.ledger = ledger
        view = self.json("report", ledger, "--view", "waits")
        return said, view, {thread["name"]: thread["waits"] for thread in view["threads"]}

    def check_ways(self, options):
        said, view, parts = self.waits(str(ROUNDS), options=options)
        ways = [line.split() for line in said.splitlines()]
        self.assertEqual(len(ways), 22)
        for name, reason, least, most in ways:
            got = parts[name][f"{reason}_ns"]
            self.assertGreaterEqual(got, int(least) * 0.99 - 50_000, (name, parts[name]))
            self.assertLessEqual(got, int(most) * 1.01 + 50_000, (name, parts[name]))
            for other in REASONS - {f"{reason}_ns"}:
                if name != SLEEPS_TOO or other != "sleep_ns":
                    self.assertLess(parts[name][other], 50_000, (name, parts[name]))
        self.assertGreaterEqual(parts[SLEEPS_TOO]["sleep_ns"], ROUNDS * 3_000_000)
        for view_of_locks in ("locks", "blockers"):
            self.assertIn("(no waits for locks: they need a JVM)", self.treadle("report", self.ledger, "--view", view_of_locks))
        for thread in view["threads"]:
            self.assertEqual(sum(thread["waits"].values()), thread["wall_ns"], thread)

    def test_each_wait_has_its_reason_and_its_time(self):
        self.check_ways(("-O", "overhead=50%"))

    def test_without_a_budget_if_asked_for(self):
        self.check_ways(("--exact", "-O", "waits=on"))

    def test_waits_for_the_profiler_have_no_reason(self):
        _, ledger = self.profile("true", options=("-O", "waits=on"))
        (main,) = [thread for thread in self.json("report", ledger, "--view", "waits")["threads"] if thread["name"] == "true"]
        self.assertEqual(main["waits"]["park_ns"], 0)

    def test_off(self):
        for options in (("--exact",), ("-O", "waits=off")):
            _, _, parts = self.waits("1", options=options)
            for name, waits in parts.items():
                self.assertFalse(any(waits[reason] for reason in REASONS), (name, waits))

    def test_what_the_budget_has_no_room_for_is_counted(self):
        _, view, parts = self.waits("often", str(OFTEN), options=())
        budget = view["budget"]
        # A few more of the library's and the program's start.
        self.assertLess(abs(budget["unheard_waits"] - 2 * OFTEN - NAPS), 100, budget)
        self.assertLessEqual(budget["timed_waits"], budget["unheard_waits"])
        # Where waits become few again they are timed again: not in the tenth of a second in which they did, nor in the next.
        self.assertGreater(parts["waiting"]["sleep_ns"], (NAPS - 60) * 5_000_000, parts["waiting"])
        _, view, _ = self.waits("often", str(OFTEN), options=("--exact", "-O", "waits=on"))
        budget = view["budget"]
        self.assertEqual(budget["timed_waits"], budget["unheard_waits"])

    def test_a_wrong_word(self):
        program = self.compile("waiting.c", *FLAGS)
        self.profile(program, "1", options=("-O", "waits=of"), status=1)
        self.assertIn("bad value 'of'; did you mean off?", self.complaints)


if __name__ == "__main__":
    unittest.main()
