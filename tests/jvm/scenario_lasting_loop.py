"""HotSpot interprets a loop whose class was changed until the loop ends. So the class of a loop that lasts is left as it
is: when methods that are off get hooks again, when the agent is attached with a budget, and at a stop, after which its
hooks are muted. The JVM's own log says what was changed."""

import json

import harness
from running import running

TRIES = 90  # of a second each


def lasting_loop(test):
    by_budget(test)
    attached(test)
    restarted(test)
    stopped(test)


def by_budget(test):
    """Both have a method that is off."""
    log, option = changes(test, "budget")
    with running(test, option, "LastingLoop", agent=test.agent_option(events="instrument", overhead="10%")) as program:
        for _ in range(TRIES):
            program.ask("slow 20")
            if explained(test, program, "Other.visit")["hook"] == "again":
                break
        hooks = {method: explained(test, program, method)["hook"] for method in ("Loop.visit", "Other.visit")}
        test.check(hooks == {"Loop.visit": "silenced", "Other.visit": "again"}, f"one of them is heard again: {hooks}")
        program.end()
    check_changed(test, log, "Other")


def attached(test):
    """The loop's thread has had no event when profiling stops, and ends before the snapshot: it has its CPU all the
    same."""
    test.ledger.unlink(missing_ok=True)
    log, option = changes(test, "attach")
    with running(test, option, "LastingLoop") as program:
        cpu = attach_in_the_loop(program)
        run = explained(test, program, "Loop.run")
        cpu.append(int(program.ask("cpu")))
        program.done("stop")
        cpu.append(int(program.ask("cpu")))
        program.ask("over")
        program.end()
    check_changed(test, log, "Other")
    test.check(run["hook"] == "left_alone" and run["left_alone"] == "looping", f"the loop's method: {run}")
    threads = test.checked_report()["threads"]
    test.check(threads["hooks"]["left_alone"]["looping"] == 1, f"left alone: {threads['hooks']}")
    check_loop_cpu(test, threads, *cpu)


def restarted(test):
    """A class that was left alone stays so when its loop is over, and a class that had hooks has them again: no number
    of calls is too small without a word. The loop's thread has had no event, and ends before profiling starts again: it
    has its CPU."""
    test.ledger.unlink(missing_ok=True)
    log, option = changes(test, "restart")
    with running(test, option, "LastingLoop") as program:
        cpu = attach_in_the_loop(program)
        cpu.append(int(program.ask("cpu")))
        program.done("stop")
        cpu.append(int(program.ask("cpu")))
        program.ask("over")
        program.done("start")
        program.done("stop")
        program.done("start", "--include", "LastingLoop*")
        program.ask("slow 10")
        run, other = (explained(test, program, method) for method in ("Loop.run", "Other.visit"))
        program.end()
    check_changed(test, log, "Other")
    test.check((run["hook"], other["calls"]) == ("left_alone", 30), f"after a start: {run}, {other}")
    threads = test.checked_report()["threads"]
    test.check(threads["hooks"]["left_alone"]["looping"] == 1, f"with another filter: {threads['hooks']}")
    check_loop_cpu(test, threads, *cpu)


def stopped(test):
    """What the loop's class has heard is exact, though its hooks stay: the other methods are called by nobody."""
    test.ledger.unlink(missing_ok=True)
    log, option = changes(test, "stop")
    with running(test, option, "LastingLoop", agent=test.agent_option(events="instrument")) as program:
        for _ in range(2):
            program.ask("slow 20")
            program.done("stop")
            program.ask("slow 10")
            program.done("start")
        calls = {method: explained(test, program, method)["calls"] for method in ("Loop.visit", "Other.visit")}
        program.end()
    check_changed(test, log, "Other")
    test.check(calls == {"Loop.visit": 100_000, "Other.visit": 100_040}, f"calls: {calls}")
    test.checked_report()


def attach_in_the_loop(program):
    """What the loop's thread consumed by its own clock up to the attach, and after it."""
    program.ask("slow 20")
    before = int(program.ask("cpu"))
    program.attach(overhead="10%")
    after = int(program.ask("cpu"))
    program.ask("slow 20")
    return [before, after]


def changes(test, name):
    log = test.scratch / f"{name}.log"
    return log, f"-Xlog:redefine+class+load*=debug:file={log}"


def check_changed(test, log, *kinds):
    """Of the program's classes that are nested, these were changed."""
    text = log.read_text()
    changed = [kind for kind in ("Loop", "Other") if f"name=LastingLoop${kind}" in text]
    test.check(changed == list(kinds), f"{log.name}: the JVM changed {changed}")


def check_loop_cpu(test, threads, before, attached, asked, stopped):
    """By the thread's own clock: before and after the attach, and before and after the stop."""
    charged = [one["cpu_ns"] for one in threads["threads"] if one["name"] == "loop"]
    least, most = asked - attached, stopped - before
    test.check(len(charged) == 1 and least <= charged[0] <= most, f"the loop: {charged}, not {least} to {most}")


def explained(test, program, method):
    done = program.treadle("report", "--explain", f"LastingLoop${method}", "--json")
    test.check(done.status == 0, f"report --explain: {done}")
    return json.loads(done.out)["methods"][0]


if __name__ == "__main__":
    harness.main(lasting_loop)
