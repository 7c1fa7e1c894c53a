"""24,000 threads, each of which parks, and holds a lock for which the others wait: no wait is lost, and what they waited
and held is what they say; platform threads, and virtual ones where the JDK has them."""

from fnmatch import fnmatchcase

import harness
import sampled

THREADS = 24_000
TOLERANCE = 0.01
EACH_NS = 50_000


def many_waits(test):
    for kind in ("platform", "virtual") if test.major >= 21 else ("platform",):
        sampled.check_unless_chance(test, lambda _, kind=kind: one_kind(test, kind))


def one_kind(test, kind):
    agent = test.agent_option(events="instrument", include="ManyWaits.*", sample="none", waits="on", fold="auto")
    ended = test.java("-Djdk.virtualThreadScheduler.parallelism=2", "ManyWaits", kind, agent=agent)
    test.check(ended.status == 0, f"{ended}")
    told = {line.split()[1]: int(line.split()[2]) for line in ended.out.splitlines() if line.startswith("expect ")}
    rows = [row for row in test.report("waits", test.ledger)["threads"] if fnmatchcase(row["name"], "waits-*")]
    test.check(sum(row["count"] for row in rows) == THREADS, f"{sum(row['count'] for row in rows)} threads")
    for row in rows:
        test.check(abs(sum(row["waits"].values()) - row["wall_ns"]) * 200 <= row["wall_ns"], f"{row}")
    locks = test.report("locks", test.ledger)
    check_parks(test, kind, rows, locks, told["park"])
    check_holds(test, kind, locks, told["hold"])
    test.ledger.unlink()


def check_parks(test, kind, rows, locks, told_ns):
    """Parks for the lock are no part of what the threads measured, and are recorded by lock."""
    parked_ns = sum(row["waits"]["park_ns"] for row in rows)
    for_locks_ns = sum(row["wait_ns"] for row in locks["locks"] if "ReentrantLock" in (row["class"] or ""))
    runnable_ns = sum(row["waits"]["runnable_ns"] + row["waits"]["cpu_ns"] + row["waits"]["unmounted_ns"] for row in rows)
    off_ns = abs(parked_ns - for_locks_ns - told_ns)
    test.check_likely(off_ns <= max(told_ns * TOLERANCE, THREADS * EACH_NS) + runnable_ns, f"{kind} parks",
                      f"{kind}: parked {parked_ns} ns, {for_locks_ns} of it for locks; by their own clocks {told_ns}")
    lost = sum(loss["count"] for loss in locks.get("losses", []) if "waits for locks" in loss["meaning"])
    test.check(lost == 0, f"{kind}: {lost} waits for locks are lost")


def check_holds(test, kind, locks, told_ns):
    """Only holds that somebody had to wait for count."""
    rows = [row for row in locks["locks"] if "ReentrantLock" in (row["class"] or "")]
    held_ns, holds = (sum(row[key] for row in rows) for key in ("hold_ns", "holds"))
    test.check(holds <= THREADS and held_ns <= told_ns * (1 + TOLERANCE) + holds * EACH_NS,
               f"{kind}: {holds} holds of {held_ns} ns, {told_ns} by the clocks of all threads")


if __name__ == "__main__":
    harness.main(many_waits)
