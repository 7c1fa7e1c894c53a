"""A call tree 400,000 levels deep: recorded exactly, and every view can print it."""

import harness

DEPTH = 400_000


def deep_tree(test):
    plain = test.java("DeepTree")
    traced = test.java("DeepTree", agent=test.agent_option(include="DeepTree.down"))
    test.same_for_user(plain, traced)
    test.check(plain.out == f"{DEPTH}\n", f"the program did not get there: {plain.err[:200]}")
    # Not the tree as JSON: Python's reader would need as deep a stack.
    views = test.checked_report(views=("threads", "flat", "callers"))
    calls = sum(m["calls"] for m in views["flat"]["methods"])
    test.check(calls == DEPTH, f"{calls} calls, not {DEPTH}")
    for arguments in (["--view", "tree"], ["--view", "tree", "--json"], ["--view", "callers"]):
        done = test.text_report(test.ledger, *arguments)
        test.check(done.status == 0 and not done.err, f"{arguments}: {done.status} {done.err[:200]}")


if __name__ == "__main__":
    harness.main(deep_tree)
