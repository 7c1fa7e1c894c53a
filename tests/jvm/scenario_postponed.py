"""A program that loads more methods than the budget bears: its first methods have hooks, of the later ones the
larger, each with every call; small ones are postponed, and the report says which and how many. They get hooks at the
next start, as many as the budget bears by then, and at once where include= names them: from then on every call is in
the tree. With the plan of that run few methods have hooks, every call of which is recorded, and the rest is
postponed; and so it is with the plan of the run that had the plan. A method with very much code and many variables
is postponed at once, and no other for its sake."""

import json
import os
import string
from pathlib import Path

import harness
from running import running

PARTS = 1500
METHODS = [*string.ascii_lowercase[:16], "<init>"]  # the small ones of a part
FREE = 1000  # methods that get hooks whatever that costs: agent/methods/hook_quota.h
LAST = "Crowd$PartCFR"
CPU_S = 2  # that bear hooks of some 2,000 methods more


def postponed(test):
    with running(test, "Crowd", agent=test.agent_option(events="instrument", overhead="2%")) as program:
        test.check(program.ask(f"load {PARTS}") == "1", "the parts")
        late = check_parts(test, program)
        save_up(program)
        for command in ("stop", "start"):
            program.done(command)
        check_started_again(test, program, late)
        program.end()
    planned(test)
    named(test)
    vast(test)


def save_up(program):
    """The budget is a part of the CPU time, which the program gets less of beside others."""
    enough = cpu_ticks(program) + CPU_S * os.sysconf("SC_CLK_TCK")
    while cpu_ticks(program) < enough:
        program.ask("run 10")


def cpu_ticks(program):
    fields = Path(f"/proc/{program.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def check_parts(test, program):
    """Each part was run once. The postponed methods."""
    rows = explained(test, program, "*Crowd$Part*.*")
    hooks = {(row["class"], row["method"]): row for row in rows}
    late = {key for key, row in hooks.items() if row["hook"] == "postponed"}
    test.check(len(hooks) == PARTS * (len(METHODS) + 1), f"{len(hooks)} methods")
    test.check(all(hooks[key]["method"] in METHODS and not hooks[key]["calls"] for key in late), f"postponed: {late}")
    others = [row for key, row in hooks.items() if key not in late]
    test.check(all(row["hook"] == "always" and row["calls"] == 1 for row in others),
               f"others: {[row for row in others if row['calls'] != 1][:3]}")
    test.check(0 < len(late) <= PARTS * len(METHODS) - FREE + PARTS, f"{len(late)} are postponed")
    budget = json.loads(program.done("status", "--json"))["budget"]
    test.check(budget["postponed_methods"] == len(late), f"{len(late)} postponed, the status says {budget}")
    test.check(hooks["Crowd$PartAAA", "a"]["hook"] == "always", "the first part")
    return late


def check_started_again(test, program, late):
    """Some of the postponed methods have hooks now."""
    rows = explained(test, program, "*Crowd$Part*.a")
    known = [row["class"] for row in rows if row["hook"] == "again" and (row["class"], "a") in late]
    test.check(known, f"of {len(late)} postponed methods none has hooks")
    before = method_of(test, program, known[0])
    true = int(program.ask("run 10"))
    after = method_of(test, program, known[0])
    test.check(after["calls"] == before["calls"] + 10 < true, f"10 calls more: {before}, {after}, of {true}")
    test.check(0 < after["hooked"]["share_ppm"] < 10**6, f"{after}")


def planned(test):
    for plan in ("first.ledger", "planned.ledger"):
        test.ledger.rename(test.scratch / plan)
        option = test.agent_option(events="instrument", overhead="2%", plan=test.scratch / plan)
        with running(test, "Crowd", agent=option) as program:
            program.ask(f"load {PARTS}")
            check_planned(test, program, plan)
            program.end()


def check_planned(test, program, plan):
    rows = explained(test, program, "*Crowd$Part*.*")
    hooked = [row for row in rows if row["hook"] == "always"]
    late = [row for row in rows if row["hook"] == "postponed"]
    test.check(len(hooked) + len(late) == len(rows) == PARTS * (len(METHODS) + 1), f"{plan}: {len(rows)} methods")
    # The program takes some seconds of CPU, of which hooks may take 1.2 %, and those of a method 40 us.
    test.check(20 <= len(hooked) <= PARTS * 4, f"{plan}: {len(hooked)} have hooks")
    test.check(all(row["calls"] == 1 for row in hooked), f"{plan}: {[row for row in hooked if row['calls'] != 1][:3]}")
    test.check(not any(row["calls"] for row in late), f"{plan}: {[row for row in late if row['calls']][:3]}")
    budget = json.loads(program.done("status", "--json"))["budget"]
    test.check(len(late) <= budget["postponed_methods"] <= len(late) + 40, f"{plan}: {len(late)} postponed, {budget}")


def named(test):
    option = test.agent_option(events="instrument", overhead="2%", include=f"*Crowd*;{LAST}.a")
    with running(test, "Crowd", agent=option) as program:
        program.ask(f"load {PARTS}")
        row, other = (method_of(test, program, LAST, name) for name in "ab")
        test.check(row["hook"] == "always" and row["calls"] == 1 and other["hook"] == "postponed", f"{row}, {other}")
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
