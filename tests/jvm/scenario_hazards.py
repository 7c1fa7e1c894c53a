"""Threads that wait for each other for ever, and what looks so and is not: deadlocks of known shapes are found in the
live ledger within a second, as the JVM itself finds them; with the agent from the start and attached, with waits that
nobody heard, and killed. Locks in both orders, priority inversions and convoys are found where there are any, and
nowhere else."""
import json
import time

import harness
import sampled
from running import running

REENTRANT = "java.util.concurrent.locks.ReentrantLock$NonfairSync"
WRITE = "java.util.concurrent.locks.ReentrantReadWriteLock$NonfairSync"
CLASSES = {"l": REENTRANT, "w": WRITE, "r": WRITE, "s": WRITE}
READ = ("rm", "sm", "rr", "slr", "r", "s")  # with locks that are read, which the JVM itself does not look at
SHAPES = ("mm", "ll", "ml", "mmm", "lll", "mlw", "wm", *READ)
WRITERS, READERS = 80, 60  # 4,800 pairs; there is room for 4,096
SECOND_NS = 1_000_000_000
CONVOY_TURN_NS = 1_000_000  # tools/report/report_hazards.h
HAZARDS = ("deadlocks", "lock_order", "inversions", "convoys")


def hazards(test):
    sampled.check_unless_chance(test, lambda longer: deadlocks(test, longer))
    sampled.check_unless_chance(test, lambda longer: in_noise(test, longer))
    unheard(test)
    attached(test)
    killed(test)
    queues(test)
    readers(test)
    many_readers(test)
    no_deadlocks(test)
    orders(test)
    orders_of_locks(test)
    orders_behind_lock(test)
    orders_behind_reads(test)
    priorities(test)
    sampled.check_unless_chance(test, lambda _: convoys(test))


def agent(test, **options):
    return test.agent_option(include="Hazards*", sample="none", waits="on", **options)


# ---- deadlocks ----

def deadlocks(test, longer):
    """Each shape, of platform threads as the JVM describes them, of virtual threads as they were made."""
    with running(test, "Hazards", agent=agent(test)) as program:
        for is_virtual in (False, True) if test.major >= 24 else (False,):
            for shape in SHAPES:
                name = f"{'v' if is_virtual else 'p'}{longer}{shape}"
                answer = program.ask(f"deadlock {name} {shape}{' virtual' if is_virtual else ''}")
                found = wait_for(test, program, name)
                check_shape(test, found, name, shape)
                check_time(test, found, name)
                if not is_virtual and shape not in READ:
                    check_as_told(test, found, answer)
        check = program.treadle("report", "--check", "hazards")
        test.check(check.status == 3 and "has hazards" in check.err, f"--check hazards: {check}")
        test.check(len(live(program)["deadlocks"]) == len(SHAPES) * (2 if test.major >= 24 else 1), f"{check.out}")
        program.end()
    closed = test.report("hazards")
    test.check(len(closed["deadlocks"]) == len(SHAPES) * (2 if test.major >= 24 else 1), "lost in the snapshot")
    test.ledger.unlink()


def in_noise(test, longer):
    """Waits that the budget has no room for, because other threads wait all the time."""
    with running(test, "Hazards", agent=agent(test, events="instrument", overhead="2%")) as program:
        program.ask("noise")
        before = unheard_waits(program)
        test.wait_until(lambda: unheard_waits(program) > before + 20_000, "all waits have room")
        for is_virtual in (True, False) if test.major >= 24 else (False,):
            for shape in SHAPES:
                name = f"{'v' if is_virtual else 'p'}{longer}{shape}"
                answer = program.ask(f"deadlock {name} {shape}{' virtual' if is_virtual else ''}")
                made_ns = time.time_ns()
                found = wait_for(test, program, name)
                check_shape(test, found, name, shape)
                if is_virtual:
                    check_time(test, found, name)
                else:
                    test.check_likely(found["found_ns"] - made_ns < SECOND_NS, f"time {name[2:]}",
                                      f"{name}: found {found['found_ns']}, made {made_ns}")
                    if shape not in READ:
                        check_as_told(test, found, answer)
        program.end()
    test.ledger.unlink()


def unheard_waits(program):
    return json.loads(program.done("report", "--view", "waits", "--json"))["budget"]["unheard_waits"]


