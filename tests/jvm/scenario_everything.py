"""include=*: every class of the JDK has hooks too, from the start or in a running JVM. Programs and javac do what
they do without the agent, with -Xcomp and -Xcheck:jni too, and what a program calls in the JDK is counted. So they do
within a budget, where the JDK's small methods are only counted: what counts calls itself."""

import harness
import javac
from running import running

JAVAC_FILES = ("StringJoiner",)


def everything(test):
    programs(test)
    attached(test)
    compiler(test)


def programs(test):
    for flags in ((), ("-Xcheck:jni",), ("-Xcomp",)):
        check_calls(test, flags, check_program(test, "Everything", flags))
        test.close_balance({"threads": test.report("threads")})
    names = ["Exceptions", "ShortThreads", "StackOverflow", "UncaughtInThread"]
    for name in names + (["VirtualThreads"] if test.major >= 21 else []):
        check_program(test, name, ())
    for flags in (("-Xint",), ("-Xverify:all",)):
        check_program(test, "Lambdas", flags)
    for flags in ((), ("-Xint",), ("-Xcomp",), ("-Xverify:all",), ("-XX:+UseZGC",)):
        check_program(test, "ShortThreads", flags, overhead="2%")


def check_program(test, name, flags, **more):
    """What it printed without the agent."""
    test.ledger.unlink(missing_ok=True)
    what = " ".join((*flags, name))
    plain = test.java(*flags, name)
    agent = test.agent_option(events="instrument", include="*", **more)
    test.same_for_user(plain, test.java(*flags, name, agent=agent), what)
    views = test.checked_report(views=("threads", "flat", "callers"))
    test.check(views["threads"]["hooks"]["methods"] > 5000, f"{what}: not everything has hooks")
    return plain.out


def check_calls(test, flags, out):
    """Of the JDK's methods, those that the program called itself; others may come on top elsewhere."""
    made = calls_by_caller(test.report("callers"))
    lines = [line.split()[2:] for line in out.splitlines() if line.startswith("expect below")]
    test.check(len(lines) == 5, f"the program expects nothing: {out}")
    for caller, method, calls in lines:
        have = made.get((caller, method), 0)
        test.check(have == int(calls), f"{flags}: {method} below {caller}: {have} calls, not {calls}")


def calls_by_caller(callers):
    """{(caller, method): calls}; a method stands there with its signature and without, all of that name."""
    made = {}
    for stanza in callers["methods"]:
        method = f"{stanza['self']['class']}.{stanza['self']['method']}"
        for parent in stanza["parents"]:
            caller = f"{parent['class']}.{parent['method']}"
            for name in (method, method + (stanza["self"]["signature"] or "")):
                made[caller, name] = made.get((caller, name), 0) + parent["calls"]
    return made


def attached(test):
    """Hooks into all that is loaded, under load, and out of it, and in again."""
    test.ledger.unlink(missing_ok=True)
    with running(test, "StartStop") as program:
        program.attach("--include", "*")
        for _ in range(2):
            test.check(program.ask("count 100") == "counted 14950", "wrong while it is profiled")
            program.done("stop")
            test.check(program.ask("count 100") == "counted 14950", "wrong while it is not")
            program.done("start")
        program.ask("count 50")
        ended = program.end()
    test.check(ended.status == 0 and ended.out.endswith("wrong 0 failed []\n"), f"{ended}")
    views = test.checked_report(views=("threads", "flat", "callers"))
    calls = sum(m["calls"] for m in views["flat"]["methods"]
                if (m["class"], m["method"]) == ("StartStop", "counted"))
    test.check(calls == 250, f"{calls} calls were counted, not 250")


def compiler(test):
    test.ledger.unlink(missing_ok=True)
    javac.extract(test, JAVAC_FILES)
    plain = javac.compile_into(test, "plain", JAVAC_FILES)
    test.check(plain.status == 0, f"javac: {plain.err}")
    traced = javac.compile_into(test, "traced", JAVAC_FILES,
                                agent=test.agent_option(events="instrument", include="*", max_mem="256M"))
    test.same_for_user(plain, traced, "javac")
    test.check(javac.classes_in(test, "plain") == javac.classes_in(test, "traced"),
               "javac: the classes differ")
    views = test.checked_report(views=("threads", "flat", "callers"))
    test.close_balance(views)
    test.check(len(views["flat"]["methods"]) > 5000, "javac: more methods are called than that")


if __name__ == "__main__":
    harness.main(everything)
