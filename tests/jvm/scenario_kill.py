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
        with test.started(command) as process:
            test.wait_until(test.printed, "the program prints nothing")
            time.sleep(moments.random() * 0.4)
        check_killed(test, f"kill {number}", process.pid)


def check_killed(test, what, pid):
    printed = int(test.printed()[-1])
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