def unheard(test):
    """Waits that began while profiling was stopped."""
    with running(test, "Hazards", agent=agent(test)) as program:
        program.done("stop")
        answers = {shape: program.ask(f"deadlock s{shape} {shape}") for shape in SHAPES}
        program.done("start")
        for shape, answer in answers.items():
            found = wait_for(test, program, f"s{shape}")
            check_shape(test, found, f"s{shape}", shape)
            if shape not in READ:
                check_as_told(test, found, answer)


def attached(test):
    """The first thing that anybody does with a program that hangs."""
    with running(test, "Hazards") as program:
        answers = {shape: program.ask(f"deadlock a{shape} {shape}") for shape in SHAPES}
        program.attach(include="Hazards*", sample="none", waits="on")
        for shape, answer in answers.items():
            found = wait_for(test, program, f"a{shape}")
            check_shape(test, found, f"a{shape}", shape)
            if shape not in READ:
                check_as_told(test, found, answer)
        answer = program.ask("deadlock later lm")
        found = wait_for(test, program, "later")
        check_shape(test, found, "later", "lm")
        check_as_told(test, found, answer)


def killed(test):
    with running(test, "Hazards", agent=agent(test)) as program:
        program.ask("deadlock k mlm")
        wait_for(test, program, "k")
        program.process.kill()
        program.process.wait()
    ledgers = test.live_ledgers(program.pid)
    test.check(len(ledgers) == 1, f"live ledgers: {ledgers}")
    found = [one for one in test.report("hazards", ledgers[0], True)["deadlocks"] if is_of(one, "k")]
    test.check(len(found) == 1, f"a killed process: {found}")
    ledgers[0].unlink()


def live(program):
    run = program.treadle("report", "--view", "hazards", "--json")
    program.test.check(run.status == 0, f"{run}")
    return json.loads(run.out)


def is_of(deadlock, name):
    return all(thread.startswith(name + "-") for thread in deadlock["threads"])


def wait_for(test, program, name):
    """The one deadlock of these threads."""
    found = test.wait_until(lambda: [one for one in live(program)["deadlocks"] if is_of(one, name)],
                            f"no deadlock of {name}")
    test.check(len(found) == 1, f"{name}: {found}")
    return found[0]


def class_of(kind, number):
    return CLASSES.get(kind, f"Hazards${'ABC'[number]}")


def check_shape(test, found, name, shape):
    """Thread i waits for the lock after its own, which the next thread of the deadlock holds."""
    count = len(shape)
    numbers = [int(thread.rpartition("-")[2]) for thread in found["threads"]]
    test.check(sorted(numbers) == list(range(count)), f"{name}: {found}")
    test.check(not found["ends_by_itself"], f"{name} ends by itself: {found}")
    for i, number in enumerate(numbers):
        next_number = (number + 1) % count
        test.check(numbers[(i + 1) % count] == next_number, f"{name}: who waits for whom: {found}")
        test.check(found["locks"][i].partition("@")[0] == class_of(shape[next_number], next_number),
                   f"{name}: {found['threads'][i]} waits for {found['locks'][i]}")
        test.check("Hazards.takeBoth" in found["paths"][i], f"{name}: {found['paths'][i]}")
        test.check(found["behind"][i] is False, f"{name}: {found['behind']}")


def check_time(test, found, name):
    """By the ledger's own clock: from the begin of the last wait."""
    test.check_likely(found["since_ns"] is not None and found["found_ns"] - found["since_ns"] < SECOND_NS,
                      f"time {name[2:]}", f"{name}: found {found['found_ns']}, began {found['since_ns']}")


def check_as_told(test, found, answer):
    """The JVM's own words: `thread class@identity owner`."""
    told = {tuple(row.split()) for row in answer.split("; ")}
    count = len(found["threads"])
    mine = {(thread, found["locks"][i], found["threads"][(i + 1) % count])
            for i, thread in enumerate(found["threads"])}
    test.check(mine == told, f"found {mine}, by the JVM {told}")


def kinds_of_threads(test):
    return ("", " virtual") if test.major >= 24 else ("",)


