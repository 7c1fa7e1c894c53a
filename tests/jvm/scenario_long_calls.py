"""Methods with thousands of calls a second that take 150 us each are recorded to the call within a budget of 2 %:
returned, thrown out of, recursive; and so is one whose calls take 50 us, all in a call of another one, which may fall
silent or not. What is short and called more often falls silent."""

import json

import harness
from running import running

THREADS = 2
ROUNDS = 8000
CALLS = {"returns": ROUNDS, "fails": ROUNDS, "recurses": 3 * ROUNDS, "wraps": ROUNDS}  # of a thread
QUICK_CALLS = 20 * ROUNDS


def long_calls(test):
    with running(test, "LongCalls", agent=test.agent_option(events="instrument", overhead="2%")) as program:
        program.ask(f"run {ROUNDS}")
        program.end()
    views = test.checked_report()
    test.close_balance(views)
    done = test.text_report(test.ledger, "--explain", "LongCalls.*", "--json")
    rows = {row["method"]: row for row in json.loads(done.out)["methods"]}
    for method, calls in CALLS.items():
        row, true = rows[method], THREADS * calls
        test.check(row["hook"] == "always" and row["calls"] == true, f"{method}: {row}, of {true} calls")
    quick = rows["quick"]
    test.check(quick["hook"] in ("silenced", "muted", "again") and quick["calls"] < THREADS * QUICK_CALLS, f"{quick}")


if __name__ == "__main__":
    harness.main(long_calls)
