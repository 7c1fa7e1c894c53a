"""What exports take: a drawn ledger of a million nodes in each format, with time, peak memory and size, beside
loading it for a report. Medians of some rounds. No JVM. See tests/README.md."""

import argparse
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import machine

FORMATS = ("pprof", "collapsed", "speedscope", "perfetto", "csv", "sqlite")
VIEW = "SELECT thread_name, path, base_cpu_ns FROM paths ORDER BY base_cpu_ns DESC LIMIT 20"
MIB = 1 << 20


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--treadle", required=True)
    parser.add_argument("--make-ledger", required=True)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="treadle-bench-") as scratch:
        ledger = Path(scratch) / "large.ledger"
        subprocess.run([options.make_ledger, "large", ledger, str(options.nodes)], check=True)
        size = ledger.stat().st_size
        print(f"{machine.facts()}; {options.nodes} nodes, a ledger of {size / MIB:.0f} MiB, "
              f"median of {options.rounds} rounds")
        print(f"  {'':24}{'seconds':>9}{'CPU s':>9}{'MiB at most':>13}{'ledgers':>9}{'MiB written':>13}")
        report = [options.treadle, "report", "--view", "flat", "--top", "10", ledger]
        measure("report --view flat", report, None, size, options.rounds)
        for name in FORMATS:
            output = Path(scratch) / f"x.{name}"
            command = [options.treadle, "export", "--format", name, "--output", output, ledger]
            measure(f"export {name}", command, output, size, options.rounds)
        ask(Path(scratch) / "x.sqlite")


def measure(title, command, output, size, rounds):
    seconds, cpu, peak = map(statistics.median, zip(*(run(command) for _ in range(rounds))))
    written = f"{output.stat().st_size / MIB:13.1f}" if output else ""
    print(f"  {title:24}{seconds:9.2f}{cpu:9.2f}{peak / MIB:13.0f}{peak / size:9.1f}{written}")


def run(command):
    """Seconds, those of CPU time, and the most bytes that were resident."""
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{command}: status {status}")
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def ask(path):
    with sqlite3.connect(path) as database:
        begin = time.monotonic()
        rows = database.execute(VIEW).fetchall()
        print(f"  the database's view of all paths, the {len(rows)} heaviest: {time.monotonic() - begin:.2f} s")


if __name__ == "__main__":
    main()
