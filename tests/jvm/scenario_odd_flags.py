"""Unusual JVM options, in both event modes: compilers, collectors, verification, class data sharing, modules,
a security manager. Same output and exit status, exact trees with each of them."""

from pathlib import Path

import expected as expectation
import harness
import run_program

EVENTS = ("jvmti", "instrument")

PROGRAMS = ("SelfRecursion", "Exceptions", "Lambdas")  # what InTurn.java calls
EXPERIMENTAL, DIAGNOSTIC = "-XX:+UnlockExperimentalVMOptions", "-XX:+UnlockDiagnosticVMOptions"
FLAGS = (
    # compilers
    "-Xint", "-Xcomp", "-XX:TieredStopAtLevel=1", "-XX:-TieredCompilation", "-Xbatch",
    # collectors, and how objects look
    "-XX:+UseSerialGC", "-XX:+UseParallelGC", "-XX:+UseG1GC", "-XX:+UseZGC", "-XX:+UseShenandoahGC",
    f"{EXPERIMENTAL} -XX:+UseEpsilonGC -Xms256m -Xmx256m -XX:+AlwaysPreTouch", "-Xmx64m",
    "-XX:-UseCompressedOops", "-XX:+UseCompactObjectHeaders",
    # classes
    "-Xshare:off", "-Xshare:auto", "-Xverify:all", "-esa",
    f"{DIAGNOSTIC} -XX:+BytecodeVerificationLocal -XX:+BytecodeVerificationRemote",
    # the rest
    "-Xrs", "-Xss16m", "-Djava.security.manager",
)
ARCHIVES = (
    ("-XX:ArchiveClassesAtExit=", "-XX:SharedArchiveFile="),
    ("-XX:AOTCacheOutput=", "-XX:AOTCache="),
)


def odd_flags(test):
    javatest = Path(__file__).parents[2] / "javatest"
    for flags in FLAGS:
        if test.java(*flags.split(), "-version").status != 0:
            print(f"this JVM does not know {flags}")
            continue
        run(test, flags, in_turn, javatest, *flags.split())
    run(test, "modules", modules)
    for making, using in ARCHIVES:
        if test.java(f"{using}missing", "-version").status == 0:
            run(test, using, archive, javatest / "Lambdas.java", making, using)
        else:
            print(f"this JVM does not know {using}")


def run(test, what, check, *arguments):
    already = len(test.failures)
    test.ledger.unlink(missing_ok=True)
    check(test, *arguments)
    test.failures[already:] = [f"{what}: {f}" for f in test.failures[already:]]


def in_turn(test, javatest, *flags):
    """The trees of all programs below the method that calls them."""
    parts = [expectation.parse(javatest / f"{name}.java") for name in PROGRAMS]
    main = expectation.Node(1, "InTurn.main")
    main.children = [root for part in parts for thread in part.threads for root in thread.roots]
    wanted = expectation.Expected("InTurn", include=";".join(["InTurn.*"] + [part.include for part in parts]))
    wanted.threads = [expectation.Thread("main", roots=[main])]
    for part in parts:
        wanted.totals |= part.totals
    run_program.run(test, wanted, [*flags, "InTurn"])


def modules(test):
    source = Path(__file__).parent / "modules"
    test.compile("modules", flags=["--module-source-path", source, "-m", "app,lib"])
    wanted = expectation.parse(source / "app/app/Main.java")
    run_program.run(test, wanted, ["-p", "modules", "-m", "app/app.Main"])


def archive(test, source, making, using):
    """The program's own classes come from an archive, where the JVM has them parsed; it takes a jar."""
    wanted = expectation.parse(source)
    folder = next(f for f in test.classes.split(":") if (Path(f) / f"{source.stem}.class").exists())
    test.run([test.jdk / "bin/jar", "-cf", "app.jar", "-C", folder, "."])
    command = ["-Xlog:disable", "-cp", "app.jar", wanted.main_class]
    made = test.java(f"{making}archive", *command)
    test.check(made.status == 0 and (test.scratch / "archive").exists(), f"no archive: {made}")
    run_program.run(test, wanted, [f"{using}archive", *command])


if __name__ == "__main__":
    harness.main(odd_flags)
