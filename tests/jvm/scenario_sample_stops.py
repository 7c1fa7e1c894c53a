"""Sampled, stopped and started again, again and again: no thread has a timer while profiling is stopped."""

import harness
from running import running

ROUNDS = 40


def sample_stops(test):
    with running(test, "StartStop") as program:
        if not test.check(timers(program) == [], "a JVM has timers of its own"):
            return
        program.attach("--include", "StartStop.none", sample="cpu", interval="500us", **{"sample-clock": "timer"})
        for number in range(ROUNDS):
            test.wait_until(lambda: timers(program), "no timer after a start")
            program.done("stop")
            test.check(timers(program) == [], f"round {number}: timers while stopped: {timers(program)}")
            program.done("start")
        program.end()


def timers(program):
    """The numbers of the process's POSIX timers."""
    with open(f"/proc/{program.pid}/timers", encoding="ascii") as listed:
        return [line.split()[1] for line in listed if line.startswith("ID:")]


if __name__ == "__main__":
    harness.main(sample_stops)
