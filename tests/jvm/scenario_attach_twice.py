"""Two who attach at once: one does, the other is told. And an attach that fails half way leaves nothing behind, and
may be tried again."""

import os
import subprocess

import harness
from running import running


def attach_twice(test):
    with running(test, "Attached") as program:
        at_once(test, program)
    with running_deep_down(test) as program:
        fails_half_way(test, program)
        program.attach()
        test.check("Attached" in program.done("status"), "not attached after a failure")
        program.end()
    test.check(test.ledger.exists(), "no snapshot")


def at_once(test, program):
    command = [str(test.treadle), "attach", str(program.pid), "-O", f"live-dir={test.live}"]
    environment = harness.environment() | {"TREADLE_AGENT": str(test.agent)}
    both = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for _ in range(2)]
    done = [(process.communicate(timeout=harness.LIMIT_S), process.returncode) for process in both]
    test.check(sorted(status for _, status in done) == [0, 1], f"two at once: {done}")
    test.check(len(test.live_ledgers(program.pid)) == 1, f"two at once: {test.live_ledgers()}")
    program.done("status")


def running_deep_down(test):
    """In a folder whose path, with its per cent signs doubled, leaves no room for much of a file name."""
    folder = test.scratch.joinpath(*["%" * 250] * 7)
    os.makedirs(folder)
    test.scratch = folder
    return running(test, "Attached")


def fails_half_way(test, program):
    for _ in range(2):
        line = program.refused("attach", "-O", f"live-dir={test.live}", "-O", "file=" + "x" * 700)
        test.check("File name too long" in line, f"not refused: {line}")
        with open(f"/proc/{program.pid}/maps", encoding="utf-8", errors="replace") as maps:
            test.check(".live" not in maps.read(), "the map of a ledger was left behind")
        left = [link for link in map(os.readlink, open_files(program.pid)) if ".live" in link]
        test.check(not left, f"descriptors were left behind: {left}")
        test.check(not test.live_ledgers(program.pid), "a ledger was left behind")


def open_files(pid):
    folder = f"/proc/{pid}/fd"
    return [f"{folder}/{name}" for name in os.listdir(folder)]


if __name__ == "__main__":
    harness.main(attach_twice)
