"""Classes without end, each of a name of its own, with a method of a name and a descriptor of its own: generated,
loaded, hooked, sampled and unloaded. The first of a kind keep their names and all later ones share one, so that the
ledger and what the agent holds beside it level off; and not a call is lost. TREADLE_CLASSES=1000000 for a million of them, with the process's memory."""

import json
import os
import re
from collections import Counter

import harness
from running import running

KEPT = 1024  # names of a kind: GENERATED_NAMES_KEPT
FIRST = 2000
MORE = 4000
MIB = 1 << 20
# Without a shared name each class takes 500 bytes of the ledger, and 500 beside it.
GROWTH_MAX = MORE * 250
SHARED = "ClassChurn$Made_#"
OFTEN, CALLS = 16, 70_000  # one class in so many calls its method so often
JVM = ("-XX:+UseSerialGC", "-Xmx64m")


def class_churn(test):
    agent = test.agent_option(events="instrument", sample="cpu", interval="10ms", max_mem="64M")
    with running(test, *JVM, "ClassChurn", agent=agent) as program:
        churn(test, program, FIRST)
        test.wait_until(lambda: samples(program), "a sample, for which tables are made")
        looks = [churn(test, program, MORE), churn(test, program, MORE)]
        looks.append(churn(test, program, -MORE))  # all of one name, of a loader each
        made = FIRST + 3 * MORE + churn_long(test, program)
        ended = program.end()
    test.check(ended.status == 0, f"it fails: {ended}")
    for key in ("bytes", "held_bytes"):
        sizes = [look[key] for look in looks]
        print(f"{key}: {sizes}")
        test.check(sizes[0] > 0, f"{key}: none")
        test.check(sizes[-1] - sizes[0] < GROWTH_MAX, f"{key} grows with the classes: {sizes}")
    hooked = [look["hooks"]["methods"] for look in looks]
    test.check(len(set(hooked)) == 1, f"methods with hooks, counted once each: {hooked}")
    check_calls(test, made)


def churn(test, program, count):
    before = getattr(program, "made", 0)
    program.made = before + abs(count)
    made = program.ask(str(count))
    test.check(made == str(program.made), f"the program made {made} classes, not {program.made}")
    return json.loads(program.done("status", "--json"))


def samples(program):
    report = json.loads(program.done("report", "--json"))
    return report["balance"]["samples"]["taken"]


def churn_long(test, program):
    """The long version; how many more it made."""
    wanted = int(os.environ.get("TREADLE_CLASSES", "0"))
    part = wanted // 10
    rows = []
    for _ in range(10 if part else 0):
        look = churn(test, program, part)
        rows.append((program.made, look["bytes"], look["held_bytes"], anonymous_bytes(program.pid)))
        print("classes %8d  ledger %9d  beside %9d  resident %9d" % rows[-1], flush=True)
    # The second half is to add next to nothing: a method or a context now and then, that samples find.
    for column, name, most in ((1, "ledger", 4 * MIB), (2, "beside it", 4 * MIB), (3, "resident", 16 * MIB)):
        if rows:
            growth = rows[9][column] - rows[4][column]
            test.check(growth < most, f"{name}: {growth} bytes more in the second half")
    return 10 * part


def anonymous_bytes(pid):
    status = open(f"/proc/{pid}/status", encoding="ascii").read()
    return int(re.search(r"RssAnon:\s+(\d+) kB", status)[1]) * 1024


def check_calls(test, made):
    """Each class is run once; so many have names of their own, and the others one."""
    views = test.checked_report(note_allowed=True)
    calls, names = Counter(), Counter()
    for method in views["flat"]["methods"]:
        if method["method"].startswith("step_"):
            calls["step"] += method["calls"]
            names["step"] += 1
        if method["class"].startswith("ClassChurn$Made_") and method["method"] in ("run", "<init>"):
            calls[method["method"]] += method["calls"]
            names[method["method"]] += method["calls"] > 0
            if method["class"] == SHARED:
                calls[SHARED] += method["calls"]
    test.check(calls["run"] == made and calls["<init>"] == made, f"calls of {made} classes: {calls}")
    # The last step of a class is called after the class was counted.
    steps = 2 * made + made // OFTEN * CALLS
    test.check(calls["step"] == steps, f"{calls['step']} calls of the methods with numbers, not {steps}")
    test.check(names["step"] <= 2 * KEPT + 2, f"{names['step']} names of methods with numbers")
    # The template was loaded first; class 1, which is loaded again and again, has its own name.
    test.check(names["run"] in (KEPT, KEPT + 1), f"{names['run']} names")
    shared = FIRST + 2 * MORE - (names["run"] - 1) + made - FIRST - 3 * MORE
    test.check(calls[SHARED] == 2 * shared, f"{SHARED} has {calls[SHARED]} calls, not {2 * shared}")


if __name__ == "__main__":
    harness.main(class_churn)
