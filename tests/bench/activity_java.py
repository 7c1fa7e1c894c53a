"""What logical frames of Java programs cost (agent/api): without an agent beside no call at all, with the agent beside a
call that is recorded. Every form takes turns with the others in one run; medians. See tests/README.md."""

import argparse
import statistics
import subprocess
import tempfile

import machine

FORMS = ("no call", "a recorded call", "enter, leave", "push, close", "push with parameter, close",
         "begin with an id, close")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jdk", action="append", required=True)
    parser.add_argument("--agent", required=True)
    parser.add_argument("--classes", required=True)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--turns", type=int, default=3_000_000)
    options = parser.parse_args()
    print(f"{machine.facts()}; ns a turn of a small loop, median of {options.rounds} rounds [least most]")
    for jdk in options.jdk:
        print(f"\n{jdk}")
        print_table("without an agent", measure(options, jdk, None))
        with tempfile.TemporaryDirectory(prefix="treadle-bench-") as scratch:
            print_table("with the agent", measure(options, jdk, scratch))


def measure(options, jdk, scratch):
    agent = (f"-agentpath:{options.agent}=include=ActivityCost.hookedWork,overhead=any,sample=none,"
             f"file={scratch}/bench.ledger,live-dir={scratch}")
    command = [f"{jdk}/bin/java", *([agent] if scratch else []), "-cp", options.classes, "ActivityCost",
               str(options.rounds), str(options.turns)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, encoding="ascii")
    rounds = [list(map(float, line.split())) for line in done.stdout.splitlines()]
    return list(zip(*rounds))


def print_table(title, columns):
    none, hooked = (statistics.median(column) for column in columns[:2])
    print(title)
    for name, column in zip(FORMS, columns):
        median = statistics.median(column)
        beside = f"{(median - none) / (hooked - none):.2f} of a recorded call" if hooked - none > 2 else \
            f"{median / none:.3f} of no call"
        print(f"  {name:28} {median:8.3f} [{min(column):.3f} {max(column):.3f}]  {beside}")


if __name__ == "__main__":
    main()