def queues(test):
    """Threads that wait for their turn behind one that waits for a reader, and for one of several readers."""
    with running(test, "Hazards", agent=agent(test)) as program:
        for kind in kinds_of_threads(test):
            name = f"q{kind.strip()}"
            program.ask(f"behind {name}{kind}")
            found = wait_for(test, program, name)
            test.check(found["threads"] in rotated([f"{name}-{i}" for i in (0, 2, 1)]), f"{found}")
            for thread, lock, behind in zip(found["threads"], found["locks"], found["behind"]):
                test.check(behind == thread.endswith("-2"), f"{thread} waits for a turn: {found}")
                expected = "Hazards$A" if thread.endswith("-0") else WRITE
                test.check(lock.partition("@")[0] == expected, f"{thread} waits for {lock}")
            name = f"two{kind.strip()}"
            program.ask(f"one-of-two {name}{kind}")
            found = wait_for(test, program, name)
            test.check(found["threads"] in rotated([f"{name}-{i}" for i in (0, 1)]), f"{found}")
        view = live(program)
        test.check(len(view["deadlocks"]) == 2 * len(kinds_of_threads(test)), f"{view['deadlocks']}")
        test.check(view["looked_at"]["ended_deadlocks"] == 0, f"{view['looked_at']}")


def rotated(threads):
    return [threads[i:] + threads[:i] for i in range(len(threads))]


# ---- what is none ----

def readers(test):
    """Threads that wait for readers without a deadlock: a deadlock that began after that is found, and nothing else;
    also where waits have no record, after an attach."""
    with running(test, "Hazards", agent=agent(test)) as program:
        check_readers(test, program)
    with running(test, "Hazards") as program:
        for kind in kinds_of_threads(test):
            program.ask(f"readers n{kind.strip()}{kind}")
        program.attach(include="Hazards*", sample="none", waits="on")
        check_readers(test, program)


def check_readers(test, program):
    for kind in kinds_of_threads(test):
        program.ask(f"readers r{kind.strip()}{kind}")
    for shape in ("mm", "rm"):
        program.ask(f"deadlock x{shape} {shape}")
        wait_for(test, program, f"x{shape}")
    view = live(program)
    test.check(len(view["deadlocks"]) == 2 and view["looked_at"]["ended_deadlocks"] == 0, f"{view}")


def many_readers(test):
    """More pairs of writers and readers than the look for deadlocks has room for: what is left out is counted."""
    with running(test, "Hazards", agent=agent(test)) as program:
        program.ask("many few 10 10")
        program.ask("deadlock m mm")
        wait_for(test, program, "m")
        test.check(not unwatched(program), f"waits are left out: {unwatched(program)}")
        program.ask(f"many all {WRITERS} {READERS}")
        test.wait_until(lambda: unwatched(program), "no wait was left out")
        test.check(unwatched(program) < WRITERS, f"{unwatched(program)} waits are left out")


def unwatched(program):
    return sum(loss["count"] for loss in live(program).get("losses", ()) if loss["what"] == "unwatched_waits")


def no_deadlocks(test):
    """A deadlock with a wait that will end is called that, fails no check, and is no more when it is over."""
    with running(test, "Hazards", agent=agent(test)) as program:
        program.ask("hand-over")
        program.ask("gated")
        view = live(program)
        test.check(not any(view[kind] for kind in HAZARDS), f"nothing is wrong: {view}")
        test.check(view["looked_at"]["ended_deadlocks"] == 0, f"nothing was wrong: {view['looked_at']}")
        test.check(view["looked_at"]["orders"] > 0, f"orders of locks: {view['looked_at']}")
        answer = program.ask("try")
        found = wait_for(test, program, "try")
        test.check(found["ends_by_itself"], f"{found}")
        check_as_told(test, found, answer)
        test.check(program.treadle("report", "--check", "hazards").status == 0, "a deadlock that ends by itself")
        program.ask("give-up")
        test.wait_until(lambda: not live(program)["deadlocks"], "a deadlock that is over")
        view = live(program)
        test.check(view["looked_at"]["ended_deadlocks"] == 1, f"{view['looked_at']}")
        test.check(program.treadle("report", "--check", "hazards").status == 0, "nothing is wrong")


