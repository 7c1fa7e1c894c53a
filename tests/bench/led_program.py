"""A Java program that runs and is led by a benchmark: it answers each line of standard input with one of
standard output."""

import os
import re
import subprocess
import sys
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class LedProgram:
    def __init__(self, command):
        self.process = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.proc = Path("/proc") / str(self.process.pid)

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.process.args}: ended, status {self.process.wait()}")
        return line.strip()

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.answer()

    def end(self):
        """Standard input ends, and so must the program; the lines that it still prints."""
        out, _ = self.process.communicate()
        if self.process.returncode != 0:
            sys.exit(f"{self.process.args}: status {self.process.returncode}")
        return out.splitlines()

    def cpu_s(self):
        """Of all its threads, the JVM's own as well."""
        fields = (self.proc / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS_PER_S

    def resident_bytes(self):
        return int(re.search(r"^VmRSS:\s*(\d+) kB", (self.proc / "status").read_text(), re.M)[1]) * 1024
