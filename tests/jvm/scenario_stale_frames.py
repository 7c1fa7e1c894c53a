"""Threads that stood in hooked methods when profiling stopped, and stand elsewhere when it starts again: after a
return, inside recursion, in a constructor, in a catch, parked, in a static initialiser, in a stream's lambda, called by
reflection, waiting in a monitor and for one; platform and virtual. From the start on each one's CPU is where it stands,
whether it has events or not, and below what stands above."""

import harness
import sampled
from exact_paths import exact_paths
from running import NICE, running

EVENTS = ("jvmti", "instrument")

ROUNDS = 1500  # of some 10 µs each
POINT = 0.01
HELPERS = ("burnHere", "waitHere")  # no place of their own: what they burn is their caller's
# Between a thread and its story, or above a lambda: in hidden classes, which are hooked in one mode only.
BETWEEN = ("<thread>", "turn", "run", "tell", "accept")

# By thread: the path from its story on when profiling starts again, and one step later.
WHERE = {
    "returned": (("returned", "other"), ("returned", "more")),
    "stays": (("stays",), ("stays", "more")),
    "recursive": (("recursive",) * 7 + ("other",), ("recursive",) * 2 + ("more",)),
    "constructor": (("constructor", "<init>"), ("constructor", "more")),
    "caught": (("caught",), ("caught", "more")),
    "inCatch": (("inCatch",), ("inCatch", "more")),
    "silent": (("silent", "entered"), ("silent",)),
    "parked": (("parked", "other"), ("parked", "more")),
    "reflected": (("reflected", "reads"), ("reflected", "more")),
    "initialiser": (("initialiser", "<clinit>"), ("initialiser", "more")),
    "pipeline": (("pipeline", "lambda$pipeline$1"), ("pipeline", "more")),
    "waiting": (("waiting", "other"), ("waiting", "more")),
    "blocked": (("blocked", "pass"), ("blocked", "more")),
}
# Interpreted, all calls of its last place come to the place on the stack that others came to before the step.
ALIKE = {"alike": (("alike", "entered"), ("alike",))}
EACH_MS = "--interval", "1ms", "--sample"
SILENT = "silent"  # one of these returns, and there is no event: only a sample can tell


def stale_frames(test):
    likely(test, stops, "hooks that run meanwhile", ("--exclude", exclude()))
    if test.events == "jvmti":
        return
    likely(test, stops, "no events", ("--exclude", exclude("turn")), lost=(SILENT,))
    likely(test, stops, "no hooks", ("--include", "no.such.*"), hooked=False)
    likely(test, stops, "samples", ("--exclude", exclude("turn"), *EACH_MS, "cpu"), corrected=True)
    likely(test, stops, "wall samples", ("--exclude", exclude("turn"), *EACH_MS, "wall"), corrected=True)
    likely(test, stops, "samples, no hooks", ("--include", "no.such.*", *EACH_MS, "cpu"), hooked=False)
    likely(test, stops, "alike", ("--exclude", exclude("like")), stories=ALIKE)
    likely(test, attached, "attached")
    likely(test, attached, "attached, samples", exclude("turn"), corrected=True, sample="cpu", interval="1ms")


def likely(test, story, *arguments, **options):
    """Where a host takes the processor away the kernel charges whoever had it: a part of what was to be burnt."""
    sampled.check_unless_chance(test, lambda longer: story(test, ROUNDS * longer, *arguments, **options))


def exclude(*more):
    return ";".join(f"Phases.{name}" for name in (*HELPERS, *more, "tell", "lambda*"))


def stops(test, rounds, what, start, hooked=True, lost=(), corrected=False, stories=WHERE):
    more_samples = has_more_samples()
    test.corrects_positions = corrected or more_samples
    options = ("-Xint", *flags(test)), ("alike", *arguments(test))
    options = options if stories is ALIKE else (flags(test), arguments(test))
    with running(test, *options[0], "Phases", *options[1],
                 agent=test.agent_option(include="Phases*", exclude=exclude()), prefix=NICE) as program:
        program.done("stop")
        told(test, program, "step")
        if test.events == "jvmti":
            start = ()
        program.done("start", *start)
        follow(test, program, rounds, what, hooked, lost, stories)
        count = positions_corrected(test, program)
        test.check_likely((count > 0) == corrected or more_samples, "corrected", f"{what}: {count} positions corrected")


