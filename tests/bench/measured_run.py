"""A command that runs to its end, and what it took."""

import os
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple


class Took(NamedTuple):
    seconds: float
    cpu_seconds: float
    peak_bytes: int  # resident


def run(command, folder=None, environment=None):
    """Its output is told if it fails, and the program ends."""
    with tempfile.TemporaryFile() as output:
        status, took = wait(command, cwd=folder, env={**os.environ, **(environment or {})}, stdin=subprocess.DEVNULL,
                            stdout=output, stderr=subprocess.STDOUT)
        if status != 0:
            output.seek(0)
            sys.exit(f"{command}: status {status}\n{output.read()[-2000:].decode()}")
    return took


def run_discarding(command, folder=None):
    """The same where the command writes so much that a file would be measured, too."""
    status, took = wait(command, cwd=folder, stdout=subprocess.DEVNULL)
    if status != 0:
        sys.exit(f"{command}: status {status}")
    return took


def wait(command, **how):
    began = time.perf_counter()
    process = subprocess.Popen([str(word) for word in command], **how)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, Took(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)
