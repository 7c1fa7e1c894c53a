"""include= set anew while the process runs: methods that it leaves out keep the calls that they had, and the report
says that these are so many at least. It says so, too, of a method that the filter takes in again, and of one that it
takes in for the first time."""

import json

import harness
from running import running

BEFORE, AFTER = 40, 25
BOTH, OTHER = "StartStop.counted;StartStop.guarded", "StartStop.guarded"


def new_filter(test):
    for overhead in ("any", "2%"):
        left_out(test, overhead)
        taken_in(test, overhead)
        taken_in_late(test, overhead)


def left_out(test, overhead):
    test.ledger.unlink(missing_ok=True)
    with running(test, "StartStop") as program:
        program.attach("--include", BOTH, overhead=overhead)
        program.ask(f"count {BEFORE}")
        check(test, program, is_left=False)
        restart(program, OTHER)
        program.ask(f"count {AFTER}")
        check(test, program, is_left=True)
        ended = program.end()
    test.check(ended.status == 0, f"{ended}")


def taken_in(test, overhead):
    """Left out for a time, and then once more with no call at all in between."""
    with running(test, "StartStop") as program:
        program.attach("--include", BOTH, overhead=overhead)
        program.ask(f"count {BEFORE}")
        restart(program, OTHER)
        program.ask(f"count {AFTER}")
        restart(program, BOTH)
        told(test, program, BEFORE, "taken_in")
        program.ask(f"count {AFTER}")
        told(test, program, BEFORE + AFTER, "taken_in")
        if overhead == "any":
            told(test, program, None, "always", "guarded")
        restart(program, OTHER)
        restart(program, BOTH)
        program.ask(f"count {AFTER}")
        told(test, program, BEFORE + 2 * AFTER, "taken_in")
        program.end()


def taken_in_late(test, overhead):
    """First hooked by the second filter, whose class was loaded before."""
    with running(test, "StartStop") as program:
        program.attach("--include", OTHER, overhead=overhead)
        program.ask(f"count {BEFORE}")
        restart(program, BOTH)
        program.ask(f"count {AFTER}")
        told(test, program, AFTER, "taken_in")
        program.end()


def restart(program, include):
    program.done("stop")
    program.done("start", "--include", include)
    options = json.loads(program.done("status", "--json"))["options"]
    program.test.check(options.endswith(f"; then start: include={include}") and options.count("include=") == 2,
                       f"started with {include}, the status says {options}")


def told(test, program, calls, hook, method="counted"):
    """What the flat view and --explain say of the method."""
    flat = json.loads(program.done("report", "--view", "flat", "--json"))
    row = next(m for m in flat["methods"] if m["method"] == method)
    test.check(calls in (None, row["calls"]), f"not {calls} calls: {row}")
    partial = hook != "always"
    test.check(("hooked" in row) == partial, f"{hook}, but {row}")
    test.check(not partial or 0 < row["hooked"]["share_ppm"] < 1_000_000 and not row["hooked"]["until_ns"], f"{row}")
    explained = json.loads(program.done("report", "--explain", f"StartStop.{method}", "--json"))["methods"]
    test.check([m["hook"] for m in explained] == [hook], f"{hook}: {explained}")


def check(test, program, is_left):
    """Of the running program's ledger: the calls before, and whether these are so many at least."""
    flat = json.loads(program.done("report", "--view", "flat", "--json"))
    row = next(m for m in flat["methods"] if m["method"] == "counted")
    test.check(row["calls"] == BEFORE, f"not {BEFORE} calls: {row}")
    test.check(("hooked" in row) == is_left, f"left out: {is_left}, but {row}")
    if is_left:
        test.check(0 < row["hooked"]["share_ppm"] < 1_000_000 and row["hooked"]["until_ns"] > 0, f"{row}")
    explained = json.loads(program.done("report", "--explain", "StartStop.counted", "--json"))["methods"]
    test.check([m["hook"] for m in explained] == ["left_since" if is_left else "always"], f"{explained}")
    text = program.done("report", "--view", "flat", "--top", "100")
    line = next(line for line in text.splitlines() if "StartStop.counted" in line)
    test.check((f"≥{BEFORE}" in line.replace(" ", "")) == is_left, line)


if __name__ == "__main__":
    harness.main(new_filter)
