"""The profiler's own thread is held up, so that the buffers of samples fill and no room is left: the samples that come
then are counted, what they would have told is the thread's row `(not sampled)`, and how far off the sampled rows may be
follows from the samples that are left, of the time that these saw."""

import contextlib
import csv
import ctypes
import io
import os
from math import sqrt
from pathlib import Path

import harness
import sampled
from running import running

BEFORE_MS, HELD_MS, AFTER_MS = 400, 2500, 400  # CPU time of the thread
INTERVAL_MS = 4
# Sixteen buffers of 512 KiB, and 16 bytes for each of more than 4000 interpreted frames: eight samples fill one.
ROOM_MS = 16 * (512 * 1024 // (4000 * 16)) * INTERVAL_MS
PART = 0.04  # of the thread: a signal that waited for a processor, and time before its first sample

PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 0x4206, 0x4207, 17
WAIT_ALL = 0x40000000


def full_buffers(test):
    sampled.check_unless_chance(test, lambda _: held_up(test))


def held_up(test):
    test.ledger.unlink(missing_ok=True)
    agent = test.agent_option(events="none", sample="cpu", interval=f"{INTERVAL_MS}ms")
    with running(test, "-Xint", "Crowded", agent=agent) as program:
        burn(program, BEFORE_MS)
        with held(profiler_of(program.pid)):
            held_ns = burn(program, HELD_MS)
        burn(program, AFTER_MS)
        program.done("dump", "-o", test.ledger)
    check(test, held_ns)


def burn(program, millis):
    return int(program.ask(f"burn {millis}").removeprefix("burnt "))


def profiler_of(pid):
    return next(int(task.name) for task in Path(f"/proc/{pid}/task").iterdir() if name_of(task) == "treadle")


def name_of(task):
    """None of one that is over meanwhile."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return (task / "comm").read_text().rstrip("\n")


@contextlib.contextmanager
def held(tid):
    """That one kernel thread stands still."""
    trace(PTRACE_SEIZE, tid)
    trace(PTRACE_INTERRUPT, tid)
    os.waitpid(tid, WAIT_ALL)
    try:
        yield
    finally:
        trace(PTRACE_DETACH, tid)


def trace(request, tid):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    libc.ptrace.restype = ctypes.c_long
    if libc.ptrace(request, tid, None, None) != 0:
        raise harness.Skip(f"ptrace is refused: {os.strerror(ctypes.get_errno())}")


def check(test, held_ns):
    report = test.report("threads")
    told = report["balance"]["samples"]
    whole_ns, = (row["cpu_ns"] for row in report["threads"] if row["name"] == "crowded")
    test.check_likely(told["dropped"] >= (HELD_MS - ROOM_MS) // INTERVAL_MS // 2, "dropped", f"{told} in {held_ns} ns")
    head = test.text_report(test.ledger).out
    test.check(f"lost      {told['dropped']:,} samples dropped".replace(",", " ") in head, f"{told}: {head[:2000]}")
    rows = crowded(test)
    unseen, = (row for row in rows if row["method"] == "(not sampled)")
    unseen_ns, allowed_ns = int(unseen["base_cpu_ns"]), PART * whole_ns
    test.check_likely(held_ns - ROOM_MS * 1_000_000 - allowed_ns <= unseen_ns <= held_ns + allowed_ns, "unseen",
                      f"{unseen_ns} ns not sampled, {held_ns} ns while buffers were full, of {whole_ns}")
    test.check(int(unseen["error_ns"]) > 0, f"{unseen}")
    kept = sum(int(row["base_samples"]) for row in rows)
    test.check_likely(kept <= (whole_ns - unseen_ns + allowed_ns) / 1_000_000 / INTERVAL_MS, "kept", f"{kept} samples of {whole_ns}")
    for row in rows:
        error_ns = (whole_ns - unseen_ns) * farther_end(int(row["base_samples"]), kept)
        test.check(row is unseen or abs(int(row["error_ns"]) - error_ns) <= error_ns / 50,
                   f"{row}: not {error_ns} ns, of {kept} samples")
    inside = test.text_report(test.ledger, "--check", harness.ANY_PPM)
    test.check(inside.status == 0, f"report --check: {inside.err}")


def crowded(test):
    done = test.run([test.treadle, "report", test.ledger, "--view", "tree", "--thread", "crowded", "--csv"])
    return list(csv.DictReader(io.StringIO(done.out)))


def farther_end(part, whole):
    """Of Wilson's interval of a part, from the part."""
    z, p = 1.96, part / whole
    middle = (p + z * z / (2 * whole)) / (1 + z * z / whole)
    half = z / (1 + z * z / whole) * sqrt(p * (1 - p) / whole + z * z / (4 * whole * whole))
    return max(middle + half - p, p - middle + half)


if __name__ == "__main__":
    harness.main(full_buffers)
