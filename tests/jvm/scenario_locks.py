"""Threads that wait for locks whose owners are known, and take the time themselves: who waited for whom, for which lock,
how often and how long, and where both were; with the agent from the start and attached, stopped and started, and
killed."""

import harness
import sampled
from running import running

EVENTS = ("jvmti", "instrument")

INCLUDE = "LockTruth*"
PROCESSORS = "-Djdk.virtualThreadScheduler.parallelism=2"
CROWD, KEPT = "LockTruth$Crowd", "LockTruth$Kept"
REENTRANT = "java.util.concurrent.locks.ReentrantLock$NonfairSync"
FAIR = "java.util.concurrent.locks.ReentrantLock$FairSync"
OFF_TURN = 4  # at the begin, before there are turns; and where a thread was late
SEMAPHORE = "java.util.concurrent.Semaphore$NonfairSync"

# The methods in which a lock is held and waited for.
PLACES = {
    "LockTruth$Plain": ("LockTruth$PlainLock.hold", "LockTruth$PlainLock.enter"),
    "LockTruth$Recursive": ("LockTruth$RecursiveLock.hold", "LockTruth$PlainLock.enter"),
    "LockTruth$Thrown": ("LockTruth$ThrownLock.leave", "LockTruth$ThrownLock.leave"),
    CROWD: ("LockTruth$PlainLock.hold", "LockTruth$PlainLock.enter"),
    REENTRANT: ("LockTruth$Reentrant.hold", "LockTruth$Reentrant.enter"),
    SEMAPHORE: (None, "LockTruth$Permits.enter"),
}
TOLERANCE = 0.01
EACH_NS = 50_000
UNMOUNTED = 1  # a virtual thread's first wait for a monitor, whose owner is mounted nowhere


def locks(test):
    sampled.check_unless_chance(test, lambda _: from_the_start(test))
    if test.events == "instrument":
        sampled.check_unless_chance(test, lambda _: attached(test))
        sampled.check_unless_chance(test, lambda _: killed(test))
        for kind in ("platform", "virtual") if test.major >= 21 else ("platform",):
            sampled.check_unless_chance(test, lambda _, kind=kind: in_turns(test, kind))
        switched_off(test)


def from_the_start(test):
    agent = test.agent_option(include=INCLUDE, sample="none", waits="on")
    with running(test, PROCESSORS, "LockTruth", agent=agent) as program:
        told, delay_ns = one_round(program)
        ended = program.end()
    test.check(ended.status == 0, f"{ended}")
    views = test.checked_report()
    found = test.report("locks", test.ledger)["locks"]
    edges = edges_of(test, test.ledger)
    check_edges(test, edges, told, delays(test, test.ledger, told, delay_ns))
    check_places(test, found, told)
    check_held(test, found, told, delay_ns)
    check_total(test, found, views["threads"]["threads"])
    check_kept(test, found, edges)
    test.ledger.unlink()


def attached(test):
    """What is waited while profiling is stopped is in no number."""
    with running(test, PROCESSORS, "LockTruth") as program:
        program.attach(include=INCLUDE, sample="none", waits="on")
        told, delay_ns = one_round(program)
        program.done("stop")
        unheard, _ = one_round(program)
        program.done("start")
        more, more_ns = one_round(program)
        told |= more
        program.done("dump", "-o", test.ledger)
        edges = edges_of(test, test.ledger)
        check_edges(test, edges, told, delays(test, test.ledger, told, delay_ns + more_ns))
        waiters = {waiter for waiter, _, _ in edges}
        for waiter, _ in unheard:
            test.check(waiter not in waiters, f"{waiter} waited while profiling was stopped")
        test.ledger.unlink()


