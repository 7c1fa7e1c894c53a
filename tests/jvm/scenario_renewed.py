"""A method that was called so often that it is off gets hooks again once the compilers are quiet and the budget has
saved up for the change of its class, and at every start: from then on every call is in the tree, and the report says
that the earlier ones are so many at least."""

import json

import harness
from running import running

TRIES = 90  # of a second each


def renewed(test):
    by_budget(test)
    by_start(test)


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
