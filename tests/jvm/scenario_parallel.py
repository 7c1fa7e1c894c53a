"""How threads run, beside what the kernel says: threads on one processor keep no more than one busy and never change
it; a thread that is moved from one processor to another so many times migrates so often, and never more often than the
kernel counts; what the process used is in the history of busy processors; quanta are CPU time by switches."""

import json
import os
from pathlib import Path

import harness
from running import running

THREADS = 3
BURN_MS = 300
MOVES = 8
MS = 1_000_000


def parallel(test):
    processors = sorted(os.sched_getaffinity(0))
    on_one(test, processors[0])
    if len(processors) > 1:
        moved(test, processors[:2])


def spinners(program):
    """{name: tid}, by the kernel."""
    found = {}
    for task in Path(f"/proc/{program.pid}/task").iterdir():
        name = (task / "comm").read_text(encoding="utf-8").strip()
        if name.startswith("spinner-"):
            found[name] = int(task.name)
    return found


def number(program, tid, file, key):
    """A number of /proc/PID/task/TID/status or sched; None where the kernel does not tell."""
    try:
        lines = Path(f"/proc/{program.pid}/task/{tid}/{file}").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return None
    return next((int(line.split(":")[1]) for line in lines if line.split(":")[0].strip() == key), None)


def rows(test, program, *arguments):
    program.done("dump", "-o", test.ledger)
    report = test.text_report(test.ledger, "--json", *arguments)
    test.ledger.unlink()
    return json.loads(report.out)


def switches(program, tid):
    return [number(program, tid, "status", f"{kind}_ctxt_switches") for kind in ("voluntary", "nonvoluntary")]


def on_one(test, processor):
    agent = test.agent_option(sample="none")
    with running(test, "Spinners", THREADS, agent=agent, prefix=("taskset", "-c", processor)) as program:
        program.ask(f"burn {BURN_MS}")
        before = {name: switches(program, tid) for name, tid in spinners(program).items()}
        report = rows(test, program)
        after = {name: switches(program, tid) for name, tid in spinners(program).items()}
        folded = rows(test, program, "--fold")
        program.end()
    pool = next(t for t in folded["threads"] if t["name"] == "spinner-#")
    test.check(pool["count"] == THREADS, f"{pool}")
    test.check(THREADS * BURN_MS * MS <= pool["cpu_ns"], f"the pool burned {pool['cpu_ns']} ns")
    test.check(0 < pool["parallel_ppm"] <= 1_010_000, f"one processor, and {pool['parallel_ppm']} ppm busy")
    for thread in report["threads"]:
        metrics = thread["metrics"]
        if thread["kind"] in ("vm", "native"):
            test.check("migrations" not in metrics, f"{thread['name']}: {metrics}")
            continue
        test.check(metrics["migrations"] == 0, f"{thread['name']}: {metrics['migrations']} migrations on one processor")
        test.check(thread["parallel_ppm"] <= 1_010_000 or thread["wall_ns"] < 10 * MS,
                   f"{thread['name']}: {thread['parallel_ppm']} ppm")
        check_quantum(test, thread, before.get(thread["name"]), after.get(thread["name"]))
    check_busy(test, report["process"])


def check_quantum(test, thread, before, after):
    """Between the kernel's counts before and after the snapshot."""
    if not before:
        return
    cpu_ns = thread["cpu_ns"]
    least, most = cpu_ns // (sum(after) + 1), cpu_ns // max(sum(before) - 1, 1)
    test.check(least <= thread["quantum_ns"] <= most,
               f"{thread['name']}: a quantum of {thread['quantum_ns']} ns, by the kernel {least} to {most}")
    test.check(thread["preempted_ppm"] > 0, f"{thread['name']}: never preempted, though three burn on one processor")


def check_busy(test, process):
    busy = process["busy"]
    used_ns = sum(busy["ppm"]) * busy["slot_ns"] // 1_000_000
    # The last slot is not over.
    test.check(used_ns >= THREADS * BURN_MS * MS * 9 // 10, f"{used_ns} ns of CPU in {busy}")
    test.check(max(busy["ppm"]) <= 1_100_000, f"one processor, and {busy}")


def moved(test, processors):
    """One thread, moved each time it has burned for a while where it is."""
    with running(test, "Spinners", 1, agent=test.agent_option(sample="none")) as program:
        # A thread gives itself its name soon after it has begun.
        tid = test.wait_until(lambda: spinners(program).get("spinner-1"), "no thread spinner-1")
        os.sched_setaffinity(tid, {processors[1]})
        program.ask("forever")
        for move in range(MOVES):
            burn_on(test, program, tid)
            os.sched_setaffinity(tid, {processors[move % 2]})
        burn_on(test, program, tid)
        report = rows(test, program)
        kernel = number(program, tid, "sched", "se.nr_migrations")
        program.ask("rest")
        program.end()
    thread = next(t for t in report["threads"] if t["name"] == "spinner-1")
    seen = thread["metrics"]["migrations"]
    test.check(seen >= MOVES, f"{seen} migrations, and the thread was moved {MOVES} times")
    test.check(kernel is None or seen <= kernel, f"{seen} migrations, and the kernel counts {kernel}")


def burn_on(test, program, tid):
    """Until the kernel says that the thread ran for a while."""
    path = Path(f"/proc/{program.pid}/task/{tid}/schedstat")

    def ran():
        return int(path.read_text(encoding="ascii").split()[0])

    until = ran() + 30 * MS
    test.wait_until(lambda: ran() >= until, "the thread does not run")


if __name__ == "__main__":
    harness.main(parallel)
