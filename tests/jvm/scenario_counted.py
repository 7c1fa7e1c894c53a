"""Within a budget the calls of methods that fell silent are counted, by several threads at once, interpreted and
compiled: the report agrees with the program to the call, and says which numbers it does not know. What is called while
profiling is stopped does not count, and an interval has its own counts. Nothing says which thread made a counted call,
or from where: in trees there are so many at least. What a killed process left, merged or not, lacks the last calls:
there all numbers of counted methods are lower bounds."""

import json
import os
import re
import signal

import harness
from running import running

METHODS = ("rare", "often", "thrown")
RUN_MS = 2500


def counted(test):
    with running(test, "Counted", agent=test.agent_option(events="instrument", overhead="2%")) as program:
        first = made(program)
        check_flat(test, program, first)
        half = test.scratch / "half.ledger"
        program.done("dump", "-o", half)
        program.done("stop")
        stopped = made(program)
        check_flat(test, program, first)
        program.done("start")
        second = made(program)
        expected = {name: first[name] + second[name] - stopped[name] for name in second}
        check_flat(test, program, expected)
        check_texts(test, program, expected["often"])
        check_interval(test, half, {name: expected[name] - first[name] for name in expected}, program)
        program.end()
    views = test.checked_report(views=("threads", "tree", "flat", "callers"))
    check_rows(test, rows_of(views["flat"]), expected)
    check_trees(test, views["tree"], expected)


def killed(test):
    with running(test, "Counted", agent=test.agent_option(events="instrument", overhead="2%")) as program:
        called = made(program)
        check_flat(test, program, called)
        check_asleep(test, program, called)
        program.process.kill()
        program.process.wait()
        ledger = test.live_ledgers(program.pid)[0]
    merged = test.scratch / "merged.ledger"
    merge = test.run([test.treadle, "merge", "-o", merged, ledger])
    test.check(merge.status == 0, f"{merge}")
    for file in (ledger, merged):
        rows = rows_of(report_of(test, file))
        for name in METHODS:
            row = rows[name]
            test.check("hooked" in row and row["calls"] == called[name], f"{file.name}: {row}, called {called[name]}")
    ledger.unlink()


def made(program):
    """The calls until now, by the program's own count."""
    return {name: int(calls) for name, calls in (word.split("=") for word in program.ask(f"run {RUN_MS}").split())}


def report(program, *more):
    return json.loads(program.done("report", "--view", "flat", "--json", *more))


def report_of(test, file):
    return json.loads(test.run([test.treadle, "report", "--view", "flat", "--json", file]).out)


def rows_of(flat):
    return {row["method"]: row for row in flat["methods"] if row["class"] == "Counted"}


def check_flat(test, program, expected):
    """A report of a running program has what was counted before."""
    check_rows(test, rows_of(report(program)), expected)


def check_asleep(test, program, expected):
    """A program that does not run does not write down what it counted: the numbers are lower bounds."""
    os.kill(program.pid, signal.SIGSTOP)
    try:
        asleep = test.scratch / "asleep.ledger"
        dumped = test.run([test.treadle, "dump", program.pid, "-o", asleep])
        test.check(dumped.status == 0, f"{dumped}")
        for rows in (rows_of(report(program)), rows_of(report_of(test, asleep))):
            for name in METHODS:
                row = rows[name]
                test.check("hooked" in row and row["calls"] == expected[name],
                           f"asleep: {name}: {row}, called {expected[name]}")
    finally:
        os.kill(program.pid, signal.SIGCONT)


def check_rows(test, rows, expected):
    for name in METHODS:
        row = rows[name]
        test.check(row["calls"] == expected[name] and "hooked" not in row, f"{name}: {row}, called {expected[name]}")
        test.check("counted" in row and 0 < row["counted"]["calls"] < row["calls"], f"{name}: {row}")
    hot = rows["hot"]
    test.check("hooked" in hot and 0 < hot["calls"] < expected["hot"], f"hot: {hot}, called {expected['hot']}")


def check_texts(test, program, calls):
    number = f"{calls:,}".replace(",", " ")
    flat = program.done("report", "--view", "flat", "--top", "1000")
    test.check(re.search(rf" {number} .* Counted\.often \[recorded [0-9.]+ %, else counted\]\n", flat), flat)
    why = program.done("report", "--explain", "Counted.often")
    test.check(re.search(rf"calls +{number}, recorded .* of them only counted\n", why), why)
    # Whether a method is heard again by now is the budget's affair.
    counted = json.loads(program.done("status", "--json"))["budget"]["counted_methods"]
    test.check(not counted or re.search(r"not recorded \([0-9]+ counted", program.done("status")), f"{counted} counted")


def check_interval(test, half, expected, program):
    rows = rows_of(report(program, "--since", half))
    for name in METHODS:
        test.check(rows[name]["calls"] == expected[name] and "hooked" not in rows[name],
                   f"since: {name}: {rows[name]}, called {expected[name]}")


def check_trees(test, tree, expected):
    found = {name: 0 for name in METHODS}
    for thread in tree["threads"]:
        for node, _, _ in harness.nodes_of(thread["root"]):
            if node["kind"] == "exact" and node["method"] in found and node["calls"]:
                found[node["method"]] += node["calls"]
                test.check("hooked" in node, f"{thread['name']}: {node}")
    for name, calls in found.items():
        test.check(0 < calls < expected[name], f"{name}: {calls} calls in trees, called {expected[name]}")


def run(test):
    counted(test)
    killed(test)


if __name__ == "__main__":
    harness.main(run)
