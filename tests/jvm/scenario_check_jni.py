"""-Xcheck:jni has nothing to say about the agent."""

import harness
from running import running


def check_jni(test):
    for name in ("NativeCalls", "NativeAttach", "NamedThreads", "Exceptions", "Renames"):
        plain = test.java("-Xcheck:jni", name)
        traced = test.java("-Xcheck:jni", name, agent=test.agent_option())
        test.same_for_user(plain, traced, name)
    queue_of_a_lock(test)
    end_of_wait(test)


def queue_of_a_lock(test):
    """What is read of a Lock is of its own class, which is another one for the same Lock on other JDKs."""
    plain = test.java("-Xcheck:jni", "FairReader")
    traced = test.java("-Xcheck:jni", "FairReader", agent=test.agent_option(waits="on"))
    test.same_for_user(plain, traced, "FairReader")


def end_of_wait(test):
    """An exception ends a wait in a thread that the agent has not met since profiling was started again."""
    agent = test.agent_option(events="instrument", include="no.such.*", waits="on")
    with running(test, "-Xcheck:jni", "Interrupted", agent=agent) as program:
        program.done("stop")
        program.done("start")
        program.tell("interrupt")
        test.wait_until(lambda: program.printed()[-1] == "interrupted" or program.process.poll() is not None, "no end")
        printed = program.printed()
    test.check(not [line for line in printed if "exception pending" in line], f"{printed}")
    test.check(printed[-1] == "interrupted", f"{printed}")


if __name__ == "__main__":
    harness.main(check_jni)
