"""Virtual threads without a name are told apart by where they were started: when they are folded, by the
report and by the agent."""

import json
from pathlib import Path

import harness

SOURCE = Path(__file__).parent / "virtual/Unnamed.java"
THREADS = {"(started in Unnamed.first)": 3, "(started in Unnamed.second)": 5, "(started in Unnamed.pooled)": 7}
BEYOND_THE_KEPT = 700  # times 15 threads: more than keep rows of their own


def unnamed(test):
    if test.major < 21:
        raise harness.Skip("this JDK has no virtual threads")
    test.compile("classes", SOURCE)
    check(test, 1, "none")
    check(test, BEYOND_THE_KEPT, "auto")


def check(test, times, fold):
    test.ledger.unlink(missing_ok=True)
    agent = test.agent_option(events="instrument", include="Unnamed.*", fold=fold)
    run = test.java("-cp", "classes", "Unnamed", times, agent=agent)
    test.check(run.status == 0 and not run.err, f"fold={fold}: {run}")
    done = test.text_report(test.ledger, "--fold", "--json")
    rows = [row for row in json.loads(done.out)["threads"] if row["kind"] == "virtual"]
    have = {row["name"]: row["count"] for row in rows}
    want = {name: times * count for name, count in THREADS.items()}
    test.check(have == want, f"fold={fold}: groups {have}, not {want}")
    calls = {row["name"]: row["calls"] for row in rows}
    test.check(calls == {name: 2 * count for name, count in want.items()},
               f"fold={fold}: each calls its lambda and work(): {calls}")
    test.check({row["parent"] for row in rows if row["count"] == 1} <= {"main"}, "started by main")
    if times == 1:
        groups = [row["group"] for row in test.report("threads")["threads"] if row["kind"] == "virtual"]
        have = {name: groups.count(name) for name in set(groups)}
        test.check(have == THREADS, f"groups of the rows: {have}, not {THREADS}")


if __name__ == "__main__":
    harness.main(unnamed)
