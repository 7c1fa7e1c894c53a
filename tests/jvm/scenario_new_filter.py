"""include= set anew while the process runs: methods that it leaves out keep the calls that they had, and the report
says that these are so many at least."""

import json

import harness
from running import running

BEFORE, AFTER = 40, 25


def new_filter(test):
    for overhead in ("any", "2%"):
        left_out(test, overhead)


def left_out(test, overhead):
    test.ledger.unlink(missing_ok=True)
    with running(test, "StartStop") as program:
        program.attach("--include", "StartStop.counted;StartStop.guarded", overhead=overhead)
        program.ask(f"count {BEFORE}")
        check(test, program, is_left=False)
        program.done("stop")
        program.done("start", "--include", "StartStop.guarded")
        program.ask(f"count {AFTER}")
        check(test, program, is_left=True)
        ended = program.end()
    test.check(ended.status == 0, f"{ended}")


def check(test, program, is_left):
    """Of the running program's ledger: the calls before, and whether these are so many at least."""
    flat = json.loads(program.done("report", "--view", "flat", "--json"))
    row = next(m for m in flat["methods"] if m["method"] == "counted")
    test.check(row["calls"] == BEFORE, f"not {BEFORE} calls: {row}")
    test.check(("hooked" in row) == is_left, f"left out: {is_left}, but {row}")
    if is_left:
        test.check(0 < row["hooked"]["share_ppm"] < 1_000_000 and row["hooked"]["until_ns"] > 0, f"{row}")
    told = json.loads(program.done("report", "--explain", "StartStop.counted", "--json"))["methods"]
    test.check([m["hook"] for m in told] == ["left_since" if is_left else "always"], f"{told}")
    text = program.done("report", "--view", "flat", "--top", "100")
    line = next(line for line in text.splitlines() if "StartStop.counted" in line)
    test.check((f"≥{BEFORE}" in line.replace(" ", "")) == is_left, line)


if __name__ == "__main__":
    harness.main(new_filter)
