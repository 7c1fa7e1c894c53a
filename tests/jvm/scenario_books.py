"""A real program with every method traced: javac compiling a part of java.util. The classes are the same
as without the agent, the kernel's CPU is charged to within 0.5 %, and every stanza adds up."""

import zipfile

import harness

PACKAGE = "java.base/java/util/"
FILES = ("AbstractCollection", "AbstractList", "ArrayDeque", "BitSet", "Objects")


def books(test):
    extract(test)
    plain = compile_into(test, "plain")
    traced = compile_into(test, "traced", agent=test.agent_option())
    test.same_for_user(plain, traced)
    test.check(plain.status == 0, f"javac: {plain.err}")
    test.check(classes_in(test, "plain") == classes_in(test, "traced"), "the classes differ")
    views = test.checked_report(views=("threads", "flat", "callers"))
    test.close_balance(views)
    test.check(len(views["flat"]["methods"]) > 1000, "javac has more methods than that")


def extract(test):
    archives = [test.jdk / "lib/src.zip", test.jdk.parent / f"openjdk-{test.major}/lib/src.zip"]
    archive = next((a for a in archives if a.exists()), None)
    if not archive:
        raise harness.Skip(f"no sources of the JDK {test.major}: no file {archives[0]}")
    with zipfile.ZipFile(archive) as sources:
        sources.extractall(test.scratch, [f"{PACKAGE}{name}.java" for name in FILES])


def compile_into(test, folder, agent=None):
    return test.run([test.jdk / "bin/javac", *([f"-J{agent}"] if agent else []), "-proc:none",
                     "-nowarn", "--patch-module", "java.base=java.base", "-d", folder,
                     *(f"{PACKAGE}{name}.java" for name in FILES)])


def classes_in(test, folder):
    root = test.scratch / folder
    return {p.relative_to(root): p.read_bytes() for p in root.rglob("*.class")}


if __name__ == "__main__":
    harness.main(books)
