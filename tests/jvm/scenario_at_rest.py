"""While a program rests, so does the agent's thread, by the kernel's count of its switches; what the program does next is
in the live ledger a few rounds of the thread later, counted calls too."""

import json
import time
from pathlib import Path

import harness
from running import running

LOOKS_S = 3
WAKES_MOST = 3  # a second
ROUNDS_MOST = 3  # until what was counted is in the ledger
LATE_S = 60


def at_rest(test):
    for more in ({}, {"sample": "none", "waits": "off"}):
        options = {"events": "instrument", "overhead": None, **more}
        with running(test, "HeardAgain", agent=test.agent_option(**options)) as program:
            test.wait_until(lambda: rests(test, program), f"{more}: the agent's thread does not come to rest")
            check_what_comes(test, program)
            program.end()


def rests(test, program):
    before, began = wakes(test, program), time.monotonic()
    time.sleep(LOOKS_S)
    return wakes(test, program) - before <= WAKES_MOST * (time.monotonic() - began)


def wakes(test, program):
    """How often the agent's thread went to sleep."""
    for task in Path(f"/proc/{program.pid}/task").iterdir():
        if (task / "comm").read_text(encoding="ascii").strip() == "treadle":
            status = dict(line.split(":\t") for line in (task / "status").read_text(encoding="ascii").splitlines())
            return int(status["voluntary_ctxt_switches"])
    test.check(False, "no thread of the agent")
    return 0


def check_what_comes(test, program):
    """A burst: the first calls are recorded, the others are counted."""
    before = woke = wakes(test, program)
    calls, until = int(program.ask("burst 1000")), time.monotonic() + LATE_S
    row = visit(program)
    while row["calls"] < calls and time.monotonic() < until:
        time.sleep(0.05)
        missing, row = wakes(test, program), visit(program)
        if row["calls"] < calls:
            woke = missing
    test.check(row["calls"] == calls and row["counted"]["calls"] > 0, f"called {calls} times: {row}")
    test.check(woke - before <= ROUNDS_MOST, f"in the ledger after {woke - before} rounds")


def visit(program):
    return json.loads(program.done("report", "--json", "--explain", "HeardAgain.visit"))["methods"][0]


if __name__ == "__main__":
    harness.main(at_rest)
