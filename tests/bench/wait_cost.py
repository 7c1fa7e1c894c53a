"""What the reason of a wait costs: two threads that take turns as fast as they can, by park, by Object.wait and by a
monitor that both want; and locks that nobody else wants, which must cost nothing. Without the agent, with the agent and
waits=off, with waits=on and no budget, and with the defaults; in turns, medians, every JDK. `a wait more` is the CPU
time with waits=on less that with waits=off, by the number of waits; `of its account` what the agent says of that. See
tests/README.md."""

import argparse
import json
import statistics
import subprocess
import tempfile
from pathlib import Path

import machine

KINDS = {"alone": 50_000_000, "monitor": 3_000_000, "notify": 100_000, "park": 100_000}  # turns
PLAIN = "overhead=any,events=none,sample=none,waits="
MODES = {"none": None, "waits=off": PLAIN + "off", "waits=on": PLAIN + "on", "defaults": "log=warn"}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jdk", action="append", required=True)
    parser.add_argument("--agent", required=True)
    parser.add_argument("--treadle", required=True)
    parser.add_argument("--classes", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(f"{machine.facts()}; medians of {options.rounds} rounds, ns of CPU a turn")
    for jdk in options.jdk:
        print(f"\nJDK {machine.jdk_version(jdk)}")
        print(f"  {'':9}" + "".join(f"{mode:>12}" for mode in MODES) + f"{'off/none':>10}{'on/off':>8}{'defaults/none':>15}"
              f"{'waits a turn':>14}{'a wait more':>13}{'of its account':>16}{'no reason':>11}")
        for kind, turns in KINDS.items():
            rows = {mode: [] for mode in MODES}
            for _ in range(options.rounds):
                for mode, agent in MODES.items():
                    rows[mode].append(one_run(options, Path(jdk), kind, turns, agent))
            print_row(kind, turns, rows)


def one_run(options, jdk, kind, turns, agent):
    with tempfile.TemporaryDirectory(prefix="treadle-bench-") as scratch:
        ledger = Path(scratch) / "run.ledger"
        more = [f"-agentpath:{options.agent}={agent},file={ledger},live-dir={scratch}"] if agent else []
        done = subprocess.run([jdk / "bin/java", *more, "-cp", options.classes, "WaitCost", kind, str(turns)],
                              check=True, capture_output=True, text=True)
        row = {"cpu": float(done.stdout.split()[0])}
        if agent:
            told = subprocess.run([options.treadle, "report", ledger, "--view", "waits", "--json"], check=True,
                                  capture_output=True).stdout
            row.update(json.loads(told)["budget"])
    return row


def print_row(kind, turns, rows):
    def median(mode, key="cpu"):
        return statistics.median(row[key] for row in rows[mode])

    heard = median("waits=on", "heard_waits")
    a_turn = heard / (2 * turns)  # of both rounds of the program
    more = (median("waits=on") - median("waits=off")) / a_turn if a_turn > 0.01 else 0
    told = median("waits=on", "waits_ns") / heard if heard else 0
    unheard = median("defaults", "unheard_waits") / max(1, median("defaults", "heard_waits") + median("defaults", "unheard_waits"))
    print(f"  {kind:9}" + "".join(f"{median(mode):12,.1f}" for mode in MODES)
          + f"{median('waits=off') / median('none'):10.3f}{median('waits=on') / median('waits=off'):8.3f}"
          f"{median('defaults') / median('none'):15.3f}{a_turn:14.2f}{more:10,.0f} ns{told:13,.0f} ns{unheard * 100:9.1f} %",
          flush=True)


if __name__ == "__main__":
    main()
