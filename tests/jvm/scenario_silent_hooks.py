"""Stopped and started in turns within a budget: the hooks stay in the classes, and no class is changed. What is counted
is exact all the same: all of what was called while profiling was on, and nothing else, also below frames that were
entered before a stop or while profiling was stopped, and in classes that were loaded meanwhile. Another filter changes
classes; and a minute after a stop the hooks come out, and go in again at the next start."""

import contextlib
import json
import re
from collections import Counter

import harness
from running import running

INCLUDE = "SilentHooks.count;SilentHooks.stay;SilentHooks$Loaded.*"
METHODS = ("count", "stay", "run", "<init>")
OTHER = "SilentHooks.stay"
ROUNDS = 6
PROFILED, UNPROFILED, LOADED = 5, 9, 2


def silent_hooks(test):
    in_turns(test)
    test.ledger.unlink(missing_ok=True)
    in_turns(test, attached=True)
    for after in ("another_filter", "a_minute"):
        test.ledger.unlink(missing_ok=True)
        globals()[after](test)


def in_turns(test, attached=False):
    with begun(test, attached) as program:
        before = changes(test)
        for number in range(ROUNDS):
            a_round(program, number, ("start",) if number % 2 else ("start", "--include", INCLUDE))
        status = told(program)
        test.check(status["silent_until_ns"] is None and status["starts"] == ROUNDS + 1, f"status: {status}")
        test.check(changes(test) == before, f"changed: {before}, then {changes(test)}")
        program.done("stop")
        check_silent(test, program)
        ended = program.end()
    test.check(ended.status == 0, f"{ended}")
    check_calls(test, ROUNDS)


def a_round(program, number, start):
    """Calls before the stop, while it is stopped, and after the start; two threads stand in a frame meanwhile."""
    program.ask(f"enter early-{number}")
    program.ask(f"count {PROFILED}")
    program.ask(f"load {LOADED}")
    program.done("stop")
    program.ask(f"enter late-{number}")
    program.ask(f"count {UNPROFILED}")
    program.ask(f"load {LOADED}")
    program.done(*start)
    program.ask(f"load {LOADED}")
    program.ask("leave")


def check_silent(test, program):
    status = told(program)
    left_s = (status["silent_until_ns"] - status["since_ns"]) / 1e9
    test.check(status["state"] == "stopped" and 55 < left_s < 65, f"status: {status}")
    text = program.done("status")
    test.check("silent hooks" in text and "silent until" in text, text)


def check_calls(test, rounds, more=0):
    views = test.checked_report(views=("threads", "tree", "flat", "callers"))
    calls = {m["method"]: m["calls"] for m in views["flat"]["methods"]
             if m["class"].startswith("SilentHooks") and m["method"] in METHODS and m["calls"]}  # samples find others
    hooked = [m for m in views["flat"]["methods"] if "hooked" in m and m["class"].startswith("SilentHooks")]
    expected = {"count": rounds * (PROFILED + 3) + more, "stay": rounds,
                "run": 5 * rounds * LOADED, "<init>": 2 * rounds * LOADED}
    test.check(calls == expected, f"calls: {calls}, not {expected}")
    test.check(not hooked, f"not always heard: {hooked}")
    for number in range(rounds):
        for name, stays, counts in (("early", 1, 2), ("late", 0, 1)):
            check_frames(test, views, f"{name}-{number}", stays, counts)


def check_frames(test, views, name, stays, counts):
    """Calls from within a frame are below it, whether its own call was counted or not."""
    thread = next(t for t in views["tree"]["threads"] if t["name"] == name)
    found = [(node["method"], node["calls"]) for node, _, _ in harness.nodes_of(thread["root"])
             if node["kind"] == "exact" and node["method"] in ("stay", "count")]
    test.check(sorted(found) == [("count", counts), ("stay", stays)], f"{name}: {found}")


def another_filter(test):
    with begun(test) as program:
        a_round(program, 0, ("start",))
        before = changes(test)
        program.done("stop")
        program.done("start", "--include", OTHER)
        test.check(changes(test)["SilentHooks"] > before.get("SilentHooks", 0), f"not changed: {changes(test)}")
        program.ask(f"count {UNPROFILED}")
        program.done("stop")
        program.done("start", "--include", INCLUDE)
        program.ask(f"count {PROFILED}")
        program.end()
    rows = {m["method"]: m for m in test.report("flat")["methods"] if m["class"] == "SilentHooks"}
    test.check(rows["count"]["calls"] == 2 * PROFILED + 3 and "hooked" in rows["count"], f"{rows}")
    test.check(rows["stay"]["calls"] == 1 and "hooked" not in rows["stay"], f"{rows}")


def a_minute(test):
    with begun(test) as program:
        a_round(program, 0, ("start",))
        before = changes(test)
        program.done("stop")
        test.check(changes(test) == before, f"changed at the stop: {changes(test)}")
        test.wait_until(lambda: told(program)["silent_until_ns"] is None, "the end of the silence")
        test.check(changes(test).get("SilentHooks", 0) == before.get("SilentHooks", 0) + 1,
                   f"not taken out: {before}, {changes(test)}")
        test.check(" had hooks" in program.done("status"), "the status")
        program.ask(f"count {UNPROFILED}")
        program.ask(f"load {LOADED}")
        program.done("start")
        test.check(changes(test)["SilentHooks"] == before.get("SilentHooks", 0) + 2, f"not put in: {changes(test)}")
        program.ask(f"count {PROFILED}")
        program.end()
    check_calls(test, 1, more=PROFILED)


def begun(test, attached=False):
    log = test.scratch / "changes.log"
    log.unlink(missing_ok=True)
    options = {"overhead": "50%", "include": INCLUDE}
    flags = (f"-Xlog:redefine+class+load=info:file={log}", "SilentHooks")
    if attached:
        return attached_to(test, flags, options)
    return running(test, *flags, agent=test.agent_option(events="instrument", **options))


@contextlib.contextmanager
def attached_to(test, flags, options):
    with running(test, *flags) as program:
        program.attach(**options)
        yield program


def changes(test):
    """How often each of the program's classes was changed, as the JVM itself says."""
    lines = (test.scratch / "changes.log").read_text(encoding="utf-8").splitlines()
    return Counter(match[1] for match in map(re.compile(r"redefined name=(SilentHooks[^,]*),").search, lines) if match)


def told(program):
    return json.loads(program.done("status", "--json"))


if __name__ == "__main__":
    harness.main(silent_hooks)
