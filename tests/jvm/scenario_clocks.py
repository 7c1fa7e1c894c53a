"""Each of the three clocks by name: trees, shares and balance are right with all of them."""

import harness
import run_program


def clocks(test):
    plain = test.java("KnownShares")
    for clock in ("rseq", "perf", "plain"):
        test.ledger.unlink(missing_ok=True)
        agent = test.agent_option(include="KnownShares.*", clock=clock)
        traced = test.java("KnownShares", agent=agent)
        line = test.same_for_application(plain, traced, f"clock={clock}")
        views = test.checked_report()
        used = views["threads"]["balance"]["clock"]
        test.check(used == clock or clock in line,
                   f"clock={clock}: the clock is {used}, and nothing says why")
        run_program.check_shares(test, views, run_program.expect_lines(traced.out, "share"))
        test.close_balance(views)


if __name__ == "__main__":
    harness.main(clocks)
