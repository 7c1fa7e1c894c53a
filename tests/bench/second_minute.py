"""What the agent costs programs that go on: compilers and an interpreter that do the same again and again in one JVM
(Again.java) for two minutes. CPU of a pass in the second half of that time with the defaults, beside a run without the
agent at the same time, a processor each, changing places from round to round; medians of the ratios and the interval
that holds the true median with 95 %. Then of the second half, with the agent: the share of Java's CPU in exact calls of
less than 1 ms in the mean, the share of the methods called that are exact (called: those of the second half of a run
with every call recorded), and what the agent says that it costs. Every JDK. See tests/README.md."""

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import budget
import machine
import programs

JARS = ("eclipse-jdt-core.jar", "jython.jar")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jdk", action="append", required=True)
    parser.add_argument("--agent", required=True)
    parser.add_argument("--treadle", required=True)
    parser.add_argument("--classes", required=True, help="where Again is")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--only", help="one of the programs")
    options = parser.parse_args()
    print(f"{machine.facts()}; {options.rounds} rounds of {options.seconds} s")
    for jdk in options.jdk:
        print(f"\nJDK {machine.jdk_version(jdk)}")
        print(f"  {'':8}{'CPU of a pass':>24}{'below 1 ms':>12}{'exact':>9}{'says':>8}")
        for name in ("javac", "ecj", "jython"):
            if options.only in (None, name):
                with tempfile.TemporaryDirectory(prefix="treadle-bench-") as scratch:
                    one_program(options, Path(jdk), name, Path(scratch))


def one_program(options, jdk, name, scratch):
    for jar in JARS if name != "javac" else ():
        if not (programs.JARS / jar).exists():
            print(f"  {name:8} left out: {programs.JARS / jar} is missing (tools/packages bench)")
            return
    called = called_methods(options, jdk, name, scratch)
    cpu, below, exact, says = [], [], [], []
    for number in range(options.rounds):
        ratio, half, whole = pair(options, jdk, name, scratch, number % 2)
        cpu.append(ratio)
        report = json_of(options, whole, "--since", half)
        below.append(next(part["cpu_ppm"] for part in report["resolution"] if part["below_ns"] == 1_000_000) / 1e4)
        says.append(report["budget"]["used_ppm"] / 1e4)
        now = methods(options, whole, "--since", half)
        exact.append(100 * sum(is_exact(now.get(key)) for key in called) / len(called))
    print(f"  {name:8}{budget.ratios(cpu):>24}" +
          "".join(f"{statistics.median(values):{width}.1f} %" for values, width in
                  ((below, 10), (exact, 7), (says, 6))), flush=True)


def called_methods(options, jdk, name, scratch):
    """What is called while a program starts only is not among them."""
    half, whole = scratch / "any_half.ledger", scratch / "any.ledger"
    seconds = options.seconds / 2
    process = start(options, jdk, name, scratch, f"file={whole},overhead=any", seconds, None)
    time.sleep(seconds / 2)
    dump(options, process, half)
    cpu_of_passes(process, 0)
    return {key for key, method in methods(options, whole, "--since", half).items() if method["calls"]}


def dump(options, process, ledger):
    ledger.unlink(missing_ok=True)
    subprocess.run([options.treadle, "dump", "-o", ledger, str(process.pid)], capture_output=True, check=True)


def pair(options, jdk, name, scratch, place):
    """The ratio of the CPU of a pass, and ledgers of the half and of the end."""
    half, whole = scratch / "half.ledger", scratch / "whole.ledger"
    base = start(options, jdk, name, scratch, None, options.seconds, place)
    profiled = start(options, jdk, name, scratch, f"file={whole}", options.seconds, 1 - place)
    time.sleep(options.seconds / 2)
    dump(options, profiled, half)
    took = [statistics.mean(cpu_of_passes(process, options.seconds / 2)) for process in (profiled, base)]
    return took[0] / took[1], half, whole


def start(options, jdk, name, scratch, agent, seconds, place):
    agents = [f"-agentpath:{options.agent}={agent}"] if agent else []
    path = ":".join([options.classes, *(str(programs.JARS / jar) for jar in JARS)])
    pinned = [] if place is None else ["taskset", "-c", place]
    command = [*pinned, jdk / "bin/java", *agents, "-Xss8m", "-cp", path, "Again", seconds, name,
               *arguments_of(name, scratch, place)]
    return subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                            cwd=scratch)


def arguments_of(name, scratch, place):
    if name == "jython":
        return [programs.prepare_jython(scratch, None)[-1]]
    folder = programs.generated(scratch)
    made = ["-nowarn", "-proc:none", "-d", scratch / f"out{place}"]
    (scratch / f"out{place}").mkdir(exist_ok=True)
    return [*made, *sorted(folder.glob("*.java"))] if name == "javac" else [*made, "--release", "11", folder]


def cpu_of_passes(process, since):
    """In seconds, of each pass that began at that second or later, once the program is over."""
    lines = [line.split() for line in process.communicate()[0].splitlines() if line.startswith("pass ")]
    if process.returncode or not lines:
        raise SystemExit(f"{process.args[-3:]}: status {process.returncode}, {len(lines)} passes")
    ends = [0.0] + [float(line[1]) for line in lines]
    return [float(line[2]) for began, line in zip(ends, lines) if began >= since]


def json_of(options, *arguments):
    command = [options.treadle, "report", "--json", *map(str, arguments)]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def methods(options, *arguments):
    rows = json_of(options, "--view", "flat", *arguments)["methods"]
    return {(row["class"], row["method"], row["signature"]): row for row in rows}


def is_exact(row):
    return bool(row and row["calls"] and "hooked" not in row)


if __name__ == "__main__":
    main()
