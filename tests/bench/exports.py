"""What exports take: a drawn ledger of a million nodes in each format, with time, peak memory and size, beside
loading it for a report. Medians of some rounds. No JVM. See tests/README.md."""

import argparse
import re
import sqlite3
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import machine
from measured_run import run_discarding

FORMATS = ("pprof", "collapsed", "speedscope", "perfetto", "jfr", "csv", "sqlite")
README = Path(__file__).parents[2] / "tools/export/README.md"
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
    seconds, cpu, peak = map(statistics.median, zip(*(run_discarding(command) for _ in range(rounds))))
    written = f"{output.stat().st_size / MIB:13.1f}" if output else ""
    print(f"  {title:24}{seconds:9.2f}{cpu:9.2f}{peak / MIB:13.0f}{peak / size:9.1f}{written}")


def ask(path):
    """Each question of the document, with the names of this ledger: of methods the one with most below it, and
    of those that the view `below` adds up itself, the one with most of these."""
    with sqlite3.connect(path) as database:
        thread, = database.execute("SELECT name FROM threads ORDER BY cpu_ns DESC").fetchone()
        methods = [database.execute(
            "SELECT full_name FROM methods m JOIN nodes n ON n.method = m.id WHERE n.depth AND NOT n.recursion "
            "AND m.wide = ? GROUP BY m.id ORDER BY sum(n.last - n.id) DESC", (wide,)).fetchone()
            for wide in (1, 0)]
    print("  questions of tools/export/README.md, the slowest of all methods asked about; cold, then warm:")
    for question in re.findall(r"(?ms)^```sql\n(.*?)^```", README.read_text(encoding="utf-8")):
        named = re.sub("'main'", f"'{thread}'", question)
        times = [answer(path, re.sub(r"'demo\.[^']*'", f"'{method}'", named)) for method, in filter(None, methods)]
        cold, warm = (max(times) for times in zip(*times))
        print(f"  {cold:8.4f}{warm:8.4f} s   {' '.join(question.split())[:80]}")


def answer(path, question):
    """Seconds of a first answer, and of a second one."""
    with sqlite3.connect(path) as database:
        seconds = []
        for _ in range(2):
            begin = time.monotonic()
            database.execute(question).fetchall()
            seconds.append(time.monotonic() - begin)
        return seconds


if __name__ == "__main__":
    main()
