"""Four threads go from phase to phase, which they note with the time and their CPU time, while profiling is stopped
twenty times and started in between: after calls, up and down a recursion, in and out of frames that nobody hears, in a
constructor, out of an exception. What each phase has of its thread in the ledger is what it has of the time that was
profiled, by the program's own notes: within a point, and what samples may be off, by their own word, where there are
any."""

import json
import time
from bisect import bisect_right
from collections import Counter

import harness
import sampled
from exact_paths import exact_paths, squared_errors
from running import running

EVENTS = ("jvmti", "instrument")

STOPS = 20
PROFILED_MS, STOPPED_MS = 90, 35  # CPU time of each thread
POINT = 0.01
THREADS = {"flat", "deep", "quiet", "mixed"}
HELPERS = "stay", "spin", "burn", "end", "main", "add", "flat", "deep", "mixed", "lambda*"  # no places of their own


def twenty_stops(test):
    sampled.check_unless_chance(test, lambda _: one_story(test))


def one_story(test):
    test.ledger.unlink(missing_ok=True)
    exclude = ";".join([*(f"Shifts.{name}" for name in HELPERS), "Shifts$Diary.*", "*$$Lambda*"])
    agent = test.agent_option(include="Shifts*", exclude=exclude,
                              **({"sample": "cpu", "interval": "2ms"} if test.events == "instrument" else {}))
    # A thread that is where nobody told that it would be: only samples tell that.
    test.corrects_positions = test.events == "instrument"
    with running(test, "Shifts", agent=agent) as program:
        profiled = stop_and_start(program)
        program.done("dump", "-o", test.ledger)
        diary = test.scratch / "diary"
        program.ask(f"end {diary}")
        views = test.checked_report()
        compare(test, exact_paths(views), squared_errors(views), expected(diary, profiled))


def stop_and_start(program):
    """[(from, until)] that were profiled, by the clock of System.nanoTime."""
    began_ns, profiled = 0, []
    for i in range(STOPS):
        program.ask(f"burn {PROFILED_MS}")
        program.done("stop")
        profiled.append((began_ns, last_change_ns(program)))
        if i < STOPS - 1:
            program.ask(f"burn {STOPPED_MS}")
            program.done("start")
            began_ns = last_change_ns(program)
    return profiled


def last_change_ns(program):
    before_epoch_ns = time.time_ns() - time.monotonic_ns()
    return json.loads(program.done("status", "--json"))["since_ns"] - before_epoch_ns


def expected(diary, profiled):
    """{thread: {phase: CPU ns while profiled}}."""
    notes = {}
    for line in diary.read_text().splitlines():
        thread, phase, when, cpu = line.split()
        notes.setdefault(thread, []).append((int(when), int(cpu), phase))
    return {thread: spent(noted, profiled) for thread, noted in notes.items()}


def spent(noted, profiled):
    phases = Counter()
    for begin, end in profiled:
        # Between two notes stands the phase that the later one names, and ends with it.
        for at in range(max(1, bisect_right(noted, (begin,))), min(len(noted), bisect_right(noted, (end,)) + 1)):
            (before, cpu_before, phase), (after, cpu_after, _) = noted[at - 1], noted[at]
            part = min(after, end) - max(before, begin)
            phases[phase] += max(0, part) * (cpu_after - cpu_before) // max(1, after - before)
    return phases


def by_phase(found, thread):
    phases = Counter()
    for (name, path), value in found.items():
        if name == thread:
            phases["/".join(method for method in path if method not in ("<thread>", "turn"))] += value
    return phases


def compare(test, found, squares, wanted):
    test.check(wanted.keys() == THREADS, f"threads {sorted(wanted)}")
    for thread, phases in wanted.items():
        have, off = by_phase(found, thread), by_phase(squares, thread)
        whole, noted = sum(have.values()), sum(phases.values())
        shares = {phase: (have[phase] / whole, phases[phase] / noted) for phase in have.keys() | phases.keys()}
        wrong = {phase: share for phase, share in shares.items()
                 if abs(share[0] - share[1]) > POINT + off[phase] ** 0.5 / whole}
        test.check_likely(not wrong, thread,
                          f"{thread}: shares in the ledger ({whole} ns), and noted ({noted} ns): {wrong} of {shares}")


if __name__ == "__main__":
    harness.main(twenty_stops)
