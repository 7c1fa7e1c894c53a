"""Threads that hold locks which several may have at once, acquired and released by all ways there are, and take the time
themselves: how often and how long, and how often they acquired them. Who waits for readers waits for the first one. A
lock that was a signal is measured once it is held by those who acquire it."""

import dataclasses
import time

import harness
import sampled
from running import running

PROCESSORS = "-Djdk.virtualThreadScheduler.parallelism=2"
OPEN = ("--add-opens", "java.base/java.util.concurrent=ALL-UNNAMED",
        "--add-opens", "java.base/java.util.concurrent.locks=ALL-UNNAMED")
TOLERANCE = 0.01
EACH_NS = 50_000
HOOKED_S = 20  # until every kind of lock has its hooks
READERS = "java.util.concurrent.locks.ReentrantReadWriteLock$FairSync"


@dataclasses.dataclass
class Held:
    """Of one lock, in one round or since the beginning."""
    holds: int = 0
    ns: int = 0
    acquisitions: int = 0

    def since(self, then):
        return Held(self.holds - then.holds, self.ns - then.ns, self.acquisitions - then.acquisitions)


def shared_holds(test):
    sampled.check_unless_chance(test, lambda _: all_ways(test))
    signal_and_mutex(test)


def started(test):
    agent = test.agent_option(events="instrument", include="SharedTruth*", sample="none", waits="on")
    return running(test, PROCESSORS, *OPEN, "SharedTruth", agent=agent)


def all_ways(test):
    with started(test) as program:
        ends = time.monotonic() + HOOKED_S
        after = held(test, program)
        while True:
            before = after
            told, delay_ns = one_round(program, "round")
            after = held(test, program)
            found = {name: seen(before, after, identity) for name, (identity, _) in told.items()}
            if (all(found[name].holds == truth.holds for name, (_, truth) in told.items())
                    or time.monotonic() > ends):
                break
        check_first_reader(test)
        ended = program.end()
    test.check(ended.status == 0, f"{ended}")
    compare(test, found, told, delay_ns)
    test.checked_report()
    test.ledger.unlink()


def compare(test, found, told, delay_ns):
    for name, (_, truth) in told.items():
        of = found[name]
        test.check_likely(of.holds == truth.holds, f"{name} count", f"{name}: {of.holds} holds, by itself {truth.holds}")
        allowed_ns = max(truth.ns * TOLERANCE, truth.holds * EACH_NS) + delay_ns
        test.check_likely(abs(of.ns - truth.ns) <= allowed_ns, f"{name} ns",
                          f"{name}: held {of.ns} ns, by its own clock {truth.ns}; delayed {delay_ns} ns")
        test.check_likely(of.acquisitions == truth.acquisitions, f"{name} acquisitions",
                          f"{name}: {of.acquisitions} acquisitions, by itself {truth.acquisitions}")


def check_first_reader(test):
    """While another one reads as well, and reads on."""
    edges = test.report("blockers", test.ledger)["edges"]
    blockers = {edge["blocker"] for edge in edges if edge["waiter"] == "readers-second" and edge["lock"] == READERS}
    test.check_likely(blockers == {"readers-first"}, "first reader", f"a writer waits for {blockers}")


def signal_and_mutex(test):
    """Released by others than have acquired it, often enough to be left alone; then no more."""
    with started(test) as program:
        test.wait_until(lambda: mutex_holds(test, program), "no holds of a lock before it is a signal")
        program.ask("signals")
        test.wait_until(lambda: mutex_holds(test, program), "no holds of a lock that was a signal")
        program.end()
    test.check(test.report("locks", test.ledger)["unseen_holds"] > 0, "signals are unseen holds")
    test.ledger.unlink()


def mutex_holds(test, program):
    """True if all holds of a round were seen."""
    before = held(test, program)
    told, _ = one_round(program, "mutex")
    identity, truth = told["mutex"]
    return seen(before, held(test, program), identity).holds == truth.holds


def one_round(program, order):
    """{name: (identity, Held)}; and what threads lacked processors meanwhile."""
    answer, delay_ns = program.ask_timed(order)
    rows = (row.split() for row in answer.split("; "))
    return {name: (identity, Held(*map(int, numbers))) for name, identity, *numbers in rows}, delay_ns


def held(test, program):
    """{identity: Held} by the ledger."""
    program.done("dump", "-o", test.ledger)
    return {row["identity"]: Held(row["holds"], row["hold_ns"], row["acquisitions"] or 0)
            for row in test.report("locks", test.ledger)["locks"]}


def seen(before, after, identity):
    return after.get(identity, Held()).since(before.get(identity, Held()))


if __name__ == "__main__":
    harness.main(shared_holds)
