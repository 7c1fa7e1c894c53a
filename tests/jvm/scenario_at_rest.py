"""While a program rests, so does the agent's thread, by the kernel's count of its switches; what the program does next is
in the live ledger within two seconds, counted calls too."""

import json
import time
from pathlib import Path

import harness
from running import running

SETTLED_S = 5  # the JVM has come to rest, and so has the agent's thread
LOOKS_S = 3
WAKES_MOST = 3  # a second
LATE_S = 2


def at_rest(test):
    for more in ({}, {"sample": "none", "waits": "off"}):
        options = {"events": "instrument", "overhead": None, **more}
        with running(test, "HeardAgain", agent=test.agent_option(**options)) as program:
            time.sleep(SETTLED_S)
            before, began = wakes(test, program), time.monotonic()
            time.sleep(LOOKS_S)
            woke, seconds = wakes(test, program) - before, time.monotonic() - began
            test.check(woke <= WAKES_MOST * seconds, f"{more}: woke {woke} times in {seconds:.1f} s")
            check_what_comes(test, program)
            program.end()


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
    calls = int(program.ask("burst 1000"))
    time.sleep(LATE_S)
    row = json.loads(program.done("report", "--json", "--explain", "HeardAgain.visit"))["methods"][0]
    test.check(row["calls"] == calls and row["counted"]["calls"] > 0, f"called {calls} times: {row}")


if __name__ == "__main__":
    harness.main(at_rest)
