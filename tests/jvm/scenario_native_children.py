"""A shell script that starts a JVM, which starts a native program: the JVM is the agent's alone, the shell and the
native program have ledgers of their own, and one report has all three by merge. The same with --native for a JVM that is
started itself."""
import os
import re

import harness


def cpu_ns(view):
    return sum(thread["cpu_ns"] for thread in view["threads"])


def of_java(test, environment, java):
    for options, wanted in (((), ["java"]), (("--native",), ["java", "sort"])):
        done = test.run([test.treadle, "run", *options, "--", *java.split()], environment)
        test.check(done.status == 0, f"{options}: status {done.status}: {done.err}")
        ledgers = list(test.scratch.glob("treadle-*.ledger"))
        views = [test.report("threads", ledger)["process"] for ledger in ledgers]
        found = sorted("java" if view["jvm"] else re.split(r"[ /]", view["command"])[0] for view in views)
        test.check(found == wanted, f"{options}: {found}, not {wanted}: {done.err}")
        for ledger in ledgers:
            ledger.unlink()


def scenario(test):
    library = test.agent.parent.parent / "native" / "libtreadle-native.so"
    text = test.scratch / "text"
    text.write_text("".join(f"{number * 7919 % 1000003:x}\n" for number in range(200_000)))
    java = f"{test.jdk}/bin/java -cp {test.classes} ChildPrograms text sorted"
    environment = {"TREADLE_AGENT": str(test.agent), "TREADLE_PRELOAD": str(library), "LC_ALL": "C"}
    of_java(test, environment, java)
    done = test.run([test.treadle, "run", "--", "sh", "-c", f"{java}; exit $?"],
                    environment)
    test.check(done.status == 0, f"status {done.status}: {done.err}")
    test.check(f"sorted {os.path.getsize(text)}" in done.out, done.out)
    said = [line for line in done.err.splitlines() if not line.startswith("Picked up JAVA_TOOL_OPTIONS")]
    test.check(said == [], done.err)
    ledgers = sorted(path.name for path in test.scratch.glob("treadle-*.ledger"))
    views = {name: test.report("threads", test.scratch / name) for name in ledgers}
    kinds = {}
    for name, view in views.items():
        command, jvm = view["process"]["command"], view["process"]["jvm"]
        kinds["java" if jvm else re.split(r"[ /]", command)[0]] = name
        named = {thread["name"] for thread in view["threads"]}
        test.check(("Reference Handler" in named) == bool(jvm), f"{name}: {command}, {jvm}: {named}")
        if not jvm:
            off = abs(view["balance"]["difference_ppm"])
            test.check(off <= 5000, f"{name}: {command}: {off} ppm off")
    test.check(sorted(kinds) == ["java", "sh", "sort"] and len(ledgers) == 3, f"{kinds} of {ledgers}")
    merged = test.scratch / "all.ledger"
    done = test.run([test.treadle, "merge", *(test.scratch / name for name in ledgers), "-o", merged])
    test.check(done.status == 0, done.err)
    view = test.report("threads", merged)
    sums = sum(map(cpu_ns, views.values()))
    test.check(cpu_ns(view) == sums, f"merged: {cpu_ns(view)} ns, in all {sums} ns")
    named = [thread["name"] for thread in view["threads"]]
    test.check(any(name.endswith("] main") for name in named) and any(name.endswith("] sort") for name in named),
               f"{named}")


if __name__ == "__main__":
    harness.main(scenario)
