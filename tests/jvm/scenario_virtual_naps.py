"""A virtual thread stands in a hooked method when profiling starts, and returns from it without a word, for that frame
has no hooks. No sample is taken: where it stands is seen when it is mounted next, and what it uses then is there."""

import harness
import sampled
from exact_paths import exact_paths
from running import running

EVENTS = ("jvmti", "instrument")

POINT = 0.01


def virtual_naps(test):
    if test.major < 21:
        raise harness.Skip("this JDK has no virtual threads")
    sampled.check_unless_chance(test, lambda _: one_story(test))


def one_story(test):
    agent = test.agent_option(include="Naps.*", exclude="Naps.spin;Naps.nap;Naps.main;Naps.lambda*", sample="none")
    with running(test, "Naps", agent=agent) as program:
        program.done("stop")
        program.ask("step")  # into inner, whose frame has no hooks
        program.done("start")
        before = paths(test, program)
        for order, place in (("burn", ("outer", "inner")), ("step", None), ("burn", ("outer",))):
            program.ask(order)
            after = paths(test, program)
            if place:
                check(test, before, after, place)
            before = after


def paths(test, program):
    """{path: CPU ns} of the virtual thread, as of now."""
    program.done("dump", "-o", test.ledger)
    found = exact_paths(test.checked_report())
    test.ledger.unlink()
    return {path[1:]: ns for (thread, path), ns in found.items() if thread.startswith("VirtualThread[")}


def check(test, before, after, place):
    grown = {path: ns - before.get(path, 0) for path, ns in after.items()}
    whole = sum(grown.values())
    there = sum(ns for path, ns in grown.items() if tuple(name for name in path if name != "run") == place)
    test.check_likely(whole > 0 and there >= whole * (1 - POINT), place, f"{there} of {whole} ns in {place}: {grown}")


if __name__ == "__main__":
    harness.main(virtual_naps)