def killed(test):
    """A wait that is under way counts, too."""
    agent = test.agent_option(include=INCLUDE, sample="none", waits="on")
    with running(test, PROCESSORS, "LockTruth", agent=agent) as program:
        told, delay_ns = one_round(program)
        program.process.kill()
        program.process.wait()
    ledgers = test.live_ledgers(program.pid)
    test.check(len(ledgers) == 1, f"live ledgers: {ledgers}")
    edges = edges_of(test, ledgers[0], note_allowed=True)
    check_edges(test, edges, told, delays(test, ledgers[0], told, delay_ns, True))
    check_kept(test, test.report("locks", ledgers[0], True)["locks"], edges)
    least_ns = sum(ns for (waiter, _), (_, ns, _) in told.items() if waiter.startswith("platform-"))
    count, ns = edges.get(("long-waiter", "main", KEPT), (0, 0))
    test.check(count == 1 and ns >= least_ns, f"long-waiter: {count} waits, {ns} ns, it waited {least_ns} at least")
    ledgers[0].unlink()


def in_turns(test, kind):
    """Nobody owns a fair lock between its hand-over and the moment when its next owner runs: that one is waited for."""
    agent = test.agent_option(sample="none", waits="on")
    ended = test.java(PROCESSORS, "FairLock", kind, agent=agent)
    test.check(ended.status == 0, f"{ended}")
    told = {tuple(line.split()[1:3]): int(line.split()[3]) for line in ended.out.splitlines() if line.startswith("expect ")}
    edges = edges_of(test, test.ledger)
    found = {(waiter, owner): count for (waiter, owner, lock), (count, _) in edges.items() if lock == FAIR}
    for pair, times in told.items():
        test.check_likely(abs(found.get(pair, 0) - times) <= OFF_TURN, f"{kind} {pair}",
                          f"{kind}: {pair[0]} waited {found.get(pair, 0)} times for {pair[1]}, which was the next {times} times")
    test.ledger.unlink()


def switched_off(test):
    test.java("MutualRecursion", agent=test.agent_option())
    test.check(test.report("locks", test.ledger)["locks"] == [], "locks without waits=on")
    text = test.text_report(test.ledger, "--view", "blockers").out
    test.check("they need waits=on" in text, text)


def one_round(program):
    """What the threads measured, and what they lacked processors meanwhile."""
    answer, delay_ns = program.ask_timed("round")
    return measured(answer), delay_ns


def delays(test, ledger, told, delay_ns, note_allowed=False):
    """{waiter: ns}: a thread that gets no processor before its looks at the clock takes that for a wait. Of a virtual
    thread the kernel knows only its carriers, and all threads beside them."""
    runnable = {row["name"]: row["waits"]["runnable_ns"] for row in test.report("waits", ledger, note_allowed)["threads"]}
    return {waiter: delay_ns if waiter.startswith("virtual-") else runnable.get(waiter, 0) for waiter, _ in told}


def measured(answer):
    """{(waiter, class): (holder or None, ns, times)}"""
    told = {}
    for waiter, holder, lock, ns, times in (row.split() for row in answer.split("; ")):
        told[waiter, lock] = (None if holder == "-" else holder, int(ns), int(times))
    return told


def edges_of(test, ledger, note_allowed=False):
    """{(waiter, blocker or None, class): (count, ns)}"""
    edges = test.report("blockers", ledger, note_allowed)["edges"]
    found = {(edge["waiter"], edge["blocker"], edge["lock"]): (edge["count"], edge["wait_ns"]) for edge in edges}
    test.check(len(found) == len(edges), f"edges twice: {edges}")
    return found


def is_near(found_ns, expected_ns, times, delay_ns=0):
    return abs(found_ns - expected_ns) <= max(expected_ns * TOLERANCE, times * EACH_NS) + delay_ns


