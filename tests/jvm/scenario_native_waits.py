"""Threads that wait in a native library of the program's, for time, I/O, signals and processes: their waits have
reasons and times, between what was asked for and what the library measures around each call."""

import harness

TIMES = 20
NAP_NS = 5_000_000
REASONS = {"park_ns", "sleep_ns", "io_ns"}


def native_waits(test):
    for options in ({"waits": "on"}, {"overhead": "50%"}):
        waits(test, options)


def waits(test, options):
    test.ledger.unlink(missing_ok=True)
    agent = test.agent_option(events="instrument", include="NativeWaits*", sample="none", **options)
    done = test.java("NativeWaits", TIMES, agent=agent)
    parts = {row["name"]: row for row in test.report("waits")["threads"]}
    said = [line.split() for line in done.out.splitlines() if line.startswith("in_")]
    test.check(len(said) == 10, f"{done.out} {done.err}")
    for name, reason, times, most in said:
        row = parts[name]["waits"]
        got = row[f"{reason}_ns"]
        least = int(times) * NAP_NS if name != "in_waitpid" else 0  # the child may end before its parent waits
        test.check(0.99 * least - 50_000 <= got <= 1.01 * int(most) + 50_000,
                   f"{options} {name}: {got} ns of {reason}, not {least} to {most}: {row}")
        others = {other: row[other] for other in REASONS - {f"{reason}_ns"} if row[other] > 50_000}
        test.check(not others, f"{options} {name}: {others}")
        test.check(sum(row.values()) == parts[name]["wall_ns"], f"{parts[name]}")


if __name__ == "__main__":
    harness.main(native_waits)
