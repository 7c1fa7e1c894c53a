"""Structured concurrency, a preview of JDK 25: the trees of all subtasks, also of those that are interrupted, and who
forked whom: in the rows of threads, and as the spawn view draws it. Lambdas have no nodes here, for javac numbers
them as it likes."""

from pathlib import Path

import expected as expectation
import harness
import run_program

EVENTS = ("jvmti", "instrument")
SOURCE = Path(__file__).parent / "preview" / "Structured.java"
MAJOR = 25  # before and after it StructuredTaskScope is made in other ways


def structured(test):
    if test.major != MAJOR:
        raise harness.Skip(f"JDK {test.major} has not the StructuredTaskScope of JDK {MAJOR}")
    test.compile("classes", SOURCE, flags=("--enable-preview", "--release", test.major, "-Xlint:all,-preview"))
    wanted = expectation.parse(SOURCE)
    command = ["--enable-preview", "-cp", "classes", wanted.main_class]
    plain = test.java(*command)
    traced = test.java(*command, agent=run_program.agent_for(test, wanted, exclude=";*.lambda$*"))
    run_program.check(test, wanted, plain, traced)
    check_spawn(test, wanted)


def check_spawn(test, wanted):
    """Each thread that is expected stands below the one that forked it."""
    have, stack = {}, [(None, row) for row in test.report("spawn")["threads"]]
    while stack:
        above, row = stack.pop()
        have[row["name"]] = above
        stack += [(row["name"], below) for below in row["children"]]
    for thread in wanted.threads:
        test.check(have.get(thread.name, "nowhere") == thread.parent,
                   f"{thread.name} is below {have.get(thread.name, 'nowhere')}, not {thread.parent}")


if __name__ == "__main__":
    harness.main(structured)
