"""Threads that hold contended locks, and take the time themselves: how often and how long, from the acquisition to the
release; how often they acquired the locks of java.util.concurrent, and how deeply these and monitors were nested when
the other thread began to wait. The hooks that tell so come when a lock was contended, so the first rounds are not seen whole."""

import dataclasses
import time

import harness
import sampled
from running import running

PROCESSORS = "-Djdk.virtualThreadScheduler.parallelism=2"
TOLERANCE = 0.01
EACH_NS = 50_000
COUNTED = "java.util.concurrent."  # classes of locks whose acquisitions are counted
HOOKED_S = 20  # until every lock has its hooks


@dataclasses.dataclass
class Held:
    """Of the locks of one class, in one round or since the beginning; nested: the deepest ever."""
    holds: int = 0
    ns: int = 0
    acquisitions: int = 0
    nested: int = 0


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
        if (all(seen(before, after, lock).holds == truth.holds for lock, truth in told.items())
                or time.monotonic() > ends):
            return before, told, delay_ns, after


def compare(test, before, told, delay_ns, after):
    for lock, truth in told.items():
        found = seen(before, after, lock)
        test.check_likely(found.holds == truth.holds, f"{lock} count",
                          f"{lock}: {found.holds} holds, by itself {truth.holds}")
        test.check_likely(abs(found.ns - truth.ns) <= allowed_ns(truth, delay_ns), f"{lock} ns",
                          f"{lock}: held {found.ns} ns, by its own clock {truth.ns}; delayed {delay_ns} ns")
        counted = truth.acquisitions if lock.startswith(COUNTED) else 0
        test.check_likely(found.acquisitions == counted, f"{lock} acquisitions",
                          f"{lock}: {found.acquisitions} acquisitions, by itself {counted}")
        test.check_likely(found.nested == truth.nested, f"{lock} nested",
                          f"{lock}: {found.nested} nested acquisitions, by itself {truth.nested}")


def allowed_ns(truth, delay_ns):
    return max(truth.ns * TOLERANCE, truth.holds * EACH_NS) + delay_ns


def stopped(test, program, before):
    """What is held while profiling is stopped is in no number; and what is held after is."""
    program.done("stop")
    one_round(program)
    test.check(held(test, program) == before, "holds while profiling was stopped")
    program.done("start")
    told, delay_ns = one_round(program)
    after = held(test, program)
    for lock, truth in told.items():
        found = seen(before, after, lock)
        test.check(found.holds <= truth.holds and found.ns <= truth.ns + allowed_ns(truth, delay_ns)
                   and found.acquisitions <= truth.acquisitions,
                   f"{lock}: {found} after a start, by itself {truth}")


def one_round(program):
    """{class: Held}; and what threads lacked processors meanwhile."""
    answer, delay_ns = program.ask_timed("round")
    rows = (row.split() for row in answer.split("; "))
    return {lock: Held(*map(int, numbers)) for lock, *numbers in rows}, delay_ns


def held(test, program):
    """{class: Held} by the ledger."""
    program.done("dump", "-o", test.ledger)
    found = {}
    for row in test.report("locks", test.ledger)["locks"]:
        of = found.setdefault(row["class"], Held())
        of.holds += row["holds"]
        of.ns += row["hold_ns"]
        of.acquisitions += row["acquisitions"] or 0
        of.nested = max(of.nested, row["recursion_max"] or 0)
        in_paths_ns = sum(holder["hold_ns"] for holder in row["holders"])
        test.check(in_paths_ns == row["hold_ns"] and row["hold_max_ns"] <= row["hold_ns"], f"{row}")
    return found


def seen(before, after, lock):
    now, then = after.get(lock, Held()), before.get(lock, Held())
    return Held(now.holds - then.holds, now.ns - then.ns, now.acquisitions - then.acquisitions, now.nested)


if __name__ == "__main__":
    harness.main(holds)