def check_edges(test, edges, told, without_processor):
    """Every wait has its holder, and no other."""
    for (waiter, lock), (holder, ns, times) in told.items():
        mine = {blocker: edge for (who, blocker, what), edge in edges.items() if (who, what) == (waiter, lock)}
        counts = {blocker: count for blocker, (count, _) in mine.items()}
        sum_ns = sum(wait_ns for _, wait_ns in mine.values())
        is_free = waiter.startswith("virtual-") and lock.startswith("LockTruth$")
        unknown = counts.get(None, 0) if holder else 0
        test.check_likely(set(counts) <= {holder, None} and counts.get(holder, 0) + unknown == times
                          and unknown <= (UNMOUNTED if is_free else 0),
                          f"{waiter} counts", f"{waiter}: {counts} waits for {lock}, by itself {times} for {holder}")
        test.check_likely(is_near(sum_ns, ns, times, without_processor[waiter]), f"{waiter} ns",
                          f"{waiter}: {sum_ns} ns for {lock}, by its own clock {ns} in {times} waits")


def of_class(found, lock):
    return [row for row in found if row["class"] == lock]


def check_places(test, found, told):
    for lock in {lock for _, lock in told}:
        held, entered = PLACES[lock]
        for row in of_class(found, lock):
            test.check(row["kind"] == ("monitor" if lock.startswith("LockTruth$") else "park"), f"{row}")
            for path in (waiter["path"] for waiter in row["waiters"]):
                test.check("LockTruth.waitFor" in path and entered in path, f"{lock}: waited for in {path}")
            for path in (blocker["path"] for blocker in row["blockers"] if blocker["path"]):
                test.check_likely("LockTruth.own" in path and held in path, f"{lock} held",
                                  f"{lock}: held in {path}")


def check_held(test, found, told, delay_ns):
    """Each moment counts once: all of a crowd wait at the same time, but do not begin at the same moment."""
    for lock in {lock for _, lock in told if lock.startswith("LockTruth$")}:
        hold_ns = sum(row["blocked_ns"] for row in of_class(found, lock))
        mine = [(ns, times) for (_, what), (_, ns, times) in told.items() if what == lock]
        times = sum(times for _, times in mine)
        expected_ns = max(ns for ns, _ in mine) if lock == CROWD else sum(ns for ns, _ in mine)
        most_ns = 2 * expected_ns if lock == CROWD else expected_ns
        test.check_likely(is_near(hold_ns, min(max(hold_ns, expected_ns), most_ns), times, delay_ns), f"{lock} hold",
                          f"{lock}: held {hold_ns} ns while it was waited for, by the waiters' clocks {expected_ns}")


def check_total(test, found, threads):
    """What waits for monitors add up to is the metric, which other code counts: less the CPU time in them."""
    monitors = [row for row in found if row["kind"] == "monitor"]
    in_rows_ns = sum(row["wait_ns"] for row in monitors)
    times = sum(row["contentions"] for row in monitors)
    metric_ns = sum(thread["metrics"]["monitor_wait"] for thread in threads)
    test.check_likely(is_near(in_rows_ns, metric_ns, times), "total",
                      f"{in_rows_ns} ns in {times} waits for monitors, {metric_ns} ns of monitor_wait")
    parked_ns = sum(row["wait_ns"] for row in found if row["kind"] == "park")
    metric_ns = sum(thread["metrics"]["park"] for thread in threads)
    test.check_likely(parked_ns <= metric_ns * (1 + TOLERANCE) + times * EACH_NS, "parks",
                      f"{parked_ns} ns in parks for locks, {metric_ns} ns of park")


def check_kept(test, found, edges):
    rows = of_class(found, KEPT)
    test.check(len(rows) == 1 and rows[0]["contentions"] == 1 and rows[0]["owner_unknown"] == 0, f"{rows}")
    for row in rows:
        test.check([blocker["path"][:1] for blocker in row["blockers"]] == [["LockTruth.main"]], f"{row['blockers']}")
        test.check([waiter["path"][-1] for waiter in row["waiters"]] == ["LockTruth.enterLong"], f"{row['waiters']}")
    test.check(("long-waiter", "main", KEPT) in edges, f"{sorted(map(str, edges))}")


if __name__ == "__main__":
    harness.main(locks)
