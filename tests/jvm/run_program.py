"""Runs one program of javatest/ without the agent and with it, and checks what its head comment and its
output say (javatest/README.md)."""

import difflib
from collections import Counter

import expected as expectation
import harness

POINT_PPM = 10_000  # one percentage point
READING_NS = 50_000


def program(test, source, *flags):
    wanted = expectation.parse(source)
    command = [*wanted.java, *flags, wanted.main_class]
    plain = test.java(*command)
    test.check(plain.status == wanted.exit,
               f"without the agent: exit status {plain.status}, not {wanted.exit}\n{plain.err}")
    agent = test.agent_option(include=wanted.include, exclude="*$$Lambda*")
    traced = test.java(*command, agent=agent)
    test.same_for_user(plain, traced)
    test.check(not test.live_ledgers(), f"live ledgers stay behind: {test.live_ledgers()}")
    if not test.check(test.ledger.exists(), "no snapshot was written"):
        return
    views = test.checked_report()
    unfollowed = views["threads"]["balance"].get("unfollowed_mounts", 0)
    if unfollowed:
        wanted.without_virtual_threads()
    check_trees(test, wanted, views)
    check_totals(test, wanted, views, traced.out)
    check_threads(test, wanted, views)
    check_shares(test, views, expect_lines(traced.out, "share"))
    check_jobs(test, views, traced.out)
    check_text(test)
    if unfollowed:
        raise harness.Skip(f"the agent says that it did not follow {unfollowed} mounts of virtual "
                           "threads; all other threads are right")


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
    for names in wanted.same_tids:
        tids = {tuple(row["tids"]) for row in rows if row["name"] in names}
        test.check(len(tids) == 1 and len(min(tids)) == 1, f"tids of {names}: {tids}")
    if wanted.ledger_at_most:
        size = test.ledger.stat().st_size
        test.check(size <= wanted.ledger_at_most,
                   f"the snapshot has {size} bytes, more than {wanted.ledger_at_most}")


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


def check_jobs(test, views, out):
    """CPU of threads that native code attached, and of what it burnt in between."""
    for thread in views["tree"]["threads"]:
        gap = gap_ns(thread)
        whole = thread["root"]["cum"]["cpu_ns"]
        for word, have in (("job-cpu", whole - gap), ("gap-cpu", gap)):
            least, most = expect_bounds(out, word).get(thread["name"], (have, have))
            test.check(is_within(have, least, most),
                       f"{word} of {thread['name']}: {have} ns, not {least} to {most}")


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
