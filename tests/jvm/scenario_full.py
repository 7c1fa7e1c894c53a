"""Memory runs out: max-mem=2M, and a file system of 256 KiB for the live ledger and for the snapshot. The
application does not notice. Within max-mem no call is lost: those without room for a node are in (folded), method by
method. In a full file system, calls and samples are either in the report or counted as dropped."""

import os
import subprocess

import harness
import sampled
from run_program import expect_lines

SETTLED_BYTES = 64 << 10  # what a snapshot may add to a ledger that is full
CALLS_LOST = ("dropped_events", "dropped_threads", "unfollowed_mounts", "resynchronised", "skipped_records")
ROUNDS = 20  # of the program while it is sampled: a second or more, in which a sample is due each ms

def full(test):
    plain = test.java("ManyNodes")
    check(test, plain, "max-mem=2M", lossless=True, max_mem="2M")
    size = test.ledger.stat().st_size
    test.check(size <= (2 << 20) + SETTLED_BYTES, f"max-mem=2M, but the snapshot has {size} bytes")
    sampled.check_unless_chance(test, lambda _: check_samples(test))
    tiny = test.scratch / "tiny"
    tiny.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "treadle-test", tiny]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        raise harness.Skip("only root may mount a small file system; max-mem=2M was tested")
    try:
        check(test, plain, "live-dir on a full file system", live_dir=tiny)
        test.check(not list(tiny.iterdir()), f"files stay behind: {list(tiny.iterdir())}")
        line = run(test, plain, "file on a full file system", file=tiny / "x.ledger")
        test.check(line or test.ledger.exists(), "a full file system: nothing says so")
        test.check(not list(tiny.iterdir()), f"half a snapshot stays: {list(tiny.iterdir())}")
        subprocess.run(["mount", "-o", "remount,size=4m", tiny], check=True)
        line = run(test, plain, "no room for a timeline", live_dir=tiny, log="error", max_mem="2M", timeline="4M")
        test.check("timeline=: no room for" in line, f"no room for a timeline: {line}")
        test.check(not list(tiny.iterdir()), f"a timeline stays behind: {list(tiny.iterdir())}")
    finally:
        subprocess.run(["umount", tiny], check=True)


def check_samples(test):
    """The calls of the first round fill the ledger: what is sampled later finds nodes that cold contexts had."""
    what = "max-mem=2M, samples"
    run(test, test.java("ManyNodes", ROUNDS), what, ROUNDS, max_mem="2M", sample="cpu", interval="1ms")
    views = test.checked_report(dropped=True, note_allowed=True)
    told = sampled.check_books(test, views, what)
    test.check_likely(told["dropped"] <= told["taken"] // 2, "dropped", f"{what}: most were dropped: {told}")
    test.close_balance(views)
    shown = [line.replace(" ", "") for line in test.text_report(test.ledger).out.splitlines() if "of which dropped" in line]
    test.check(bool(shown) == bool(told["dropped"]) and all(f"noroom{told['dropped']}" in line for line in shown),
               f"{what}: {told}, shown {shown}")


def run(test, plain, what, *arguments, **options):
    test.ledger.unlink(missing_ok=True)
    agent = test.agent_option(include="ManyNodes.*", **options)
    return test.same_for_application(plain, test.java("ManyNodes", *arguments, agent=agent), what)


def folded_below(node):
    """The nodes of kind folded in a tree, and whether all below them are methods without children."""
    found = [node] if node["kind"] == "folded" else []
    return found + [below for child in node["children"] for below in folded_below(child)]


def check_folded(test, what, tree, flat):
    """One node a method, and none of them has children."""
    folded = [node for thread in tree["threads"] for node in folded_below(thread["root"])]
    test.check(folded, f"{what}: nothing is folded")
    for node in folded:
        names = [(child["class"], child["method"], child["signature"]) for child in node["children"]]
        test.check(len(names) == len(set(names)) and not any(child["children"] for child in node["children"]),
                   f"{what}: below (folded): {node['children'][:5]}")
        test.check(node["calls"] == 0 and node["base"]["cpu_ns"] == 0, f"{what}: {node}")
    calls = sum(child["calls"] for node in folded for child in node["children"])
    made = sum(m["calls"] for m in flat["methods"])
    test.check(0 < calls < made, f"{what}: {calls} calls of {made} are folded")


def check(test, plain, what, lossless=False, **options):
    line = run(test, plain, what, **options)
    if not test.ledger.exists():
        test.check(line, f"{what}: no snapshot, and nothing says why")
        return
    test.check("the ledger is full" in line and "folded" in line, f"{what}: no warning: {line}")
    views = test.checked_report(dropped=True, note_allowed=True)
    dropped = views["threads"]["balance"]["dropped_events"]
    calls = sum(m["calls"] for m in views["flat"]["methods"])
    made = expect_lines(plain.out, "calls")["ManyNodes"]
    if lossless:
        check_folded(test, what, views["tree"], views["flat"])
        test.check(calls == made, f"{what}: {calls} calls, but {made} were made")
        # A switch or a fault of a node that had none before finds no room, as there is a load or none.
        lost = {name: n for name in CALLS_LOST if (n := views["threads"]["balance"][name])}
        test.check(not lost, f"{what}: the balance counts losses: {lost}")
        return
    test.check(calls + dropped == made,
               f"{what}: {calls} calls and {dropped} dropped, but {made} were made")
    shown = test.text_report(test.ledger)
    test.check(str(dropped) in shown.out.replace(",", "").replace(" ", ""),
               f"{what}: the report does not show how many were dropped")


if __name__ == "__main__":
    harness.main(full)
