"""What bounds of memory cost the call trees of real programs with every call recorded, beside a run without a bound that
matters: for each max-mem the shares of the Java threads' CPU and of all calls that stand in the contexts in which they
stand without a bound, which is all that is not in (folded); the most CPU that a folded context can have had; calls that
were not recorded; methods whose calls are not those of the run without a bound; peak memory, and CPU and wall time. Medians
over the rounds. The run without a bound is each round's first, and in the first round there are two: methods whose calls
differ between these are not compared, and their number is told. Programs are those of programs.py, or folders with a run.sh
that takes JAVA and JAVA_OPTS from the environment. Every JDK. See tests/README.md."""

import argparse
import json
import re
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import machine
import programs
from measured_run import run


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jdk", action="append", required=True)
    parser.add_argument("--agent", required=True)
    parser.add_argument("--treadle", required=True)
    parser.add_argument("--classes", help="not used")
    parser.add_argument("--bounds", default="4G,256M,64M,32M,16M,8M",
                        help="of max-mem; the first is the one that does not matter")
    parser.add_argument("--programs", type=Path, help="folder of the programs' folders")
    parser.add_argument("--only", help="names, with commas")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"{machine.facts()}; {options.rounds} rounds")
    for jdk in options.jdk:
        print(f"\nJDK {machine.jdk_version(jdk)}")
        print(f"  {'':12}{'':6}{'in the same contexts':>22}{'one folded':>12}{'calls not':>12}{'methods with':>14}")
        print(f"  {'':12}{'max-mem':>6}{'CPU':>11}{'calls':>11}{'at most':>12}{'recorded':>12}{'other calls':>14}{'ledger':>9}"
              f"{'RSS':>10}{'CPU':>9}{'ratio':>7}{'wall':>9}{'ratio':>7}")
        for name, prepare in chosen(options):
            with tempfile.TemporaryDirectory(prefix="treadle-bench-") as scratch:
                one_program(options, Path(jdk), name, prepare, Path(scratch))


def chosen(options):
    """Names, and what makes of a folder, a JDK and the agent's option a command and its environment."""
    names = options.only.split(",") if options.only else None
    if options.programs:
        for name in names or sorted(run.parent.name for run in options.programs.glob("*/run.sh")):
            yield name, shell_program(options.programs / name / "run.sh")
        return
    for program in programs.programs():
        if names and program.name not in names:
            continue
        if not program.needs.exists():
            print(f"  {program.name:10}left out: {program.needs} is missing (apt install {program.package})")
            continue
        yield program.name, java_program(program)


def shell_program(run):
    return lambda scratch, jdk, agent: (["bash", run], {"JAVA": str(jdk / "bin/java"), "JAVA_OPTS": agent,
                                                       "TMPDIR": str(scratch)})


def java_program(program):
    return lambda scratch, jdk, agent: ([jdk / "bin/java", agent, *program.prepare(scratch, jdk)], {})


def one_program(options, jdk, name, prepare, scratch):
    bounds = options.bounds.split(",")
    rows = {bound: [] for bound in bounds}
    restless = None
    for _ in range(options.rounds):
        unbounded = one_run(options, jdk, prepare, scratch, bounds[0])
        if restless is None:
            restless = differing(unbounded, one_run(options, jdk, prepare, scratch, bounds[0]))
        for bound in bounds:
            row = unbounded if bound == bounds[0] else one_run(options, jdk, prepare, scratch, bound)
            row["others"] = len(differing(unbounded, row) - restless)
            rows[bound].append(row)
    for bound in bounds:
        print_row(name, bound, medians(rows[bound]), medians(rows[bounds[0]]))
    if restless:
        print(f"  {'':12}{len(restless)} of {len(unbounded['calls'])} methods are not compared: their calls differ between two runs "
              f"without a bound")


def medians(rows):
    return {key: statistics.median(row[key] for row in rows) for key in rows[0] if key != "calls"}


def differing(one, other):
    """Methods that have not the same number of calls in both."""
    names = one["calls"].keys() | other["calls"].keys()
    return {name for name in names if one["calls"].get(name, 0) != other["calls"].get(name, 0)}


def one_run(options, jdk, prepare, scratch, bound):
    agent = (f"-agentpath:{options.agent}=overhead=any,sample=none,max-mem={bound},"
             f"file={scratch}/%p.ledger,live-dir={scratch}")
    command, environment = prepare(scratch, jdk, agent)
    took = run(command, scratch, environment)
    return {"cpu": took.cpu_seconds, "wall": took.seconds, "rss": took.peak_bytes, **facts(options, scratch)}


def print_row(name, bound, row, first):
    print(f"  {name:12}{bound:>6}{(1 - row['folded']) * 100:9.2f} %{(1 - row['folded_calls']) * 100:9.2f} %"
          f"{row['most'] * 100:10.4f} %{row['lost']:12,.0f}{row['others']:14,.0f}{row['ledger'] / 2**20:5.0f} MiB"
          f"{row['rss'] / 2**20:6.0f} MiB{row['cpu']:7.1f} s{row['cpu'] / first['cpu']:7.2f}"
          f"{row['wall']:7.1f} s{row['wall'] / first['wall']:7.2f}", flush=True)


def facts(options, scratch):
    """Of the ledger of the JVM that ran longest, if there were more; all are removed."""
    ledgers = sorted(scratch.glob("*.ledger"), key=lambda ledger: ledger.stat().st_size)
    threads = report(options, ledgers[-1], "threads")
    trees = report(options, ledgers[-1], "tree", "--top", "20")["threads"]
    methods = report(options, ledgers[-1], "callers")["methods"]
    folded = [m for m in methods if m["self"]["method"] == "(folded)" and not m["self"]["class"]]
    calls = {}
    for method in methods:
        name = spelling(method["self"])
        calls[name] = calls.get(name, 0) + method["self"]["calls"]
    told = {"folded": sum(m["self"]["cum"]["cpu_ns"] for m in folded) / threads["balance"]["charged_java_ns"],
            "folded_calls": sum(child["calls"] for m in folded for child in m["children"]) / max(sum(calls.values()), 1),
            "most": max((t.get("folded_most_cpu_ns", 0) / max(t["cpu_ns"], 1) for t in trees), default=0),
            "lost": threads["balance"]["dropped_events"], "ledger": ledgers[-1].stat().st_size, "calls": calls}
    for ledger in ledgers:
        ledger.unlink()
    return told


def spelling(method):
    """Classes that are made at run time have another number or address in each run."""
    return re.sub(r"0x[0-9a-f]+|[0-9]+", "#", f"{method['class']}.{method['method']}{method['signature']}")


def report(options, ledger, view, *more):
    command = [options.treadle, "report", ledger, "--view", view, "--json", *more]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


if __name__ == "__main__":
    main()
