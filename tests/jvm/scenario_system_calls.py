"""Sleeps, time-outs, sockets, selectors, child processes and file locks do under samples what they do without:
the same results, no exception, nothing that returns too early."""

import harness
import sampled

HOW = ({"sample": "cpu", "interval": "100us"}, {"sample": "wall", "interval": "1ms"})


def system_calls(test):
    plain = run(test, "plain.lock")
    test.check(plain.status == 0 and " after " not in plain.out, f"without the agent: {plain}")
    for number, how in enumerate(HOW):
        lock = f"{number}.lock"
        sampled.check_unless_chance(test, lambda _, lock=lock, how=how: undisturbed(test, plain, lock, how))


def undisturbed(test, plain, lock, how):
    test.ledger.unlink(missing_ok=True)
    traced = run(test, lock, agent=test.agent_option(events="none", **how))
    test.same_for_user(plain, traced, f"{how}")
    views = test.checked_report()
    told = sampled.check_books(test, views, f"{how}")
    print(f"{how}: {told}")
    test.check(told["mode"] == how["sample"], f"{how}: {told}")
    test.check_likely(told["taken"] > 100, "few", f"{how}: few samples: {told}")


def run(test, lock, agent=None):
    return test.java("SystemCalls", test.scratch / lock, agent=agent)


if __name__ == "__main__":
    harness.main(system_calls)
