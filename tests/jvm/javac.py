"""javac of the JDK under test, compiling some of that JDK's own sources: a real program to profile."""

import zipfile

import harness

PACKAGE = "java.base/java/util/"


def extract(test, names):
    archives = [test.jdk / "lib/src.zip", test.jdk.parent / f"openjdk-{test.major}/lib/src.zip"]
    archive = next((a for a in archives if a.exists()), None)
    if not archive:
        raise harness.Skip(f"no sources of the JDK {test.major}: no file {archives[0]}")
    with zipfile.ZipFile(archive) as sources:
        sources.extractall(test.scratch, [f"{PACKAGE}{name}.java" for name in names])


def compile_into(test, folder, names, agent=None, flags=()):
    """Compiles what extract() has put there; flags are for the JVM that javac runs in."""
    return test.run([test.jdk / "bin/javac", *([f"-J{agent}"] if agent else []),
                     *(f"-J{flag}" for flag in flags), *arguments(folder, names)])


def compile_late(test, folder, names, agent):
    """The same, after two seconds in which samples can begin."""
    return test.java("LateCompiler", *arguments(folder, names), agent=agent)


def arguments(folder, names):
    return ["-proc:none", "-nowarn", "--patch-module", "java.base=java.base", "-d", folder,
            *(f"{PACKAGE}{name}.java" for name in names)]


def classes_in(test, folder):
    root = test.scratch / folder
    return {p.relative_to(root): p.read_bytes() for p in root.rglob("*.class")}
