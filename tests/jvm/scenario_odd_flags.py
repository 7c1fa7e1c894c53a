"""Unusual JVM options: same output, exact calls with each of them."""

from pathlib import Path

import harness
import run_program

PROGRAMS = ("SelfRecursion", "Exceptions", "Synchronized", "Lambdas")
FLAGS = ("-Xint", "-Xcomp", "-Xshare:off", "-XX:TieredStopAtLevel=1", "-XX:-TieredCompilation",
         "-XX:+UseSerialGC", "-XX:+UseParallelGC", "-XX:+UseG1GC", "-XX:+UseZGC",
         "-XX:+UseShenandoahGC", "-XX:-UseCompressedOops", "-XX:+UseCompactObjectHeaders", "-Xrs",
         "-Xbatch", "-Xss16m", "-Xmx64m", "-esa")


def odd_flags(test):
    javatest = Path(__file__).parents[2] / "javatest"
    for flag in FLAGS:
        if test.java(flag, "-version").status != 0:
            print(f"this JVM does not know {flag}")
            continue
        already = len(test.failures)
        for name in PROGRAMS:
            test.ledger.unlink(missing_ok=True)
            run_program.program(test, javatest / f"{name}.java", flag)
        test.failures[already:] = [f"{flag}: {f}" for f in test.failures[already:]]


if __name__ == "__main__":
    harness.main(odd_flags)
