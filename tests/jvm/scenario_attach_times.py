"""Attached to a program that runs already: no row has wall time or waiting of before profiling began, VM threads
that ran long before have exactly the time since, and status never names another moment than that one."""

import json
import os
import subprocess
import time
from pathlib import Path

import harness
from running import running


def attach_times(test):
    with running(test, "Attached") as program:
        before = {int(task.name) for task in Path(f"/proc/{program.pid}/task").iterdir()}
        asked_ns = time.time_ns()
        seen = states_while_attaching(test, program)
        attached_ns = time.time_ns()
        status = json.loads(program.done("status", "--json"))
        since_ns = status["since_ns"]
        test.check(status["state"] == "profiling" and asked_ns <= since_ns <= attached_ns,
                   f"profiling since {since_ns}, attached between {asked_ns} and {attached_ns}")
        test.check(all(was["since_ns"] == since_ns for was in seen if was["state"] == "profiling"),
                   f"profiling since {since_ns}, and said meanwhile: {[(was['state'], was['since_ns']) for was in seen]}")
        states = {was["state"] for was in seen}
        test.check(states <= {"attaching", "profiling"}, f"states: {states}")
        program.ask("rounds 2000")
        check_rows(test, program, before, since_ns)
        program.done("stop")
        check_rows(test, program, before, since_ns)
        program.end()


def states_while_attaching(test, program):
    """The agent comes; what status says until it is there."""
    command = [str(word) for word in (test.treadle, "attach", program.pid, "--include", "java.util.*", "-O", f"live-dir={test.live}",
                                      "-O", f"file={test.ledger}")]
    seen = []
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, "TREADLE_AGENT": str(test.agent)}) as attaching:
        while attaching.poll() is None:
            run = program.treadle("status", "--json")
            if run.status == 0:
                seen.append(json.loads(run.out))
    test.check(attaching.returncode == 0, "attach failed")
    return seen


def check_rows(test, program, before, since_ns):
    """Of a report of this moment."""
    threads = test.report("threads", str(program.pid))
    wall_ns = threads["process"]["wall_ns"]
    old = 0
    for row in threads["threads"]:
        waited_ns = row["wall_ns"] - row["cpu_ns"]
        test.check(row["started_ns"] >= since_ns or row["kind"] not in ("vm", "native"),
                   f"{row['name']} counts from {row['started_ns']}, profiling from {since_ns}")
        test.check(row["wall_ns"] <= wall_ns and waited_ns <= wall_ns,
                   f"{row['name']}: {row['wall_ns']} ns of {wall_ns} ns profiled")
        if row["kind"] in ("vm", "native") and before & set(row["tids"]) and not row["terminated"]:
            old += 1
            test.check(row["wall_ns"] == wall_ns, f"{row['name']}: {row['wall_ns']} ns, not all of {wall_ns} ns")
    test.check(old >= 3, f"only {old} VM threads that ran before")


if __name__ == "__main__":
    harness.main(attach_times)
