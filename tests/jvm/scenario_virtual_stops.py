"""Stopped and started again while virtual threads go on: what they call when profiling runs is counted, all of
it and nothing else, in both event modes, though who was mounted where meanwhile nobody has heard."""

import harness
from running import running

EVENTS = ("jvmti", "instrument")

THREADS = 8
ROUNDS = 10
PROFILED, UNPROFILED = 9, 4  # counted calls of each thread in each half of a round


def virtual_stops(test):
    if test.major < 21:
        raise harness.Skip("this JDK has no virtual threads")
    expected = 0
    with running(test, "-Djdk.virtualThreadScheduler.parallelism=3", "Hops",
                 agent=test.agent_option(include="Hops.*")) as program:
        for _ in range(ROUNDS):
            expected += count(test, program, PROFILED)
            program.done("stop")
            count(test, program, UNPROFILED)
            program.done("start")
        expected += count(test, program, PROFILED)
        ended = program.end()
    test.check(ended.status == 0, f"{ended}")
    # Of frames that are older than the last start events=jvmti tells the exits.
    views = test.checked_report(dropped=test.events == "jvmti")
    calls = sum(m["calls"] for m in views["flat"]["methods"] if m["method"] == "counted")
    test.check(calls == expected, f"{calls} calls were counted, not {expected}")
    ends = [(t["name"], t["terminated"]) for t in views["threads"]["threads"] if t["kind"] == "virtual"]
    test.check(len(ends) == THREADS and all(over for _, over in ends), f"virtual threads: {ends}")
    print(f"{calls} calls")


def count(test, program, times):
    answer = program.ask(str(times))
    test.check(answer == "done", f"wrong: {answer}")
    return THREADS * times


if __name__ == "__main__":
    harness.main(virtual_stops)
