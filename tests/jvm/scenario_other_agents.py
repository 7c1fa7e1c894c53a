"""Beside other agents, in either order on the command line, in both event modes: a coverage agent, Flight
Recorder (its method timing too), a debugger. Each says what it says without Treadle, and the trees are right."""

import json
import zipfile
from collections import Counter
from pathlib import Path

import debugger
import expected as expectation
import harness
import run_program

EVENTS = ("jvmti", "instrument")

SOURCES = Path(__file__).parent / "other_agents"
JAVATEST = Path(__file__).parents[2] / "javatest"
JACOCO = Path("/usr/share/java/org.jacoco.agent.jar")  # has the agent's jar in it
JACOCO_CORE = Path("/usr/share/java/org.jacoco.core.jar")


def other_agents(test):
    recorder(test)
    debugging(test)
    if not (JACOCO.exists() and JACOCO_CORE.exists()):
        raise harness.Skip("no coverage agent: the package libjacoco-java is not installed; the "
                           "others were tested")
    coverage(test)


def either_order(test, wanted, others, exclude=""):
    """Runs without Treadle, then with it before and behind the others; after each what it was."""
    command = [wanted.main_class]
    plain = test.java(*others, *command)
    yield "without Treadle"
    agent = run_program.agent_for(test, wanted, exclude)
    for what, options in (("before", [agent, *others]), ("behind", [*others, agent])):
        test.ledger.unlink(missing_ok=True)
        traced = test.java(*options, *command)
        told(test, f"{what} {others[-1]}", run_program.check, test, wanted, plain, traced)
        yield what


def told(test, what, check, *arguments):
    already = len(test.failures)
    check(*arguments)
    test.failures[already:] = [f"{what}: {f}" for f in test.failures[already:]]


# ---- coverage ----

def coverage(test):
    with zipfile.ZipFile(JACOCO) as packed:
        packed.extract("jacocoagent.jar", test.scratch)
    test.compile("coverage", SOURCES / "PrintCoverage.java", flags=["-cp", JACOCO_CORE])
    for name in ("Exceptions", "Constructors", "Interfaces"):
        wanted = expectation.parse(JAVATEST / f"{name}.java")
        others = ["-javaagent:jacocoagent.jar=destfile=coverage.exec"]
        found = {}
        for what in either_order(test, wanted, others, exclude=";*.$jacocoInit"):
            found[what] = covered(test)
        test.check(name in found["without Treadle"], f"{name} is not covered at all")
        for what, lines in found.items():
            test.check(lines == found["without Treadle"], f"coverage, Treadle {what}: {lines}, not "
                                                          f"{found['without Treadle']}")


def covered(test):
    data = test.scratch / "coverage.exec"
    printed = test.run([test.jdk / "bin/java", "-cp", f"coverage:{JACOCO_CORE}", "PrintCoverage",
                        data])
    test.check(printed.status == 0, f"coverage cannot be read: {printed.err}")
    data.unlink(missing_ok=True)
    return {line.split()[0]: line for line in printed.out.splitlines()}


# ---- Flight Recorder ----

def recorder(test):
    """Its method timing counts exits; and where exceptions pass it counts each `athrow`, of the hooks too,
    and misses what the JVM throws by itself: it is asked of a program that throws nothing."""
    record(test, "Exceptions", "")
    if test.major >= 25:
        record(test, "MutualRecursion", ",method-timing=MutualRecursion", check_timing)


def record(test, name, timing, check=None):
    wanted = expectation.parse(JAVATEST / f"{name}.java")
    others = ["-Xlog:disable", f"-XX:StartFlightRecording=filename=recording.jfr{timing}"]
    for what in either_order(test, wanted, others):
        summary = test.run([test.jdk / "bin/jfr", "summary", "recording.jfr"])
        test.check(summary.status == 0 and "jdk.ActiveSetting" in summary.out,
                   f"Treadle {what}: the recording cannot be read: {summary}")
        printed = test.run([test.jdk / "bin/jfr", "print", "--events", "JVM*,Thread*",
                            "recording.jfr"])
        test.check(printed.status == 0 and wanted.main_class in printed.out, f"Treadle {what}: jfr print: {printed.err}")
        if check:
            check(test, what, wanted)
        (test.scratch / "recording.jfr").unlink(missing_ok=True)


def check_timing(test, what, wanted):
    have = timed_calls(test)
    want = {name: calls for name, calls in calls_in(wanted).items()
            if name.startswith(f"{wanted.main_class}.")}
    test.check(have == want, f"Treadle {what}: method timing has {have}, not {want}")


def timed_calls(test):
    """Calls of each method that was called, by Flight Recorder's own counting."""
    printed = test.run([test.jdk / "bin/jfr", "print", "--json", "--events", "jdk.MethodTiming",
                        "recording.jfr"])
    calls = {}
    for event in json.loads(printed.out)["recording"]["events"]:
        method, invocations = event["values"]["method"], event["values"]["invocations"]
        name = f"{method['type']['name']}.{method['name']}"
        calls[name] = max(calls.get(name, 0), invocations)
    return {name: n for name, n in calls.items() if n}


def calls_in(wanted):
    calls = Counter()
    rest = [node for thread in wanted.threads for node in thread.roots]
    while rest:
        node = rest.pop()
        calls[node.name] += node.calls
        rest += node.children
    return calls


# ---- a debugger ----

def debugging(test):
    """What jdb says at breakpoints and steps, and what the program prints."""
    source = SOURCES / "Debugged.java"
    test.compile("debugged", source, flags=["-g"])
    wanted = expectation.parse(source)
    line = 1 + next(i for i, text in enumerate(source.read_text().splitlines())
                    if "// stop here" in text)
    agent = run_program.agent_for(test, wanted)
    plain, said = debug(test, line)
    test.check(all(text in said for text in ("Breakpoint hit", "total = 5", "Debugged.square", "partly")),
               f"jdb does not work without Treadle: {said}")
    for what, agents in (("before", [agent, debugger.OPTIONS]), ("behind", [debugger.OPTIONS, agent])):
        test.ledger.unlink(missing_ok=True)
        traced, said_now = debug(test, line, agents)
        told(test, f"{what} the debugger", run_program.check, test, wanted, plain, traced)
        test.check(said_now == said, f"{what} the debugger: jdb says\n{said_now}\nnot\n{said}")


def debug(test, line, agents=(debugger.OPTIONS,)):
    with test.started(test.java_command(*agents, "-cp", "debugged", "Debugged")) as process:
        with debugger.Debugger(test, debugger.port_of(test)) as jdb:
            jdb.wait_for(r"main\[1\] $")
            said = jdb.tell(f"stop at Debugged:{line}")
            said += jdb.tell("stop in Debugged.partly")
            for _ in range(3):
                said += jdb.tell("cont", r"Breakpoint hit: .*main\[1\] (> )?$")
                said += jdb.tell("where")
                said += jdb.tell("locals")
            for _ in range(3):
                said += jdb.tell("next", r"Step completed: .*main\[1\] (> )?$")
            said += jdb.tell("cont", r"Breakpoint hit: .*main\[1\] (> )?$")
            for _ in range(6):
                said += jdb.tell("where")
                said += jdb.tell("step", r"Step completed: .*main\[1\] (> )?$")
            said += jdb.tell("locals")
            said += jdb.tell("cont", r"The application .*exited\s*$")
        status = process.wait(timeout=harness.LIMIT_S)
    out = "".join(l + "\n" for l in test.printed() if not l.startswith(debugger.LISTENING))
    return harness.Run(status, out, ""), said


if __name__ == "__main__":
    harness.main(other_agents)
