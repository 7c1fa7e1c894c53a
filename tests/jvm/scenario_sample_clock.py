"""What asks for samples: timers from two of the kernel's ticks on, perf events for shorter intervals, or what
`sample-clock=` names. The report says which it was; with either the sampled thread's stacks are the program's, and
there are as many samples as the thread's CPU time gives."""

import time

import harness
import sampled

CPU_MS = 150
TICK_NS = round(time.clock_getres(6) * 1e9)  # CLOCK_MONOTONIC_COARSE moves by ticks
MS = 1_000_000


def sample_clock(test):
    for interval_ns, asked, wanted in (
            (2 * TICK_NS, None, "timer"),
            (TICK_NS, None, "perf"),
            (10 * MS, "perf", "perf"),
            (10 * MS, "timer", "timer"),
            (MS, "timer", "timer"),
    ):
        case = interval_ns, asked, wanted
        sampled.check_unless_chance(test, lambda longer, case=case: clock(test, *case, CPU_MS * longer))


def clock(test, interval_ns, asked, wanted, cpu_ms):
    what = f"sample-clock={asked}, interval={interval_ns} ns"
    test.ledger.unlink(missing_ok=True)
    agent = test.agent_option(events="none", sample="cpu", interval=f"{-(-interval_ns // 1000)}us", sample_clock=asked)
    done = test.java("Frames", cpu_ms, agent=agent)
    test.check(done.status == 0 and not done.err, f"{what}: {done}")
    views = test.checked_report()
    told = sampled.check_books(test, views, what, 1_000_000)
    if told["clock_errno"]:
        wanted = "timer"
    test.check(told["clock"] == wanted, f"{what}: the clock is {told['clock']}, not {wanted}")
    # What a thread consumed gives the number of its samples: one an interval at most, and not so few as if the
    # timer had been started once.
    (thread,) = [row for row in views["threads"]["threads"] if row["name"] == "inline"]
    found = sampled.stacks(views["tree"], "inline")
    most = thread["cpu_ns"] / interval_ns + 2
    # A POSIX timer signals at ticks: where intervals are shorter, once a tick.
    least = thread["cpu_ns"] / max(interval_ns, TICK_NS if wanted == "timer" else 0) / 4
    number = sampled.count(found)
    print(f"{what}: {told['clock']}, {number} samples in {thread['cpu_ns'] / MS:.0f} ms, {least:.0f} to {most:.0f}")
    test.check_likely(least <= number <= most, "number", f"{what}: {number} samples in {thread['cpu_ns']} ns")
    inside = sampled.count(found, lambda path: "Frames.repeat" in path)
    test.check_likely(inside >= number / 2, "inside", f"{what}: {inside} of {number} samples are in Frames.repeat")


if __name__ == "__main__":
    harness.main(sample_clock)
