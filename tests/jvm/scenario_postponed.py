"""A program that loads more methods than the budget bears: its first methods have hooks, of the later ones the
large, each with every call; others are counted from their first call on, to the call, also when profiling stops
and starts again, and the report says which and how many. Where include= names them they are recorded: from then on
every call is in the tree. With the plan of that run few methods have hooks, every call of which is recorded, and the
rest is postponed; and so it is with the plan of the run that had the plan. Its plan postpones nothing in another
program, and nothing of a program's own that uses the first one as its library. A method with very much code and many variables is postponed at once, and no other for its sake."""

import json
import string
import time

import harness
from running import running

PARTS = 1500
LEFT_OUT = ("silenced", "planned")  # too many calls for the budget of so short a run: its plan leaves them out
METHODS = [*string.ascii_lowercase[:16], "run", "<init>"]  # of a part, beside the large one
FREE = 1000  # methods that get hooks whatever that costs: agent/methods/hook_quota.h
LAST = "Crowd$PartCFR"
BURN_MS = 900
LIVE_S = 20  # a live ledger lacks what was counted in the last second


def postponed(test):
    with running(test, "Crowd", agent=test.agent_option(events="instrument", overhead="2%")) as program:
        test.check(program.ask(f"load {PARTS}") == "1", "the parts")
        counted = check_parts(test, program)
        for command in ("stop", "start"):
            program.done(command)
        part = check_started_again(test, program, counted)
        check_named_later(test, program, part)
        program.ask(f"burn {BURN_MS}")
        program.end()
    planned(test)
    named(test)
    vast(test)


def check_parts(test, program):
    """Each part was run once. The counted methods."""
    until = time.monotonic() + LIVE_S
    rows = explained(test, program, "*Crowd$Part*.*")
    while any(row["calls"] == 0 for row in rows) and time.monotonic() < until:
        time.sleep(0.1)
        rows = explained(test, program, "*Crowd$Part*.*")
    hooks = {(row["class"], row["method"]): row for row in rows}
    counted = {key for key, row in hooks.items() if row["hook"] == "counted"}
    test.check(len(hooks) == PARTS * (len(METHODS) + 1), f"{len(hooks)} methods")
    test.check(all(row["calls"] == 1 for row in rows), f"{[row for row in rows if row['calls'] != 1][:3]}")
    test.check(all(hooks[key]["method"] in METHODS and hooks[key]["counted"]["calls"] == 1 for key in counted),
               f"counted: {[hooks[key] for key in counted if key[1] not in METHODS][:3]}")
    others = [row for key, row in hooks.items() if key not in counted]
    test.check(all(row["hook"] == "always" for row in others),
               f"others: {[row for row in others if row['hook'] != 'always'][:3]}")
    test.check(0 < len(counted) <= PARTS * len(METHODS) - FREE + PARTS, f"{len(counted)} are counted")
    budget = json.loads(program.done("status", "--json"))["budget"]
    test.check(len(counted) <= budget["counted_methods"] <= len(counted) + 20,  # and the program's other ones
               f"{len(counted)} counted, the status says {budget}")
    test.check(budget["postponed_methods"] == 0, f"the status says {budget}")
    test.check(hooks["Crowd$PartAAA", "a"]["hook"] == "always", "the first part")
    why = program.treadle("report", "--explain", ".".join(next(iter(counted)))).out
    test.check("counted, but not recorded, from its first call on" in why, why)
    return counted


def check_started_again(test, program, counted):
    """Each part is run as often as the first one."""
    part = next(key[0] for key in counted if key[1] == "a")
    true = int(program.ask("run 10"))
    until = time.monotonic() + LIVE_S
    row = method_of(test, program, part)
    while row["calls"] < true and time.monotonic() < until:
        time.sleep(0.1)
        row = method_of(test, program, part)
    test.check(row["calls"] == true == 11 and row["hook"] == "counted" and "hooked" not in row, f"{row}, of {true}")
    return part


def check_named_later(test, program, part):
    """With another filter, which names one method: that one is recorded from then on."""
    program.done("stop")
    program.done("start", "--include", f"*Crowd*;{part}.a")
    true = int(program.ask("run 10"))
    row, other = (method_of(test, program, part, name) for name in "ab")
    test.check(row["hook"] == "again" and row["calls"] == true == 21, f"{row}, of {true}")
    test.check(other["hook"] == "counted", f"{other}")
    first = method_of(test, program, "Crowd$PartAAA")
    test.check(first["calls"] == true, f"{first}, of {true}")


def planned(test):
    for plan in ("first.ledger", "planned.ledger"):
        test.ledger.rename(test.scratch / plan)
        option = test.agent_option(events="instrument", overhead="20%", plan=test.scratch / plan)
        with running(test, "Crowd", agent=option) as program:
            program.ask(f"load {PARTS}")
            check_planned(test, program, plan)
            program.ask(f"burn {BURN_MS}")
            program.end()
    foreign(test)


