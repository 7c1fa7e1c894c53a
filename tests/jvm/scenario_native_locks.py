"""Threads that wait in native code for locks of the C library, or in futex(2) itself, and take the time themselves: how often and how long
they waited, for whom, and how long the locks were held. Of a lock that nobody has waited for before, the hold that is
the first to be waited for is not seen, which is counted."""

import dataclasses
import json

import harness
import sampled
from running import running

PROCESSORS = "-Djdk.virtualThreadScheduler.parallelism=2"
TOLERANCE = 0.01
EACH_NS = 50_000
LIBRARY = "libnative_locks.so"
BOUND = "native_locks_bound"  # the same, whose calls are bound when it is loaded
C11 = "native_locks_c11"  # the same kinds of C11's threads.h
REFUSED = "images of native libraries whose waits are not recorded: their calls could not be replaced"
TYPES = {**dict.fromkeys(("mutex", "recursive", "timed", "clocked", "expired", "robust"), "pthread_mutex_t"),
         **dict.fromkeys(("writer", "timed_writer", "clocked_writer", "reader", "timed_reader", "clocked_reader"), "pthread_rwlock_t"),
         **dict.fromkeys(("condition", "timed_condition", "clocked_condition"), "pthread_cond_t"),
         **dict.fromkeys(("semaphore", "timed_semaphore", "clocked_semaphore"), "sem_t"),
         "barrier": "pthread_barrier_t",
         **dict.fromkeys(("join", "timed_join", "clocked_join"), "pthread_t"),
         **dict.fromkeys(("futex", "futex_bitset", "futex_pi"), "futex")}
C11_TYPES = {**dict.fromkeys(("mutex", "recursive", "timed", "expired"), "mtx_t"),
             **dict.fromkeys(("condition", "timed_condition"), "cnd_t"), "join": "thrd_t"}
JOINED = {"joined", None}  # who is waited for in a join: a thread that runs Java, or another one
FIRST_HOLDS = 3  # of mutex, recursive and rwlock; that of robust does not end
OWNED = ("pthread_mutex_t", "pthread_rwlock_t")
OWNED_C11 = ("mtx_t",)


@dataclasses.dataclass
class Waited:
    """For the locks of one type."""
    waits: int = 0
    wait_ns: int = 0
    holds: int = 0
    hold_ns: int = 0
    acquisitions: int = 0

    def __sub__(self, other):
        return Waited(*(a - b for a, b in zip(dataclasses.astuple(self), dataclasses.astuple(other))))

    def __add__(self, other):
        return Waited(*(a + b for a, b in zip(dataclasses.astuple(self), dataclasses.astuple(other))))


def native_locks(test):
    sampled.check_unless_chance(test, lambda _: from_the_start(test))
    sampled.check_unless_chance(test, lambda _: attached(test))
    sampled.check_unless_chance(test, lambda _: of_c11(test))
    refused(test)


def from_the_start(test):
    agent = test.agent_option(events="instrument", include="NativeLocks*", sample="none", waits="on")
    with running(test, PROCESSORS, "NativeLocks", agent=agent) as program:
        first, _ = one_round(program, "round")
        before = found(test, program)
        for kind, truth in first.items():
            test.check(before[kind].waits == truth.waits, f"{kind}: {before[kind]} at first, by itself {truth}")
        check_unseen(test)
        exact(test, program, "round", before)
        if test.major >= 21:
            exact(test, program, "round virtual", found(test, program))
        stopped(test, program)
        between(test, program)
        check_unseen(test)
        ended = program.end()
    test.check(ended.status == 0, f"{ended}")
    test.checked_report()
    check_edges(test)
    check_parks(test)
    test.ledger.unlink()


def attached(test):
    """The library is there before the agent, its calls in read-only memory."""
    with running(test, PROCESSORS, f"-Dlocks={BOUND}", "NativeLocks") as program:
        one_round(program, "round")
        program.attach(include="NativeLocks*", sample="none", waits="on")
        one_round(program, "round")
        exact(test, program, "round", found(test, program))
        check_unseen(test)
        ended = program.end()
    test.check(ended.status == 0, f"{ended}")
    test.ledger.unlink(missing_ok=True)


def of_c11(test):
    agent = test.agent_option(events="instrument", include="NativeLocks*", sample="none", waits="on")
    with running(test, PROCESSORS, f"-Dlocks={C11}", f"-Dkinds={','.join(C11_TYPES)}", "NativeLocks", agent=agent) as program:
        first, _ = one_round(program, "round", C11_TYPES)
        before = found(test, program)
        for kind, truth in first.items():
            test.check(before[kind].waits == truth.waits, f"{kind}: {before[kind]} at first, by itself {truth}")
        check_unseen(test)
        exact(test, program, "round", before, C11_TYPES)
        ended = program.end()
    test.check(ended.status == 0, f"{ended}")
    test.checked_report()
    check_edges(test, C11, OWNED_C11, "thrd_t in")
    test.ledger.unlink()


def refused(test):
    """No memory may be made writable: the program runs as without the agent, and the report says what is missing."""
    preload = f"LD_PRELOAD={test.libraries}/librefused_mprotect.so"
    agent = test.agent_option(events="instrument", include="NativeLocks*", sample="none", waits="on")
    with running(test, f"-Dlocks={BOUND}", "NativeLocks", agent=agent, prefix=("env", preload)) as program:
        told, _ = one_round(program, "round")
        test.check(all(truth.waits > 0 for truth in told.values()), f"the program's own waits: {told}")
        warned = [line for line in test.printed() if "calls cannot be replaced" in line]
        ended = program.end()
    test.check(ended.status == 0, f"{ended}")
    test.check(len(warned) == 1, f"warned {warned}")
    test.checked_report()
    report = test.report("locks", test.ledger)
    test.check(not native_rows(test, report), f"locks of a library that could not be changed: {report['locks']}")
    losses = {loss["what"]: loss["count"] for loss in report.get("losses", ())}
    test.check(losses == {"unwrapped_images": 1}, f"lost: {losses}")
    text = test.text_report(test.ledger, "--view", "locks").out
    test.check(REFUSED.replace("images", "1 image", 1) in text, text)
    test.ledger.unlink()


