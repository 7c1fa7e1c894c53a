"""Who pays for what a kernel thread burnt between two Java threads: a hundred rounds of two that native
code attaches in turn, with reuse=previous and with reuse=new. The two differ in the gaps and in nothing
else: of the jobs' own calls each says what the kernel says, to within one per cent."""

import os
from collections import Counter
from pathlib import Path

import expected as expectation
import harness
import run_program
from run_program import expect_bounds

EVENTS = ("jvmti", "instrument")

PROGRAM = Path(__file__).resolve().parents[2] / "javatest/NativeAttach.java"
ROUNDS = int(os.environ.get("TREADLE_ROUNDS", "100"))
SIZES_US = (20_000, 10_000, 3_000)  # of job-A, of job-B, of each gap
JOBS = ("job-A", "job-B")
JOB_PPM = 10_000


def reuse(test):
    plain = test.java("NativeAttach", 1, *SIZES_US)
    for mode in ("previous", "new"):
        wanted = expectation.parse(PROGRAM)
        for thread in wanted.threads:
            thread.count = ROUNDS if thread.name in JOBS else 1
        if test.events == "instrument":
            wanted.without_native_methods()
        test.ledger.unlink(missing_ok=True)
        agent = run_program.agent_for(test, wanted, reuse=mode)
        traced = test.java("NativeAttach", ROUNDS, *SIZES_US, agent=agent)
        test.same_for_user(plain, traced, f"reuse={mode}")
        views = test.checked_report()
        run_program.check_trees(test, wanted, views)
        run_program.check_threads(test, wanted, views)
        run_program.check_jobs(test, views, traced.out, gaps(traced.out, mode), f"reuse={mode}: ")
        check_truth(test, f"reuse={mode}: ", views, expect_bounds(traced.out, "job-cpu"))


def gaps(out, mode):
    """{job: bounds} of what each pays for the time between. After the last one nobody new comes: that is
    the previous one's in both modes."""
    before = expect_bounds(out, "gap-cpu")
    if mode == "previous":
        return before
    last = expect_bounds(out, "last-gap-cpu")["job-B"]
    return {"job-A": tuple(ns - end for ns, end in zip(before["job-B"], last)),
            "job-B": tuple(ns + end for ns, end in zip(before["job-A"], last))}


def check_truth(test, what, views, measured):
    """What the jobs did while they were Java threads, as their trees have it and as the library measured it
    around the calls; what attaching and detaching cost is not in it."""
    have = Counter()
    for thread in views["tree"]["threads"]:
        have[thread["name"]] += sum(node["cum"]["cpu_ns"] for node in thread["root"]["children"]
                                    if node["kind"] == "exact")
    for job in JOBS:
        truth = measured[job][0]
        ppm = (have[job] - truth) * 1_000_000 // truth
        told = f"{what}calls of {job}: {have[job]} ns, measured {truth} ns: {ppm} ppm"
        print(told)
        test.check(abs(ppm) <= JOB_PPM, told)


if __name__ == "__main__":
    harness.main(reuse)