def foreign(test):
    """The plan of another program, too, which had more methods than hooks: all methods are unknown to it."""
    option = test.agent_option(events="instrument", overhead="2%", plan=test.scratch / "planned.ledger")
    with running(test, "Hazards", agent=option) as program:
        hooks = {row["method"]: row["hook"] for row in explained(test, program, "Hazards.*")}
        test.check((hooks["main"], hooks["act"]) == ("always", "never_called"), f"{hooks}")
        program.end()
    shared(test, option)


def shared(test, option):
    """And that of another program that uses a part of this one: the classes of this one alone are unknown to it."""
    test.ledger.unlink()
    with running(test, "SharedLibrary", agent=option) as program:
        program.ask("load 1")
        ended = program.end()
        test.check(ended.out.endswith("own 1\n"), f"{ended}")
    done = test.run([test.treadle, "report", "--explain", "SharedLibrary$Own.act", "--json", test.ledger])
    row = json.loads(done.out)["methods"][0]
    test.check((row["hook"], row["calls"]) == ("always", 1), f"{row}")


def check_planned(test, program, plan):
    rows = explained(test, program, "*Crowd$Part*.*")
    hooked = [row for row in rows if row["hook"] == "always"]
    late = [row for row in rows if row["hook"] == "postponed"]
    off = left_out(test, test.scratch / plan)
    others = [row for row in rows
              if row["hook"] != ("planned" if (row["class"], row["method"]) in off else "postponed")
              and row["hook"] != "always"]
    test.check(len(rows) == PARTS * (len(METHODS) + 1) and not others, f"{plan}: {len(rows)} methods, {others[:3]}")
    # Of what the run before took without its hooks, BURN_MS at least, hooks may take 12 %, and those of a method 40 us,
    # or some ms where the account of what hooks cost is all of the rest of the CPU.
    print(plan, len(hooked), "have hooks")
    test.check(20 <= len(hooked) <= PARTS * 4, f"{plan}: {len(hooked)} have hooks")
    test.check(all(row["calls"] == 1 for row in hooked), f"{plan}: {[row for row in hooked if row['calls'] != 1][:3]}")
    test.check(not any(row["calls"] for row in late), f"{plan}: {[row for row in late if row['calls']][:3]}")
    budget = json.loads(program.done("status", "--json"))["budget"]
    test.check(len(late) <= budget["postponed_methods"] <= len(late) + 40, f"{plan}: {len(late)} postponed, {budget}")


def left_out(test, ledger):
    done = test.run([test.treadle, "report", "--explain", "*Crowd$Part*.*", "--json", ledger])
    test.check(done.status == 0, f"report --explain: {done}")
    return {(row["class"], row["method"]) for row in json.loads(done.out)["methods"] if row["hook"] in LEFT_OUT}


def named(test):
    option = test.agent_option(events="instrument", overhead="2%", include=f"*Crowd*;{LAST}.a")
    with running(test, "Crowd", agent=option) as program:
        program.ask(f"load {PARTS}")
        row = method_of(test, program, LAST, "a")
        test.check(row["hook"] == "always" and row["calls"] == 1, f"{row}")
        # The program's CPU time bears a few more.
        others = explained(test, program, "Crowd$PartC*.b")
        counted = sum(row["hook"] == "counted" for row in others)
        test.check(counted > len(others) / 2 > 0, f"{counted} of {len(others)} are counted")
        program.end()


def vast(test):
    with running(test, "Vast", agent=test.agent_option(events="instrument", overhead="2%")) as program:
        program.ask("run 10")
        row, other = (method_of(test, program, "Vast", name) for name in ("vast", "narrow"))
        test.check(row["hook"] == "postponed" and not row["calls"], f"{row}")
        test.check(other["hook"] == "always" and other["calls"] == 10, f"{other}")
        for command in ("stop", "start"):
            program.done(command)
        program.ask("run 10")
        row = method_of(test, program, "Vast", "vast")
        test.check(row["hook"] == "again" and row["calls"] == 10, f"{row}")
        program.end()
    with running(test, "Vast", agent=test.agent_option(events="instrument", include="Vast.vast")) as program:
        program.ask("run 10")
        row = method_of(test, program, "Vast", "vast")
        test.check(row["hook"] == "always" and row["calls"] == 10, f"{row}")
        program.end()


def method_of(test, program, part, name="a"):
    return explained(test, program, f"{part}.{name}")[0]


def explained(test, program, glob):
    done = program.treadle("report", "--explain", glob, "--json")
    test.check(done.status == 0, f"report --explain: {done}")
    return json.loads(done.out)["methods"]


if __name__ == "__main__":
    harness.main(postponed)