def exact(test, program, order, before, types=None):
    told, delay_ns = one_round(program, order, types)
    after = found(test, program)
    for kind, truth in told.items():
        seen = after[kind] - before[kind]
        for what in ("waits", "holds", "acquisitions"):
            test.check_likely(getattr(seen, what) == getattr(truth, what), f"{order} {kind} {what}",
                              f"{order}, {kind}: {seen}, by itself {truth}")
        for count, what in ((truth.waits, "wait_ns"), (truth.holds, "hold_ns")):
            allowed_ns = max(getattr(truth, what) * TOLERANCE, count * EACH_NS) + delay_ns
            test.check_likely(abs(getattr(seen, what) - getattr(truth, what)) <= allowed_ns, f"{order} {kind} {what}",
                              f"{order}, {kind}: {seen}, by itself {truth}; delayed {delay_ns} ns")


def check_unseen(test):
    """The snapshot of just now counts the first hold of each lock that was waited for, and no other hold."""
    unseen = test.report("locks", test.ledger)["unseen_holds"]
    test.check_likely(unseen == FIRST_HOLDS, "unseen", f"{unseen} holds are not seen, of {FIRST_HOLDS}")
    text = test.text_report(test.ledger, "--view", "locks").out
    test.check(f"at least {unseen} holds that somebody had to wait for, not in HOLDS" in text, text)


def stopped(test, program):
    """What is waited and held while profiling is stopped is in no number."""
    before = found(test, program)
    program.done("stop")
    one_round(program, "round")
    test.check(found(test, program) == before, "waits or holds while profiling was stopped")
    program.done("start")
    exact(test, program, "round", before)


def between(test, program):
    """Of two snapshots the later less the earlier is what was between them."""
    earlier = test.scratch / "earlier.ledger"
    program.done("dump", "-o", earlier)
    told, _ = one_round(program, "round")
    program.done("dump", "-o", test.ledger)
    done = test.text_report(test.ledger, "--since", earlier, "--view", "locks", "--json")
    test.check(done.status == 0, f"report --since: {done}")
    seen = by_type(native_rows(test, json.loads(done.out)))
    for kind, truth in told.items():
        for what in ("waits", "holds", "acquisitions"):
            test.check_likely(getattr(seen[kind], what) == getattr(truth, what), f"between {kind} {what}",
                              f"--since, {kind}: {seen[kind]}, by itself {truth}")
    earlier.unlink()


def one_round(program, order, types=None):
    """{type: Waited} as the program itself measured."""
    types = types or TYPES
    answer, delay_ns = program.ask_timed(order)
    told = {kind: Waited() for kind in set(types.values())}
    for row in answer.split("; "):
        kind, *numbers = row.split()
        told[types[kind]] += Waited(*map(int, numbers))
    return told, delay_ns


def rows(test):
    return native_rows(test, test.report("locks", test.ledger))


def native_rows(test, report):
    found_rows = [row for row in report["locks"] if row["kind"] == "native"]
    for row in found_rows:
        test.check(row["class"].endswith((f" in {LIBRARY}", f" in lib{BOUND}.so", f" in lib{C11}.so")), f"{row}")
    return found_rows


def found(test, program):
    """{type: Waited} by the ledger."""
    program.done("dump", "-o", test.ledger)
    return by_type(rows(test))


def by_type(lock_rows):
    sums = {kind: Waited() for kind in {*TYPES.values(), *C11_TYPES.values()}}
    for row in lock_rows:
        sums[row["class"].split()[0]] += Waited(row["contentions"], row["wait_ns"], row["holds"], row["hold_ns"],
                                                row["acquisitions"] or 0)
    return sums


def check_edges(test, library=LIBRARY, types=OWNED, join="pthread_t in"):
    """Who has what has an owner is `owner`, wherever that is known."""
    edges = [edge for edge in test.report("blockers", test.ledger)["edges"] if library in str(edge["lock"])]
    owned = [edge for edge in edges if any(kind in str(edge["lock"]) for kind in types)]
    test.check(owned and all(edge["blocker"] == "owner" for edge in owned), f"{owned}")
    test.check(all(edge["blocker"] != "owner" for edge in edges if edge not in owned), f"{edges}")
    joins = [edge for edge in edges if join in str(edge["lock"])]
    test.check({edge["blocker"] for edge in joins} == JOINED, f"{joins}")


def check_parks(test):
    """A wait in native code is one of the parts of its thread's time."""
    waiters = [row for row in test.report("waits", test.ledger)["threads"] if row["name"] == "waiter"]
    waited_ns = sum(row["wait_ns"] for row in rows(test))
    parked_ns = sum(row["waits"]["park_ns"] for row in waiters)
    if test.major < 21:  # virtual threads have no name here
        test.check_likely(abs(parked_ns - waited_ns) <= waited_ns * TOLERANCE, "parks",
                          f"parked {parked_ns} ns, waited for locks {waited_ns} ns")


if __name__ == "__main__":
    harness.main(native_locks)