def orders(test):
    """Nothing has happened yet."""
    with running(test, "Hazards", agent=agent(test)) as program:
        program.ask("orders")
        view = live(program)
        test.check(program.treadle("report", "--check", "hazards").status == 3, "locks in both orders")
    pairs = view["lock_order"]
    test.check(len(pairs) == 1 and not view["deadlocks"], f"{view}")
    for pair in pairs:
        test.check([lock.partition("@")[0] for lock in pair["locks"]] == ["Hazards$A", "Hazards$B"], f"{pair}")
        test.check(pair["threads"] == ["free-forward", "free-backward"], f"{pair}")
        for path in pair["paths"]:
            test.check("Hazards.inOrder" in path and "Hazards.bothOrders" in " ".join(path).replace("lambda$", ""),
                       f"{path}")


def orders_of_locks(test):
    """Held Locks are known once they were contended, and the hook for that is there a little later."""
    with running(test, "Hazards", agent=agent(test, events="instrument")) as program:
        program.ask("contended ll")
        test.wait_until(lambda: program.ask("contended ll") and live(program)["lock_order"], "no order of Locks")
        test.wait_until(lambda: program.ask("contended lm") and len(live(program)["lock_order"]) > 1,
                        "no order of a Lock and a monitor")
        for kinds in ("ll", "lm"):
            for _ in range(3):
                program.ask(f"contended-gated {kinds}")
        view = live(program)
    found = sorted(tuple(lock.partition("@")[0] for lock in pair["locks"]) for pair in view["lock_order"])
    test.check({frozenset(classes) for classes in found} == {frozenset({REENTRANT}), frozenset({REENTRANT, "Hazards$B"})}
               and len(found) == 2, f"{view}")
    for pair in view["lock_order"]:
        test.check(set(pair["threads"]) == {"free-forward", "free-backward"}, f"{pair}")
    test.check(not view["deadlocks"], f"{view}")


def orders_behind_lock(test):
    """A Lock that nobody ever waits for guards both orders: that is known a little after they were seen first, and
    until then the report says that it is not known."""
    with running(test, "Hazards", agent=agent(test, events="instrument")) as program:
        program.ask("guarded")
        pairs = live(program)["lock_order"]
        test.check([pair["locks_known"] for pair in pairs] == [False], f"seen once: {pairs}")
        text = program.done("report", "--view", "hazards")
        test.check("or a Lock guards both" in text, text)
        test.wait_until(lambda: program.ask("guarded") and not live(program)["lock_order"], "a Lock guards both orders")
        test.check(program.treadle("report", "--check", "hazards").status == 0, "a Lock guards both orders")
        pairs = test.wait_until(lambda: program.ask("unguarded") and known(live(program)["lock_order"]),
                                "no Lock guards them")
        test.check(any(thread.startswith("unguarded-") for thread in pairs[0]["threads"]), f"{pairs}")
        test.check(program.treadle("report", "--check", "hazards").status == 3, "locks in both orders")


def orders_behind_reads(test):
    """A lock that both threads read guards nothing."""
    with running(test, "Hazards", agent=agent(test, events="instrument")) as program:
        test.wait_until(lambda: program.ask("read-guarded") and known(live(program)["lock_order"]), "nothing guards them")


def known(pairs):
    return [pair for pair in pairs if pair["locks_known"]]


def priorities(test):
    with running(test, "Hazards", agent=agent(test)) as program:
        program.ask("priorities")
        view = live(program)
    found = [(one["waiter"], one["waiter_priority"], one["holder"], one["holder_priority"], one["count"])
             for one in view["inversions"]]
    test.check(found == [("inverted-8", 8, "inverted-2", 2, 1)], f"{view['inversions']}")
    test.check(not view["deadlocks"] and not view["lock_order"] and not view["convoys"], f"{view}")


def convoys(test):
    """A queue is no convoy where turns take long, as they do on a busy machine."""
    with running(test, "Hazards", agent=agent(test)) as program:
        turn_ns = int(program.ask("queue").split()[1])
        view = live(program)
    found = [one["lock"].partition("@")[0] for one in view["convoys"]]
    print(f"a turn took {turn_ns} ns")
    test.check_likely(found == ["Hazards$A"] or (turn_ns > CONVOY_TURN_NS * 4 // 5 and not found), "convoy",
                      f"a turn took {turn_ns} ns: {view['convoys']}")
    test.check(not view["deadlocks"] and not view["lock_order"] and not view["inversions"], f"{view}")


if __name__ == "__main__":
    harness.main(hazards)
