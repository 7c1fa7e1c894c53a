"""A method that a burst of calls silenced is heard again once it is called seldom and the budget has room: from then on
every call is in the tree. The calls in between are counted, so that the report knows them all."""

import json
import time

import harness
from running import running

LEAST_CALLS = 48  # of a method before it can fall silent: agent/methods/hook_quota.h
TRIES = 60


def heard_again(test):
    with running(test, "HeardAgain", agent=test.agent_option(events="instrument", overhead="10%")) as program:
        test.check(program.ask("burst 100") == "100", "the burst")
        muted = explained(test, program, 100)
        test.check(muted["hook"] == "muted" and muted["calls"] == 100, f"after the burst: {muted}")
        test.check(0 < muted["counted"]["calls"] <= 100 - LEAST_CALLS, f"after the burst: {muted}")
        true = until_heard(test, program)
        before = explained(test, program, true)
        test.check(before["hook"] == "again" and "hooked" not in before, f"heard again: {before}")
        test.check(before["calls"] == true, f"{true} calls: {before}")
        program.ask("slow 20")
        after = explained(test, program, true + 20)
        test.check(after["calls"] == before["calls"] + 20, f"20 calls more: {before}, {after}")
        for name in ("HeardAgain.visit()V", "HeardAgain.v*"):
            found = [method["signature"] for method in described(test, program, name)]
            test.check(found == ["()V"], f"by the name {name}: {found}")
        test.check(program.treadle("report", "--explain", "HeardAgain.visit(I)V").status == 1, "no such descriptor")
        program.end()


def until_heard(test, program):
    for _ in range(TRIES):
        true = int(program.ask("slow 10"))
        if explained(test, program)["hook"] == "again":
            return true
    test.check(False, f"never heard again: {explained(test, program)}")
    return 0


def explained(test, program, calls=0):
    """With as many calls, at least: a live ledger has what was counted up to the last second."""
    until = time.monotonic() + 20
    while True:
        method = described(test, program, "HeardAgain.visit")[0]
        if method["calls"] >= calls or time.monotonic() > until:
            return method
        time.sleep(0.05)


def described(test, program, name):
    done = program.treadle("report", "--explain", name, "--json")
    test.check(done.status == 0, f"report --explain {name}: {done}")
    return json.loads(done.out)["methods"]


if __name__ == "__main__":
    harness.main(heard_again)