def has_more_samples():
    """A budget has samples, too."""
    return harness.MORE_OPTIONS.keys() & {"sample", "overhead"}


def positions_corrected(test, program):
    program.done("dump", "-o", test.ledger)
    balance = test.report("threads")["balance"]
    test.ledger.unlink()
    return balance["positions_corrected"]


def attached(test, rounds, what, left_out=None, corrected=False, **options):
    test.corrects_positions = corrected
    with running(test, *flags(test), "Phases", *arguments(test), prefix=NICE) as program:
        told(test, program, "step")
        program.attach("--include", "Phases*", "--exclude", left_out or exclude(), **options)
        if "sample" in options:
            wait_for_samples(test, program)
        follow(test, program, rounds, what, True, (), WHERE)
        count = positions_corrected(test, program)
        test.check_likely((count > 0) == corrected or has_more_samples(), "corrected", f"{what}: {count} positions corrected")


def wait_for_samples(test, program):
    """Samples begin when the profiler's thread has made its tables, beside 26 threads that burn."""
    for _ in range(100):
        told(test, program, f"burn {ROUNDS // 10}")
        program.done("dump", "-o", test.ledger)
        taken = test.report("threads")["balance"]["samples"]["taken"]
        test.ledger.unlink()
        if taken:
            return
    test.check(False, "no samples are taken")


def flags(test):
    return (f"-Djdk.virtualThreadScheduler.parallelism={len(WHERE)}",) if test.major >= 21 else ()


def arguments(test):
    return ("virtual",) if test.major >= 21 else ()


def told(test, program, line):
    answer = program.ask(line)
    test.check(answer.split()[0] in ("step", "burnt"), f"{line}: {answer}")


def follow(test, program, rounds, what, hooked, lost, stories):
    """The threads burn where they are, go one step on, and burn there."""
    for number in (0, 1):
        before = burnt(test, program)
        told(test, program, f"burn {rounds}")
        check(test, f"{what}, step {number + 1}", before, burnt(test, program), number, hooked, lost if number else (),
              stories)
        if number == 0:
            told(test, program, "step")


def burnt(test, program):
    """{(thread, path of exact frames below its run): CPU ns}, as of now."""
    program.done("dump", "-o", test.ledger)
    views = test.checked_report()
    test.ledger.unlink()
    return exact_paths(views)


def check(test, what, before, after, number, hooked, lost, stories):
    threads = {thread for thread, _ in after if thread.removeprefix("v-") in stories}
    test.check(len(threads) == len(stories) * (2 if arguments(test) else 1), f"{what}: threads {sorted(threads)}")
    for thread in sorted(threads):
        story = thread.removeprefix("v-")
        if story in lost:
            continue
        wanted = stories[story][number] if hooked else ()
        grown = {path: ns - before.get((thread, path), 0) for (name, path), ns in after.items() if name == thread}
        there = sum(ns for path, ns in grown.items() if stands(path, wanted))
        whole = sum(grown.values())
        told_path = {"/".join(path): ns for path, ns in grown.items() if ns > whole // 100}
        test.check_likely(whole > 0 and there >= whole * (1 - POINT), f"{what}: {thread}",
                          f"{what}: {thread}: {there} of {whole} ns in {wanted}: {told_path}")


def stands(path, wanted):
    """The frames of the story and no others; what is called from the last place belongs to it."""
    path = tuple(name for name in path if name not in (*BETWEEN, *HELPERS) and not name.startswith("lambda$add"))
    return path == wanted


if __name__ == "__main__":
    harness.main(stale_frames)
