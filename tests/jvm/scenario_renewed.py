"""A method that was called so often that it is off gets hooks again once the compilers are quiet and the budget has
saved up for the change of its class, and at a start: from then on every call is in the tree, and the report says that
the earlier ones are so many at least. At the starts of stops and starts in turns its class is changed four times at
most."""

import json
import re

import harness
from running import running

TRIES = 90  # of a second each
STARTS, CHANGES = 7, 4  # agent/methods/hook_quota.h


def renewed(test):
    by_budget(test)
    by_start(test)
    by_many_starts(test)


def by_budget(test):
    with running(test, "HeardAgain", agent=test.agent_option(events="instrument", overhead="10%")) as program:
        turn_off(test, program)
        true = 0
        for _ in range(TRIES):
            true = int(program.ask("slow 10"))
            if explained(test, program)["hook"] == "again":
                break
        before = explained(test, program)
        test.check(before["hook"] == "again" and before["calls"] < true, f"after {true} calls: {before}")
        check_exact(test, program, "hooked again within the budget")
        program.end()


def by_start(test):
    with running(test, "HeardAgain", agent=test.agent_option(events="instrument", overhead="10%")) as program:
        turn_off(test, program)
        for command in ("stop", "start"):
            done = program.treadle(command)
            test.check(done.status == 0, f"{command}: {done}")
        check_exact(test, program, "started again")
        program.end()


def by_many_starts(test):
    """Off again each time, as long as there are changes."""
    log = test.scratch / "changes.log"
    agent = test.agent_option(events="instrument", overhead="10%", include="HeardAgain.v*")
    with running(test, f"-Xlog:redefine+class+load=info:file={log}", "HeardAgain", agent=agent) as program:
        for number in range(STARTS):
            program.ask("burst 100000")
            row = explained(test, program)
            test.check(row["hook"] == "silenced" or number == 0, f"after the burst: {row}")
            for command in ("stop", "start"):
                program.done(command)
        changes = re.findall(r"redefined name=HeardAgain,", log.read_text(encoding="utf-8"))
        test.check(len(changes) == CHANGES, f"{len(changes)} changes of the class, not {CHANGES}")
        row = explained(test, program)
        test.check(row["hook"] == "silenced", f"after {STARTS} starts: {row}")
        program.end()


def turn_off(test, program):
    true = program.ask("burst 100000")
    off = explained(test, program)
    test.check(true == "100000" and off["hook"] == "silenced" and off["calls"] < 10_000, f"after the burst: {off}")


def check_exact(test, program, what):
    before = explained(test, program)
    program.ask("slow 20")
    after = explained(test, program)
    test.check(after["calls"] == before["calls"] + 20, f"{what}, 20 calls more: {before}, {after}")


def explained(test, program):
    done = program.treadle("report", "--explain", "HeardAgain.visit", "--json")
    test.check(done.status == 0, f"report --explain: {done}")
    return json.loads(done.out)["methods"][0]


if __name__ == "__main__":
    harness.main(renewed)
