"""What is known as totals of threads only, and is read from files of the kernel's: bytes of I/O and the time in the run
queue, are those of the virtual thread that ran, and not of its carrier: whether the carrier ends, waits or goes on with
the next virtual thread. On one processor each of two carriers has to wait for the other one half of the time."""

import os
from pathlib import Path

import harness

SOURCE = Path(__file__).with_name("virtual") / "CarrierTotals.java"
THREADS = 4
# What the thread reads and writes beside its blocks, for a class that main did not need, and its line.
BESIDE_BYTES = 128 << 10
# The thread reads its own totals a little after its begin and before its end: it may have to wait there, too.
BESIDE_SHARE = 5
BESIDE_NS = 40_000_000


def carrier_totals(test):
    if test.major < 21:
        raise harness.Skip("this JDK has no virtual threads")
    classes = test.scratch / "classes"
    test.compile(classes, SOURCE)
    for waits in ("off", "on"):
        test.ledger.unlink(missing_ok=True)
        check(test, waits, classes)


def check(test, waits, classes):
    agent = test.agent_option(events="instrument", waits=waits)
    command = [test.jdk / "bin/java", agent, "-Djdk.virtualThreadScheduler.parallelism=2", "-cp", classes,
               "CarrierTotals", test.scratch]
    run = test.run(command, preexec_fn=on_one_processor)
    test.check(run.status == 0, f"{run}")
    told = {name: (int(size), int(delay_ns)) for name, size, delay_ns in map(str.split, run.out.splitlines())}
    del told["vt-0"]
    rows = test.report("threads")["threads"]
    found = {row["name"]: row["metrics"] for row in rows if row["name"] in told}
    test.check(len(found) == THREADS, f"waits={waits}: rows of {sorted(found)}")
    for name, (size, delay_ns) in told.items():
        metrics = found[name]
        for metric in ("read_bytes", "write_bytes"):
            test.check(size <= metrics[metric] <= size + BESIDE_BYTES, f"waits={waits}: {metric} of {name}: {size}, {metrics}")
        test.check(delay_ns <= metrics["run_queue_delay"] <= delay_ns + delay_ns // BESIDE_SHARE + BESIDE_NS,
                   f"waits={waits}: {name} was in the run queue for {delay_ns} ns: {metrics}")
    carried = [row["metrics"] for row in rows if row["kind"] == "carrier"]
    for metric in ("read_bytes", "write_bytes"):
        test.check(sum(row[metric] for row in carried) < 1 << 20, f"waits={waits}: {metric} of the carriers: {carried}")


def on_one_processor():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


if __name__ == "__main__":
    harness.main(carrier_totals)
