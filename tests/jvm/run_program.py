"""Runs one program of javatest/ without the agent and with it, and checks what its head comment and its
output say (javatest/README.md)."""

import difflib
from collections import Counter

import expected as expectation
import harness

POINT_PPM = 10_000  # one percentage point
READING_NS = 50_000
WAITS_PART = 200  # half a percent
REASONS = ("monitor_wait", "object_wait", "park", "sleep", "io_wait", "unmounted")


def program(test, source, *flags):
    wanted = expectation.parse(source)
    run(test, wanted, [*wanted.java, *flags, wanted.main_class])


def run(test, wanted, command):
    plain = test.java(*command)
    traced = test.java(*command, agent=agent_for(test, wanted))
    check(test, wanted, plain, traced)


def agent_for(test, wanted, exclude="", **options):
    return test.agent_option(**{"include": wanted.include, "exclude": "*$$Lambda*" + exclude, "waits": "on"} | options)


def check(test, wanted, plain, traced):
    """What a run without the agent and one with it gave."""
    if test.events == "instrument":
        wanted.without_native_methods()
    test.check(plain.status == wanted.exit,
               f"without the agent: exit status {plain.status}, not {wanted.exit}\n{plain.err}")
    test.same_for_user(plain, traced)
    test.check(not test.live_ledgers(), f"live ledgers stay behind: {test.live_ledgers()}")
    if not test.check(test.ledger.exists(), "no snapshot was written"):
        return
    views = test.checked_report(dropped=wanted.resynchronises)
    check_trees(test, wanted, views)
    check_totals(test, wanted, views, traced.out)
    check_threads(test, wanted, views)
    check_shares(test, views, expect_lines(traced.out, "share"))
    check_jobs(test, views, traced.out)
    check_text(test)
    check_waits(test, views["threads"]["threads"])


def check_waits(test, rows):
    """The parts of the wall time are all of it; and they are so without being cut: what the kernel and the events say is
    no more than the time that passed."""
    view = test.report("waits", test.ledger)
    for row in view["threads"]:
        off_ns = abs(sum(row["waits"].values()) - row["wall_ns"])
        test.check(off_ns * WAITS_PART <= row["wall_ns"], f"{row}: the parts are {off_ns} ns off")
    for row in rows:
        if row["kind"] not in ("platform", "virtual"):
            continue
        known_ns = row["cpu_ns"] + sum(row["metrics"].get(name, 0) for name in REASONS)
        allowed_ns = row["wall_ns"] // WAITS_PART + READING_NS
        test.check_likely(known_ns <= row["wall_ns"] + allowed_ns, f"{row['name']} waits",
                          f"{row['name']}: {known_ns} ns of CPU and waits in {row['wall_ns']} ns")


def expect_lines(out, word):
    """{name: number} of the lines `expect WORD NAME NUMBER`."""
    return {name: bounds[0] for name, bounds in expect_bounds(out, word).items()}


def expect_bounds(out, word):
    """{name: (number, …)} of the lines `expect WORD NAME NUMBER…`."""
    lines = (line.split() for line in out.splitlines())
    return {l[2]: tuple(map(int, l[3:])) for l in lines if l[:2] == ["expect", word]}


def check_trees(test, wanted, views):
    want, have = expectation.compare(wanted, views["tree"]["threads"])
    if want != have:
        diff = list(difflib.unified_diff(want, have, "expected", "reported", lineterm="", n=4))
        test.check(False, "trees differ\n" + "\n".join(diff[:60]))


def check_totals(test, wanted, views, out):
    calls = Counter()
    for method in views["flat"]["methods"]:
        calls[f"{method['class']}.{method['method']}"] += method["calls"]
    for name, count in (wanted.totals | expect_lines(out, "total")).items():
        test.check(calls[name] == count, f"{name}: {calls[name]} calls, not {count}")


