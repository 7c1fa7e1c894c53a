"""What an uncontended lock of the C library costs in a native library whose calls have wrappers, and a system call by
syscall(2) that is no wait: without the agent and with waits=on, in pairs side by side, in turns; medians with the least
and the most, every JDK. See tests/README.md."""

import argparse
import statistics
import subprocess
import tempfile
from pathlib import Path

import machine

KINDS = {"lock": 100_000_000, "call": 10_000_000}  # turns
AGENT = "overhead=any,events=none,sample=none,waits=on"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jdk", action="append", required=True)
    parser.add_argument("--agent", required=True)
    parser.add_argument("--classes", required=True)
    parser.add_argument("--libraries", required=True)
    parser.add_argument("--rounds", type=int, default=11)
    options = parser.parse_args()
    print(f"{machine.facts()}; medians of {options.rounds} pairs, ns a turn")
    for jdk in options.jdk:
        print(f"\nJDK {machine.jdk_version(jdk)}\n  {'':6}{'none':>9}{'agent':>9}{'more':>9}  agent/none")
        for kind, turns in KINDS.items():
            pairs = [pair(options, Path(jdk), kind, turns, at % 2 == 0) for at in range(options.rounds)]
            ratios = [traced / plain for plain, traced in pairs]
            more = statistics.median(traced - plain for plain, traced in pairs)
            print(f"  {kind:6}{statistics.median(plain for plain, _ in pairs):9.2f}"
                  f"{statistics.median(traced for _, traced in pairs):9.2f}{more:9.2f}"
                  f"  {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})", flush=True)


def pair(options, jdk, kind, turns, plain_first):
    """Without and with the agent."""
    took = {is_traced: one_run(options, jdk, kind, turns, is_traced) for is_traced in (not plain_first, plain_first)}
    return took[False], took[True]


def one_run(options, jdk, kind, turns, is_traced):
    with tempfile.TemporaryDirectory(prefix="treadle-bench-") as scratch:
        agent = f"-agentpath:{options.agent}={AGENT},file={scratch}/run.ledger,live-dir={scratch}"
        done = subprocess.run([jdk / "bin/java", *([agent] if is_traced else []), "--enable-native-access=ALL-UNNAMED",
                               f"-Djava.library.path={options.libraries}", "-cp", options.classes, "NativeLockCost",
                               kind, str(turns)], check=True, capture_output=True, text=True)
        return float(done.stdout.split()[0])


if __name__ == "__main__":
    main()
