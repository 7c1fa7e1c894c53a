"""What the command line takes for large ledgers: seconds and peak memory of report, diff and merge.

Two ledgers are drawn, each one tree of so many nodes, ten below each, of a thousand methods. Each
command is run in turn, a few rounds; the figures are medians, and what is written goes nowhere. No
JVM is needed.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

import machine
from measured_run import run_discarding

COMMANDS = (
    ("report --view flat A", ["report", "--view", "flat", "A"]),
    ("report --view tree --top 50 A", ["report", "--view", "tree", "--top", "50", "A"]),
    ("diff A B", ["diff", "A", "B"]),
    ("diff --view flat A B", ["diff", "--view", "flat", "A", "B"]),
    ("diff --view tree --top 50 A B", ["diff", "--view", "tree", "--top", "50", "A", "B"]),
    ("diff --collapsed A B", ["diff", "--collapsed", "A", "B"]),
    ("merge A B", ["merge", "-o", "merged", "A", "B"]),
)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--treadle", required=True)
    parser.add_argument("--make-ledger", required=True)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(f"{machine.facts()}; {options.nodes:,} nodes a ledger, "
          f"median of {options.rounds} rounds")
    with tempfile.TemporaryDirectory(prefix="treadle-bench-") as scratch:
        for name, nodes in (("A", options.nodes), ("B", options.nodes + 1)):
            subprocess.run([options.make_ledger, "bushy", Path(scratch) / name, str(nodes)],
                           check=True)
        size = os.stat(Path(scratch) / "A").st_size
        print(f"\n  {'':30}{'seconds':>9}{'min':>8}{'max':>8}{'peak MiB':>10}"
              f"   a ledger is {size / (1 << 20):.0f} MiB")
        samples = {name: [] for name, _ in COMMANDS}
        for _ in range(options.rounds):
            for name, arguments in COMMANDS:
                samples[name].append(run_discarding([options.treadle, *arguments], scratch))
        for name, _ in COMMANDS:
            print_row(name, samples[name])


def print_row(name, samples):
    seconds = [took.seconds for took in samples]
    peak = statistics.median(took.peak_bytes for took in samples) / (1 << 20)
    print(f"  {name:30}{statistics.median(seconds):9.2f}{min(seconds):8.2f}{max(seconds):8.2f}"
          f"{peak:10.0f}")


if __name__ == "__main__":
    main()
