"""Two who attach at once: one does, the other is told. And an attach that fails half way leaves nothing behind, and
may be tried again."""

import contextlib
import os
import re
import signal
import subprocess

import harness
from running import running

WARM_UP, FAILURES = 3, 30
LEFT_BEHIND_BYTES = 128 << 10  # the least that a table has which is mapped while an attach begins
# What else might take address space meanwhile: threads that compile, parts of the heap.
QUIET = ("-Xint", "-XX:+UseSerialGC")


def attach_twice(test):
    with running(test, "Attached") as program:
        at_once(test, program)
        program.end()
    with running(test, "Attached") as program:
        the_second_is_told(test, program)
        program.end()
    with running_deep_down(test) as program:
        fails_half_way(test, program)
        program.attach()
        test.check("Attached" in program.done("status"), "not attached after a failure")
        program.end()
    test.check(test.ledger.exists(), "no snapshot")


def at_once(test, program):
    both = [attach_beside(test, program) for _ in range(2)]
    done = [(process.communicate(timeout=harness.LIMIT_S), process.returncode) for process in both]
    test.check(sorted(status for _, status in done) == [0, 1], f"two at once: {done}")
    test.check(len(test.live_ledgers(program.pid)) == 1, f"two at once: {test.live_ledgers()}")
    program.done("status")


def the_second_is_told(test, program):
    """Both have looked, and found no agent, when the JVM gets to hear of them: it stands still meanwhile."""
    program.jcmd("VM.version")  # now it listens
    os.kill(program.pid, signal.SIGSTOP)
    both = [attach_beside(test, program) for _ in range(2)]
    for process in both:
        test.wait_until(lambda: any("/.treadle-answer-" in link for link in open_files(process.pid)), "no request")
    os.kill(program.pid, signal.SIGCONT)
    done = sorted((process.communicate(timeout=harness.LIMIT_S) + (process.returncode,) for process in both),
                  key=lambda end: end[2])
    test.check([status for _, _, status in done] == [0, 1], f"one after the other: {done}")
    test.check(done[0][1] == "", f"the first: {done}")
    test.check(done[1][1] == f"treadle: process {program.pid} is profiled already: treadle status {program.pid}, "
                             f"treadle report {program.pid}\n", f"the second: {done}")
    said = [line for line in test.printed() if line.startswith("treadle:")]
    test.check(not said, f"the program's standard error has {said}")
    test.check(len(test.live_ledgers(program.pid)) == 1, f"one after the other: {test.live_ledgers()}")
    program.done("status")


def attach_beside(test, program):
    return subprocess.Popen([str(test.treadle), "attach", str(program.pid), "-O", f"live-dir={test.live}"],
                            env=harness.environment() | {"TREADLE_AGENT": str(test.agent)}, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def running_deep_down(test):
    """In a folder whose path, with its per cent signs doubled, leaves no room for much of a file name."""
    folder = test.scratch.joinpath(*["%" * 250] * 7)
    os.makedirs(folder)
    test.scratch = folder
    return running(test, *QUIET, "Attached")


def fails_half_way(test, program):
    fail(test, program, WARM_UP)
    before = address_space_bytes(program.pid)
    fail(test, program, FAILURES)
    more = address_space_bytes(program.pid) - before
    test.check(more < FAILURES * LEFT_BEHIND_BYTES, f"{FAILURES} failures left {more} bytes of maps behind")


def fail(test, program, times):
    for _ in range(times):
        line = program.refused("attach", "-O", f"live-dir={test.live}", "-O", "file=" + "x" * 700)
        test.check("File name too long" in line, f"not refused: {line}")
        with open(f"/proc/{program.pid}/maps", encoding="utf-8", errors="replace") as maps:
            test.check(".live" not in maps.read(), "the map of a ledger was left behind")
        left = [link for link in open_files(program.pid) if ".live" in link]
        test.check(not left, f"descriptors were left behind: {left}")
        test.check(not test.live_ledgers(program.pid), "a ledger was left behind")


def address_space_bytes(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as status:
        return int(re.search(r"VmSize:\s+(\d+) kB", status.read())[1]) << 10


def open_files(pid):
    """Where they lead to; the JVM may close one meanwhile: the one by which it was asked."""
    folder = f"/proc/{pid}/fd"
    for name in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):
            yield os.readlink(f"{folder}/{name}")


if __name__ == "__main__":
    harness.main(attach_twice)
