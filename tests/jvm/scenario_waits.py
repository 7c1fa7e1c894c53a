"""Threads that wait and take the time themselves: each wait has its reason, and as long as they say; the parts of each
thread's wall time add up; with the agent from the start and attached, stopped and started, and killed."""

import contextlib
import json
import os

import harness
import sampled
from running import running

EVENTS = ("jvmti", "instrument")

PARTS = ("cpu_ns", "runnable_ns", "monitor_ns", "object_wait_ns", "park_ns", "sleep_ns", "io_ns", "fault_ns",
         "safepoint_ns", "unmounted_ns", "unknown_ns")
REASONS = ("monitor", "object_wait", "park", "sleep", "io")
METRICS = dict(zip(REASONS, ("monitor_wait", "object_wait", "park", "sleep", "io_wait")))
LONG = {"long-wait": "object_wait", "long-park": "park", "long-sleep": "sleep", "long-monitor": "monitor"}
LONG_SINCE_ITS_BEGIN = {"long-io": "io"}  # the JVM does not tell what is under way at an attach
REAPERS = "process reaper"
REAPER_TOLERANCE = 0.05  # it may begin to wait when the program has its process already
TOLERANCE = 0.01
EACH_NS = 50_000
OTHER_NS = 2_000_000  # of other reasons: classes that are loaded for the first time, and the start of a thread
LONG_LEAST = 0.98  # of the wall time of a thread that does nothing but wait
CLOCKS_NS = 200_000  # by which the clocks of wall and CPU time may differ in a node
LOOSELY = ("-disk-sync", "-disk-force", "-start-process")  # a part of each is no wait
LOOSELY_LEAST = 0.5
PROCESSORS = "-Djdk.virtualThreadScheduler.parallelism=2"
POLL_SELECTOR = "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED"


def waits(test):
    sampled.check_unless_chance(test, lambda _: from_the_start(test))
    if test.events == "instrument":
        sampled.check_unless_chance(test, lambda _: attached(test))
        sampled.check_unless_chance(test, lambda _: killed(test))
        switched_off(test)


@contextlib.contextmanager
def waiting(test, **options):
    """The program, with a FIFO of its own."""
    fifo = test.live / "fifo"
    os.mkfifo(fifo)
    try:
        with running(test, PROCESSORS, POLL_SELECTOR, "WaitReasons", fifo, **options) as program:
            yield program
    finally:
        fifo.unlink()
        fifo.with_name("fifo-disk").unlink()


def from_the_start(test):
    agent = test.agent_option(include="WaitReasons.*", sample="none", waits="on")
    with waiting(test, agent=agent) as program:
        told, delay_ns = one_round(program)
        ended = program.end()
    test.check(ended.status == 0, f"{ended}")
    views = test.checked_report()
    rows = rows_of(test, test.ledger)
    check_waits(test, rows, told, delay_ns)
    check_long(test, rows, LONG | LONG_SINCE_ITS_BEGIN)
    check_tree(test, views, told)
    test.ledger.unlink()


def attached(test):
    """Those that have waited since before the attach and the starts are known, too; a stop is in no number."""
    with waiting(test) as program:
        program.attach(sample="none", waits="on")
        told, delay_ns = one_round(program)
        program.done("stop")
        unheard, _ = one_round(program)
        program.done("start")
        more, more_ns = one_round(program)
        check_live(test, program)
        program.done("dump", "-o", test.ledger)
        rows = rows_of(test, test.ledger)
        check_waits(test, rows, told | more, delay_ns + more_ns)
        check_long(test, rows, LONG)
        for name in waiters(unheard):
            parts = rows.get(name, {"waits": {}})["waits"]
            heard = sum(parts.get(f"{reason}_ns", 0) for reason in REASONS)
            test.check_likely(heard <= OTHER_NS, name, f"{name}: {parts} while profiling was stopped")
        test.ledger.unlink()


def check_live(test, program):
    """What the threads that wait all the time wait for at this moment."""
    told = json.loads(program.done("top", "--once", "--json", "--interval", "0.1"))
    waits = {row["name"]: (row["waits_for"] or {}).get("reason") for row in told["threads"]}
    test.check({name: waits.get(name) for name in LONG} == LONG, f"live: {waits}")


def killed(test):
    """What stands in the ledger of a killed process is whole, and what it waited until its last event."""
    with waiting(test, agent=test.agent_option(sample="none", waits="on")) as program:
        told, delay_ns = one_round(program)
        program.process.kill()
        program.process.wait()
    ledgers = test.live_ledgers(program.pid)
    test.check(len(ledgers) == 1, f"live ledgers: {ledgers}")
    check_waits(test, rows_of(test, ledgers[0], note_allowed=True), told, delay_ns)
    ledgers[0].unlink()


def switched_off(test):
    test.java("MutualRecursion", agent=test.agent_option())
    for row in rows_of(test, test.ledger).values():
        test.check(not any(row["waits"][f"{reason}_ns"] for reason in REASONS), f"waits without waits=on: {row}")
    missing = test.text_report(test.ledger, "--view", "tree", "--metric", "park")
    test.check(missing.status == 1 and "it needs waits=on" in missing.err, f"{missing}")


def one_round(program):
    """What the threads measured, and what they lacked processors meanwhile."""
    answer, delay_ns = program.ask_timed("round")
    return measured(answer), delay_ns


