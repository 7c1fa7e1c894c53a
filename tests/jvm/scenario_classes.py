"""Classes of every origin while profiled from the start: hidden ones, of 500 loaders, unloaded, redefined, behind
lambdas and proxies, in the middle of being loaded, too large, damaged. The application sees what it sees without
the agent; counts are those on paper."""

import json
import re
import zipfile
from collections import Counter
from pathlib import Path

import harness
from running import running

SOURCES = Path(__file__).parent / "classes"
INCLUDE = "Many.*;Changing.*;Slow.*;Bad.*;Hidden.*;Large.*;Classes.called;$Proxy*;*.$Proxy*"

# What is told to the program, and to Treadle (`stop`, `start`) where there is one; calls that it makes.
STORY = [
    ("hidden", {"Classes.called": 10}),
    ("many 500", {"Many.<init>": 500, "Many.applyAsInt": 500, "Many.twice": 500}),
    ("unloaded 50", {"Many.<init>": 50}),
    ("changing", {"Changing.call": 5, "Changing.body": 5, "Changing.only": 5}),
    ("redefined two", {}),
    ("changing", {"Changing.call": 5, "Changing.body": 10}),
    ("stop", {}),
    ("changing", {}),
    ("redefined one", {}),
    ("changing", {}),
    ("start", {}),
    ("changing", {"Changing.call": 5, "Changing.body": 5, "Changing.only": 5}),
    ("lambdas", {"Classes.called": 3}),
    ("proxies", {"Classes.called": 15, "$Proxy.area": 10, "$Proxy.more": 5, "$Proxy.<init>": 1,
                 "$Proxy.<clinit>": 1}),
    ("large", {"Large.small": 1}),
    # a class whose bytes are read while hooks come and go
    ("slowly define", {}), ("stop", {}), ("released", {}), ("start", {}),
    ("slowly define", {}), ("stop", {}), ("start", {}),
    ("released", {"Many.<init>": 1, "Many.applyAsInt": 1, "Many.twice": 1}),
    ("stop", {}), ("slowly define", {}), ("start", {}),
    ("released", {"Many.<init>": 1, "Many.applyAsInt": 1, "Many.twice": 1}),
    # one whose initialiser runs then
    ("slowly initialise", {"Slow.<clinit>": 1, "Slow.await": 1}), ("stop", {}), ("start", {}),
    ("released", {"Slow.after": 1}),
]
DAMAGES = {  # folder: what becomes of the class file of Bad, whose add() is iload_0 iconst_1 iadd ireturn
    "whole": lambda code: code,
    "types": lambda code: code.replace(b"\x1a\x04\x60\xac", b"\x1a\x04\x61\xac"),
    "end": lambda code: code.replace(b"\x1a\x04\x60\xac", b"\x1a\x04\x60\x00"),
    "opcode": lambda code: code.replace(b"\x1a\x04\x60\xac", b"\x1a\xfe\x60\xac"),
    "cut": lambda code: code[:len(code) // 2],
    "magic": lambda code: b"\xca\xfe\xba\xbf" + code[4:],
    "future": lambda code: code[:6] + b"\x00\x63" + code[8:],
    "long": lambda code: code + b"\x00",
}
CLASSES = 7  # Many, Changing, Slow, Bad, Large, Classes and the proxy
LEFT_ALONE = {"code_too_large": 1, "malformed": 5, "version": 1}  # "types" only the JVM's verifier sees
BYTES_OF_A_METHOD = 65_535
STATEMENT, STATEMENT_BYTES = "n = n * 31 + 7;\n", 10


def classes(test):
    prepare(test)
    story = story_for(test.major)
    command = ["-javaagent:redefiner.jar", "-cp", "classes", "Classes"]
    with running(test, *command) as program:
        tell(program, [line for line, _ in story if line not in ("stop", "start")])
        plain = program.end()
    test.check(plain.status == 0, f"it fails by itself: {plain}")

    agent = test.agent_option(events="instrument", include=INCLUDE)
    with running(test, *command, agent=agent) as program:
        tell(program, [line for line, _ in story])
        status = json.loads(program.done("status", "--json"))
        traced = program.end()
    test.check(settled(plain.out) == settled(traced.out) and traced.status == 0,
               f"other results with the agent: {settled(traced.out)}\nnot {settled(plain.out)}")
    views = test.checked_report()
    check_calls(test, views["flat"], story)
    check_hooks(test, status["hooks"])
    check_hooks(test, views["threads"]["hooks"])


def story_for(major):
    """Before JDK 20 (JDK-7124710) any agent that has a class transformed again brings back what it was before
    it was redefined: it is redefined once more."""
    if major >= 20:
        return STORY
    stopped = STORY.index(("stop", {})) + 1
    return [*STORY[:stopped], ("redefined two", {}), *STORY[stopped:]]


def prepare(test):
    statements = STATEMENT * ((BYTES_OF_A_METHOD - 2) // STATEMENT_BYTES)
    (test.scratch / "Large.java").write_text(
        f"class Large {{\nstatic long large(long n) {{\n{statements}return n;\n}}\n"
        "static long small(long n) {\nreturn n + 1;\n}\n}\n")
    for version in ("one", "two"):
        test.compile(version, SOURCES / version / "Changing.java")
    test.compile("classes", "Large.java", SOURCES / "one/Changing.java", *SOURCES.glob("*.java"))
    with zipfile.ZipFile(test.scratch / "redefiner.jar", "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF",
                     "Premain-Class: Redefiner\nCan-Redefine-Classes: true\n")
    whole = (test.scratch / "classes/Bad.class").read_bytes()
    for folder, damage in DAMAGES.items():
        (test.scratch / folder).mkdir()
        (test.scratch / folder / "Bad.class").write_bytes(damage(whole))


def tell(program, lines):
    for line in lines:
        if line in ("stop", "start"):
            program.done(line)
        else:
            program.ask(line)
    for folder in DAMAGES:
        program.ask(f"broken {folder}")


def settled(out):
    """What a verifier says of code depends on where it lies."""
    return re.sub(r"VerifyError: .*(Bad\.add\(I\)I).*", r"VerifyError \1", out)


def check_calls(test, flat, story):
    have, want = Counter(), Counter()
    for method in flat["methods"]:
        owner = "$Proxy" if "$Proxy" in method["class"] else method["class"]
        have[f"{owner}.{method['method']}"] += method["calls"]
    for _, calls in story:
        want.update(calls)
    want.update({"Bad.call": 1, "Bad.add": 1})
    test.check(+have == want, f"calls: {+have - want} too many, {want - have} missing")


def check_hooks(test, hooks):
    """Those of all loaders count as one class; hidden ones are not looked at."""
    classes = CLASSES + (test.major >= 21)  # VirtualThread tells who starts one
    test.check(hooks["classes"] == classes, f"{hooks['classes']} classes have hooks, not {classes}")
    left_alone = {reason: count for reason, count in hooks["left_alone"].items() if count}
    test.check(left_alone == LEFT_ALONE, f"left alone: {left_alone}, not {LEFT_ALONE}")


if __name__ == "__main__":
    harness.main(classes)
