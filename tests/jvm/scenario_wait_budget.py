"""Reasons of waits within a budget: while a program waits so often that its waits would take more than their part, they
are counted and timed only, those of virtual threads counted only; when it waits less often they are heard in full again,
all of them. Without a budget every wait is heard."""

import json

import harness
from running import running

NAPS = 40
LOCKS = 20
LOCKS_LEAST = 18  # a park may be one too many to be looked at
# What a nap takes by the program's clocks, beyond the begin and the end of its wait by the agent's, and beyond the time
# without a processor.
OFF_NS = 50_000
PART = 200  # the parts of the wall time add up within half a percent


def wait_budget(test):
    within(test)
    if test.major >= 21:
        of_virtual_threads(test)
    without(test)


def within(test):
    agent = test.agent_option(events="instrument", overhead="2%", include="no.such.*", sample="none")
    with running(test, "WaitRates", agent=agent) as program:
        test.check(waits(program)["unheard_waits"] == 0, "waits have no room at rest")
        program.ask("fast")
        test.wait_until(lambda: waits(program)["timed_waits"] > 10_000, "few waits are timed")
        check_players(test, program)
        check_locks(test, program)
        program.ask("slow")
        test.wait_until(lambda: all_told(program), "the naps have no reason")
        heard = waits(program)["heard_waits"]
        test.wait_until(lambda: program.ask(f"nap {NAPS}") and waits(program)["heard_waits"] > heard + NAPS,
                        "the naps are not heard in full again")
        before = told_of_naps(test, program)
        after = told_of_naps(test, program)
        test.check(after["unheard_waits"] == before["unheard_waits"], f"{before} became {after}")
        test.check(after["waits_ns"] > before["waits_ns"] > 0, f"{before} became {after}")
        text = program.done("report", "--view", "waits")
        test.check("of the waits have the time from begin to end" in text, text)
        program.end()


def of_virtual_threads(test):
    """They park as fast as they can: what has no room is counted, and the report says where its time is."""
    test.ledger.unlink(missing_ok=True)
    agent = test.agent_option(events="instrument", overhead="2%", include="no.such.*", sample="none")
    with running(test, "-Djdk.virtualThreadScheduler.parallelism=1", "WaitRates", agent=agent) as program:
        program.ask("fast virtual")
        test.wait_until(lambda: waits(program)["unheard_virtual_waits"] > 10_000, "few waits have no room")
        program.ask("slow")
        told = waits(program)
        test.check(told["unheard_virtual_waits"] + told["timed_waits"] <= told["unheard_waits"], f"{told}")
        text = program.done("report", "--view", "waits")
        test.check("of the waits are waits of virtual threads without a reason, in UNMOUNTED" in text, text)
        check_virtual_players(test, program)
        program.end()


def check_virtual_players(test, program):
    """All the time in which they were unmounted has a reason: UNKNOWN is the time in which their only carrier had no
    processor, and that is the machine's."""
    waits_of = {row["name"]: row["waits"] for row in
                json.loads(program.done("report", "--view", "waits", "--json"))["threads"]}
    players = [row for row in json.loads(program.done("report", "--json"))["threads"] if row["kind"] == "virtual"]
    test.check(len(players) == 2, f"{players}")
    for row in players:
        parts = waits_of[row["name"]]
        least_ns = row["parked_ns"] - row["parked_ns"] // PART
        test.check(parts["unmounted_ns"] > 0 and parts["unmounted_ns"] + parts["park_ns"] >= least_ns,
                   f"the waits are in UNKNOWN: unmounted for {row['parked_ns']} ns, {parts}")
        test.check(row["mounted_ns"] + row["parked_ns"] == row["wall_ns"], f"{row}")
    mounted_ns = sum(row["mounted_ns"] for row in players)
    test.check(mounted_ns <= max(row["wall_ns"] for row in players),
               f"both were mounted on one carrier, for {mounted_ns} ns: {players}")


def without(test):
    test.ledger.unlink(missing_ok=True)
    agent = test.agent_option(events="instrument", overhead="any", waits="on", include="no.such.*")
    with running(test, "WaitRates", agent=agent) as program:
        program.ask("fast")
        test.wait_until(lambda: waits(program)["heard_waits"] > 100_000, "few waits have reasons")
        program.ask("slow")
        test.check(all_told(program), "the naps have no reason")
        told = waits(program)
        test.check(told["unheard_waits"] == told["timed_waits"] == 0, f"without a budget: {told}")
        program.end()


def told_of_naps(test, program):
    """What the ledger says when all of some more naps are counted, which it does now and then."""
    heard = waits(program)["heard_waits"]
    test.check(all_told(program), "the naps have no reason any more")
    test.wait_until(lambda: waits(program)["heard_waits"] >= heard + NAPS, "the naps are not counted")
    return waits(program)


def waits(program):
    budget = json.loads(program.done("report", "--view", "waits", "--json"))["budget"]
    return {key: budget[key] for key in ("heard_waits", "unheard_waits", "timed_waits", "unheard_virtual_waits",
                                        "waits_ns")}


def check_players(test, program):
    """Two threads that only park: the budget bears that a good part of their waits have the reason."""
    rows = json.loads(program.done("report", "--view", "waits", "--json"))["threads"]
    players = [row["waits"] for row in rows if row["name"].startswith("player-")]
    test.check(len(players) == 2, f"{players}")
    for parts in players:
        test.check(parts["unknown_ns"] <= parts["park_ns"], f"{parts}")


def check_locks(test, program):
    """The few waits for locks among them have a share of their own, beside the short ones for the JVM's own monitors. On
    a busy machine the process, and so the share, may have less in one round than in another."""
    test.wait_until(lambda: min(found_in_a_round(program)) >= LOCKS_LEAST,
                    f"{LOCKS_LEAST} of {LOCKS} waits for each lock in a round")


def found_in_a_round(program):
    before = waits_for_locks(program)
    program.ask(f"locks {LOCKS}")
    found = [after - number for after, number in zip(waits_for_locks(program), before)]
    print(f"waits for a monitor and for a lock, of {LOCKS} each: {found}")
    return found


def waits_for_locks(program):
    edges = json.loads(program.done("report", "--view", "blockers", "--json"))["edges"]
    return [sum(edge["count"] for edge in edges
                if (edge["waiter"], edge["blocker"], edge["lock"]) == ("blocked", "owner", lock))
            for lock in ("java.lang.Object", "java.util.concurrent.locks.ReentrantLock$NonfairSync")]


def slept_ns(program):
    rows = json.loads(program.done("report", "--view", "waits", "--json"))["threads"]
    return next(row["waits"]["sleep_ns"] for row in rows if row["name"] == "napper")


def all_told(program):
    """The naps that the program takes now are in the ledger, in full."""
    before = slept_ns(program)
    answer, queued_ns = program.ask_timed(f"nap {NAPS}")
    took = int(answer)
    return abs(slept_ns(program) - before - took) <= NAPS * OFF_NS + took // 100 + queued_ns


if __name__ == "__main__":
    harness.main(wait_budget)
