"""Threads that hold contended locks, and take the time themselves: how often and how long, from the acquisition to the
release. The hooks that tell so come when a lock was contended, so the first rounds are not seen whole."""

import time

import harness
import sampled
from running import running

PROCESSORS = "-Djdk.virtualThreadScheduler.parallelism=2"
TOLERANCE = 0.01
EACH_NS = 50_000
HOOKED_S = 20  # until every lock has its hooks


def holds(test):
    sampled.check_unless_chance(test, lambda _: one_program(test))


def one_program(test):
    agent = test.agent_option(events="instrument", include="HoldTruth*", sample="none", waits="on")
    with running(test, PROCESSORS, "HoldTruth", agent=agent) as program:
        before, told, delay_ns, after = round_with_hooks(test, program)
        compare(test, before, told, delay_ns, after)
        stopped(test, program, after)
        ended = program.end()
    test.check(ended.status == 0, f"{ended}")
    test.checked_report()
    test.ledger.unlink()


def round_with_hooks(test, program):
    """The first round in which each hold was seen; or the last one that there was time for."""
    ends = time.monotonic() + HOOKED_S
    after = held(test, program)
    while True:
        before = after
        told, delay_ns = one_round(program)
        after = held(test, program)
        if all(seen(before, after, lock)[0] == count for lock, (count, _) in told.items()) or time.monotonic() > ends:
            return before, told, delay_ns, after


def compare(test, before, told, delay_ns, after):
    for lock, (count, ns) in told.items():
        found, found_ns = seen(before, after, lock)
        test.check_likely(found == count, f"{lock} count", f"{lock}: {found} holds, by itself {count}")
        allowed_ns = max(ns * TOLERANCE, count * EACH_NS) + delay_ns
        test.check_likely(abs(found_ns - ns) <= allowed_ns, f"{lock} ns",
                          f"{lock}: held {found_ns} ns, by its own clock {ns}; {allowed_ns} allowed")


def stopped(test, program, before):
    """What is held while profiling is stopped is in no number; and what is held after is."""
    program.done("stop")
    one_round(program)
    test.check(held(test, program) == before, "holds while profiling was stopped")
    program.done("start")
    told, delay_ns = one_round(program)
    after = held(test, program)
    for lock, (count, ns) in told.items():
        found, found_ns = seen(before, after, lock)
        test.check(found <= count and found_ns <= ns + max(ns * TOLERANCE, count * EACH_NS) + delay_ns,
                   f"{lock}: {found} holds of {found_ns} ns after a start, by itself {count} of {ns}")


def one_round(program):
    """{class: (holds, ns)}; and what threads lacked processors meanwhile."""
    answer, delay_ns = program.ask_timed("round")
    rows = (row.split() for row in answer.split("; "))
    return {lock: (int(count), int(ns)) for lock, count, ns in rows}, delay_ns


def held(test, program):
    """{class: (holds, ns)} by the ledger."""
    program.done("dump", "-o", test.ledger)
    found = {}
    for row in test.report("locks", test.ledger)["locks"]:
        count, ns = found.get(row["class"], (0, 0))
        found[row["class"]] = (count + row["holds"], ns + row["hold_ns"])
        in_paths_ns = sum(holder["hold_ns"] for holder in row["holders"])
        test.check(in_paths_ns == row["hold_ns"] and row["hold_max_ns"] <= row["hold_ns"], f"{row}")
    return found


def seen(before, after, lock):
    now, then = after.get(lock, (0, 0)), before.get(lock, (0, 0))
    return now[0] - then[0], now[1] - then[1]


if __name__ == "__main__":
    harness.main(holds)
