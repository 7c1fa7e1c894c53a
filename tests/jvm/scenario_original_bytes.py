"""The bytes of classes, as a Java agent is shown them that stands before Treadle or behind it: hooks are seen
by who stands behind, while profiled; once stopped, each class is what it was, to the byte."""

import zipfile
from pathlib import Path

import harness
from running import running

SOURCES = Path(__file__).parent / "original_bytes"
INCLUDE = "Subject*;java.util.ArrayList*;java.util.HashMap*"
FIRST, SECOND = 0, 1  # the Java agents: one from the start, one loaded when Treadle is there
HOOK = b"TreadleHooks"


def original_bytes(test):
    test.compile("classes", SOURCES / "Recorder.java", SOURCES / "Subject.java")
    with zipfile.ZipFile(test.scratch / "recorder.jar", "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF",
                     "Premain-Class: Recorder\nAgent-Class: Recorder\n"
                     "Can-Retransform-Classes: true\n")
    command = ["-javaagent:recorder.jar", "-cp", "classes", "Recorder"]
    with running(test, *command) as program:
        untouched = record(program, FIRST, "untouched")
        before = settled(program)
        plain = program.end()
    test.check(len(before) >= 8, f"only {len(before)} classes are recorded")

    with running(test, *command) as program:
        test.check(settled(program) == before, "no two runs have the same classes")
        program.attach("--include", INCLUDE)
        check(test, "attached", program, before, lambda: program.done("stop"))
        program.done("start")
        check_hooks(test, "started again", record(program, SECOND, "again"), before)
        program.done("stop")
        check_original(test, "stopped again", record(program, SECOND, "again-after"), before)
        check_end(test, plain, program)

    with running(test, *command) as program:
        settled(program)
        program.load(f'"file:{test.ledger},live-dir:{test.live},include:{INCLUDE}"')
        check(test, "loaded by jcmd", program, before, lambda: program.load("stop"))
        check_end(test, plain, program)

    # Treadle is the first of all, and its hooks are in the classes as they are loaded.
    agent = test.agent_option(events="instrument", include=INCLUDE)
    with running(test, *command, agent=agent) as program:
        check_hooks(test, "from the start", record(program, FIRST, "from-the-start"), before)
        program.done("stop")
        after = record(program, FIRST, "from-the-start-after")
        files = {path.name: path.read_bytes() for path in (test.scratch / "classes").iterdir()}
        check_original(test, "from the start, stopped", after,
                       {name: files.get(name, untouched[name]) for name in after})
        check_end(test, plain, program)


def record(program, agent, folder):
    """The bytes of each class as that agent is shown them, by file name."""
    program.ask(f"record {agent} {folder}")
    return {path.name: path.read_bytes() for path in (program.test.scratch / folder).iterdir()}


def settled(program):
    """As before, the second time: a JVM that does not verify its own classes drops their stack maps when
    they are transformed first."""
    record(program, FIRST, "unsettled")
    return record(program, FIRST, "settled")


def check(test, what, program, before, stop):
    check_original(test, f"{what}, seen from before", record(program, FIRST, "during"), before)
    program.jcmd("JVMTI.agent_load", test.scratch / "recorder.jar")
    check_hooks(test, f"{what}, seen from behind", record(program, SECOND, "during2"), before)
    program.ask("work")
    stop()
    program.ask("work")
    for agent in (FIRST, SECOND):
        check_original(test, f"{what}, stopped, {agent}", record(program, agent, f"after{agent}"),
                       before)


def check_original(test, what, have, before):
    test.check(have.keys() == before.keys(), f"{what}: classes {have.keys() ^ before.keys()}")
    for name in have.keys() & before.keys():
        test.check(have[name] == before[name], f"{what}: {name} has other bytes than before")


def check_hooks(test, what, have, before):
    """All but those without code: an annotation, and a marker of an array's values."""
    for name in have.keys() & before.keys():
        has_code = b"Code" in before[name]
        test.check((HOOK in have[name]) == has_code == (have[name] != before[name]),
                   f"{what}: {name}: hooks {HOOK in have[name]}, code {has_code}")


def check_end(test, plain, program):
    """What was worked on the way is said; all of it is the same."""
    worked = {line.split(" ", 1)[1] for line in test.printed() if line.startswith(("ready", "worked"))}
    test.check(worked == {plain.out.splitlines()[0].split(" ", 1)[1]}, f"other results: {worked}")
    test.check(program.end().status == plain.status == 0, "exit status")
    test.checked_report()


if __name__ == "__main__":
    harness.main(original_bytes)
