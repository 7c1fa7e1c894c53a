"""What the agent costs real programs within its budget: CPU of the process and wall time with the defaults, with the
plan of an earlier run, and, if asked for, with every call recorded, each beside a run without the agent. A round runs
one pair at the same time, a processor each, and the two change places from round to round: what disturbs the machine
disturbs both. Medians of the ratios and, in brackets, the interval that holds the true median with 95 %. Then what the
agent itself says that it costs. Every JDK. See tests/README.md."""

import argparse
import json
import math
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

import machine
import programs


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jdk", action="append", required=True)
    parser.add_argument("--agent", required=True)
    parser.add_argument("--treadle", required=True)
    parser.add_argument("--classes", help="not used")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--exact", action="store_true", help="with every call recorded, too: takes long")
    options = parser.parse_args()
    print(f"{machine.facts()}; {options.rounds} rounds")
    for jdk in options.jdk:
        with tempfile.TemporaryDirectory(prefix="treadle-bench-") as scratch:
            one_jdk(options, Path(jdk), Path(scratch))


def one_jdk(options, jdk, scratch):
    print(f"\nJDK {machine.jdk_version(jdk)}")
    print(f"  {'':8}{'':9}{'CPU':>24}{'wall':>24}{'says':>8}")
    for program in programs.programs():
        if not program.needs.exists():
            print(f"  {program.name:8} left out: {program.needs} is missing (apt install {program.package})")
            continue
        arguments = [program.prepare(folder(scratch, place), jdk) for place in (0, 1)]
        for mode, text in modes(options, scratch):
            if mode == "plan":
                run(pinned(jdk, agent(options, scratch, "plan", ""), arguments[0], 0), scratch)
                (scratch / "plan.ledger").rename(scratch / "the.plan")
            print_mode(options, jdk, scratch, program, mode, text, arguments)


def folder(scratch, place):
    """Both of a pair write files."""
    made = scratch / str(place)
    made.mkdir(exist_ok=True)
    return made


def modes(options, scratch):
    yield "default", ""
    yield "plan", f",plan={scratch}/the.plan"
    if options.exact:
        yield "exact", ",overhead=any"


def agent(options, scratch, mode, text):
    return [f"-agentpath:{options.agent}=file={scratch}/{mode}.ledger{text}"]


def pinned(jdk, more, arguments, processor):
    return ["taskset", "-c", str(processor), jdk / "bin/java", *more, *arguments]


def start(command, scratch):
    return subprocess.Popen([str(c) for c in command], cwd=scratch, stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def run(command, scratch):
    if start(command, scratch).wait() != 0:
        raise SystemExit(f"{command[3:9]} …: failed")


def pair(commands, scratch):
    """(CPU, wall) in s of each of the two, which run at the same time."""
    began = os.times().elapsed
    processes = [start(command, scratch) for command in commands]
    figures = {}
    while len(figures) < len(processes):
        pid, status, usage = os.wait3(0)
        if status != 0:
            raise SystemExit(f"{commands[0][3:9]} …: status {status}")
        figures[pid] = usage.ru_utime + usage.ru_stime, os.times().elapsed - began
    return [figures[process.pid] for process in processes]


def print_mode(options, jdk, scratch, program, mode, text, arguments):
    cpu, wall, says = [], [], []
    for number in range(options.rounds):
        place = number % 2
        base, with_agent = pair([pinned(jdk, [], arguments[0], place),
                                 pinned(jdk, agent(options, scratch, mode, text), arguments[1], 1 - place)], scratch)
        cpu.append(with_agent[0] / base[0])
        wall.append(with_agent[1] / base[1])
        says.append(own_share(options.treadle, scratch / f"{mode}.ledger"))
    print(f"  {program.name:8}{mode:9}{ratios(cpu):>24}{ratios(wall):>24}"
          f"{statistics.median(says) * 100:6.1f} %", flush=True)


def own_share(treadle, ledger):
    report = json.loads(subprocess.run([treadle, "report", ledger, "--json"], capture_output=True, check=True).stdout)
    return report["budget"]["used_ppm"] / 1e6


def ratios(values):
    low, high = interval(values)
    return f"{statistics.median(values):.3f} [{low:.3f} {high:.3f}]"


def interval(values):
    """By order statistics: of six values and fewer, the extremes."""
    ordered, count = sorted(values), len(values)
    cut, tail = 0, 0.0
    while cut < count // 2 and tail + math.comb(count, cut) / 2 ** count <= 0.025:
        tail += math.comb(count, cut) / 2 ** count
        cut += 1
    cut = max(cut - 1, 0)
    return ordered[cut], ordered[count - 1 - cut]


if __name__ == "__main__":
    main()
