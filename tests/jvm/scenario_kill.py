"""kill -9 at fifty moments: the live ledger stays, can be read, and holds what was charged."""

import random
import time

import harness

TIMES = 50
BATCH = 1000  # Progress prints after so many calls


def kill(test):
    moments = random.Random(1801)
    command = test.java_command("Progress", agent=test.agent_option(include="Progress.*"))
    for number in range(TIMES):
        process = test.start(command)
        first = process.stdout.readline()
        time.sleep(moments.random() * 0.4)
        out, err = harness.stop(process)
        printed = [int(line) for line in (first + out).splitlines(True) if line.endswith("\n")]
        check_killed(test, f"kill {number}", process.pid, max(printed, default=0), err)


def check_killed(test, what, pid, printed, err):
    test.check(printed > 0 and not err, f"{what}: the program printed {printed}; {err}")
    ledgers = test.live_ledgers(pid)
    if not test.check(len(ledgers) == 1, f"{what}: live ledgers {ledgers}"):
        return
    views = test.checked_report(ledgers[0], note_allowed=True)
    steps = sum(m["calls"] for m in views["flat"]["methods"] if m["method"] == "step")
    test.check(printed <= steps <= printed + BATCH,
               f"{what}: {steps} calls, but {printed} were printed")
    ledgers[0].unlink()


if __name__ == "__main__":
    harness.main(kill)