def measured(answer):
    """{thread: {reason: (ns, times)}}"""
    told = {}
    for name, reason, ns, times in (row.split() for row in answer.split("; ")):
        told.setdefault(name, {})[reason] = int(ns), int(times)
    return told


def rows_of(test, ledger, note_allowed=False):
    """{thread: its row of the waits view}, after the checks that hold for every thread. The JDK may have two threads of
    one name wait for processes: one row has what both waited."""
    by_name = {}
    rows = test.report("waits", ledger, note_allowed)["threads"]
    for row in rows:
        parts = row["waits"]
        test.check(tuple(parts) == PARTS, f"{row['name']}: {list(parts)}")
        test.check(sum(parts.values()) == row["wall_ns"] and min(parts.values()) >= 0,
                   f"{row['name']}: {sum(parts.values())} ns in parts of {row['wall_ns']}: {parts}")
        of_name = by_name.setdefault(row["name"], row)
        if of_name is not row:
            of_name["waits"] = {part: ns + parts[part] for part, ns in of_name["waits"].items()}
            of_name["wall_ns"] += row["wall_ns"]
    return by_name


def check_processes(test, rows, told):
    """Threads of the JDK wait for processes."""
    least, most = (sum(reasons["io"][0] for name, reasons in told.items() if name.startswith(which))
                   for which in ("least-", "most-"))
    waited = sum(row["waits"]["io_ns"] for name, row in rows.items() if name.startswith(REAPERS))
    test.check_likely(least * (1 - REAPER_TOLERANCE) <= waited <= most, REAPERS,
                      f"{waited} ns of io for processes, that took {least} to {most}")


def waiters(told):
    return {name: reasons for name, reasons in told.items() if not name.startswith(("least-", "most-"))}


def check_waits(test, rows, told, delay_ns):
    """A thread that gets no processor between its wait and its look at the clock takes that for a wait. Of a platform
    thread the kernel says for how long, of a virtual one it knows only its carriers, and all threads beside them."""
    check_processes(test, rows, told)
    for name, reasons in waiters(told).items():
        if not test.check(name in rows, f"no row of {name}"):
            continue
        parts = rows[name]["waits"]
        if name.endswith(LOOSELY):
            check_loosely(test, name, parts, reasons["io"], delay_ns)
            continue
        for reason, (ns, times) in reasons.items():
            short = ns - parts[f"{reason}_ns"]
            late_ns = delay_ns if name.startswith("virtual") else parts["runnable_ns"]
            most = max(ns * TOLERANCE, times * EACH_NS) + late_ns
            # The JVM's stops at the ends of its waits are a part of their own, and in its own clock: never the reverse.
            off = max(-short, short - parts["safepoint_ns"])
            test.check_likely(off <= most, f"{name} {reason}",
                              f"{name}: {parts[f'{reason}_ns']} ns of {reason}, by its own clock {ns} in {times} waits: {parts}")
        others = sum(parts[f"{other}_ns"] for other in REASONS if other not in reasons)
        test.check_likely(others <= OTHER_NS, f"{name} others", f"{name}: {others} ns of other reasons: {parts}")


def check_loosely(test, name, parts, measured_io, delay_ns):
    ns, times = measured_io
    test.check(parts["io_ns"] > 0, f"{name}: no io at all, by its own clock {ns} ns: {parts}")
    explained = parts["io_ns"] + parts["runnable_ns"] + (parts["cpu_ns"] + delay_ns if name.startswith("virtual") else 0)
    test.check_likely(explained >= ns * LOOSELY_LEAST - times * EACH_NS, name,
                      f"{name}: {parts['io_ns']} ns of io, by its own clock {ns} in {times} waits: {parts}")


def check_long(test, rows, long):
    for name, reason in long.items():
        if not test.check(name in rows, f"no row of {name}"):
            continue
        row = rows[name]
        test.check_likely(row["waits"][f"{reason}_ns"] >= row["wall_ns"] * LONG_LEAST, name, f"{name}: {row}")


def check_tree(test, views, told):
    """The metrics are on the call paths, and no node has more of them than it waited."""
    roots = {row["name"]: row["root"] for row in views["tree"]["threads"]}
    totals = {row["name"]: row["metrics"] for row in views["threads"]["threads"]}
    for name, metric in ((name, METRICS[reason]) for name, reasons in waiters(told).items() for reason in reasons):
        test.check(roots[name]["cum"][metric] == totals[name][metric],
                   f"{name}: {metric} {roots[name]['cum'][metric]} ns in its tree, {totals[name][metric]} in all")
        below = sum(child["cum"][metric] for child in roots[name]["children"])
        test.check_likely(below >= totals[name][metric] * LONG_LEAST, f"{name} below",
                          f"{name}: {below} ns of {metric} below the root, of {totals[name][metric]}")
    for row in views["tree"]["threads"]:
        for node, method, _ in harness.nodes_of(row["root"]):
            base = node["base"]
            known = sum(base[metric] for metric in METRICS.values())
            waited = base["wall_ns"] - base["cpu_ns"]
            test.check(known <= max(waited, 0) + CLOCKS_NS, f"{row['name']}: {method}: {known} ns of {waited}")


if __name__ == "__main__":
    harness.main(waits)