def check_threads(test, wanted, views):
    rows = views["threads"]["threads"]
    parents = wanted.parents()
    with_parent = {name for name, _ in parents}
    reported = ((wanted.name_of(row["name"]), row["parent"]) for row in rows)
    have = Counter(pair for pair in reported if pair[0] in with_parent)
    test.check(have == parents, f"thread and parent: reported {have - parents}, not {parents - have}")
    for name, names in wanted.renames.items():
        have = [row.get("renames") for row in rows if row["name"] == name]
        test.check(names in have, f"renames of {name}: {have}, not {names}")
    check_virtual_threads(test, wanted, rows)
    in_trees = {thread["name"]: thread["root"]["cum"]["pinned"] for thread in views["tree"]["threads"]
                if thread["name"] in wanted.pinned}
    test.check(in_trees == wanted.pinned, f"pinned on call paths: {in_trees}, not {wanted.pinned}")
    for names in wanted.same_tids:
        tids = {tuple(row["tids"]) for row in rows if row["name"] in names}
        test.check(len(tids) == 1 and len(min(tids)) == 1, f"tids of {names}: {tids}")
    if wanted.ledger_at_most:
        size = test.ledger.stat().st_size
        test.check(size <= wanted.ledger_at_most,
                   f"the snapshot has {size} bytes, more than {wanted.ledger_at_most}")


def check_virtual_threads(test, wanted, rows):
    """Each was mounted, and blocked its carrier as often as is said."""
    virtual = [row for row in rows if row["kind"] == "virtual"]
    unmounted = [row["name"] for row in virtual if row["mounts"] < 1]
    test.check(not unmounted, f"virtual threads that never were mounted: {unmounted}")
    pinned = {row["name"]: row["pinned"] for row in virtual if row["name"] in wanted.pinned}
    test.check(pinned == wanted.pinned, f"pinned: {pinned}, not {wanted.pinned}")


def check_shares(test, views, truth):
    reported = {name: 0 for name in truth}
    for method in views["flat"]["methods"]:
        name = f"{method['class']}.{method['method']}"
        if name in truth:
            reported[name] += method["cum"]["cpu_ns"]
    for name, ns in truth.items():
        is_ppm = reported[name] * 1_000_000 // max(1, sum(reported.values()))
        should_ppm = ns * 1_000_000 // sum(truth.values())
        test.check(abs(is_ppm - should_ppm) <= POINT_PPM,
                   f"share of {name}: {is_ppm} ppm, not {should_ppm}")


def check_jobs(test, views, out, gaps=None, what=""):
    """CPU of threads that native code attached, and of what it burnt in between: rows of one name
    together. `gaps`: as the lines gap-cpu of `out` if nothing is given."""
    truth = {"job-cpu": expect_bounds(out, "job-cpu"),
             "gap-cpu": expect_bounds(out, "gap-cpu") if gaps is None else gaps}
    have = {word: Counter() for word in truth}
    rows = Counter()
    for thread in views["tree"]["threads"]:
        gap = gap_ns(thread)
        rows[thread["name"]] += 1
        have["gap-cpu"][thread["name"]] += gap
        have["job-cpu"][thread["name"]] += thread["root"]["cum"]["cpu_ns"] - gap
    for word, bounds in truth.items():
        for name, (least, most) in bounds.items():
            ns = have[word][name]
            told = (f"{what}{word} of {name}: {ns} ns in {rows[name]} rows, measured {least} to {most}"
                    f" (above the least {ns - least}, below the most {most - ns})")
            print(told)
            test.check(is_within(ns, least, most), told)


def gap_ns(thread):
    """CPU of the line `(between Java threads)` of a thread of the tree view."""
    return sum(n["cum"]["cpu_ns"] for n in thread["root"]["children"] if n["kind"] == "gap")


def is_within(ns, least, most):
    """Bounds measured by the same clock, but not by the same reading of it."""
    return least - least // 1000 - READING_NS <= ns <= most + most // 1000 + READING_NS


def check_text(test):
    """The views for people: no control characters get through from names."""
    for view in ("threads", "tree", "flat", "callers"):
        done = test.text_report(test.ledger, "--view", view)
        test.check(done.status == 0 and not done.err, f"--view {view}: {done.status} {done.err}")
        control = {c for c in done.out if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160}
        test.check(not control, f"--view {view} prints control characters {control}")


if __name__ == "__main__":
    harness.main(program)
