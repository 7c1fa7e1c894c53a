"""What bounds of memory cost the call trees of real programs with every call recorded: for each max-mem the share of the
Java threads' CPU in (folded), the most CPU that a folded context can have had, calls that were not recorded, peak memory,
and CPU and wall time beside the largest bound, whose run is the round's first. Medians over the rounds. Programs are those
of programs.py, or folders with a run.sh that takes JAVA and JAVA_OPTS from the environment. Every JDK. See
tests/README.md."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import machine
import programs


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jdk", action="append", required=True)
    parser.add_argument("--agent", required=True)
    parser.add_argument("--treadle", required=True)
    parser.add_argument("--classes", help="not used")
    parser.add_argument("--bounds", default="256M,64M,32M,16M,8M", help="of max-mem, the largest first")
    parser.add_argument("--programs", type=Path, help="folder of the programs' folders")
    parser.add_argument("--only", help="names, with commas")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"{machine.facts()}; {options.rounds} rounds")
    for jdk in options.jdk:
        print(f"\nJDK {machine.jdk_version(jdk)}")
        print(f"  {'':10}{'max-mem':>8}{'in (folded)':>13}{'one at most':>13}{'not recorded':>14}{'ledger':>9}{'RSS':>10}"
              f"{'CPU':>9}{'ratio':>7}{'wall':>9}{'ratio':>7}")
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
    for _ in range(options.rounds):
        for bound in bounds:
            agent = (f"-agentpath:{options.agent}=overhead=any,sample=none,max-mem={bound},"
                     f"file={scratch}/%p.ledger,live-dir={scratch}")
            rows[bound].append({**run(*prepare(scratch, jdk, agent), scratch), **facts(options, scratch)})
    for bound in bounds:
        print_row(name, bound, {key: statistics.median(row[key] for row in rows[bound]) for key in rows[bound][0]},
                  {key: statistics.median(row[key] for row in rows[bounds[0]]) for key in ("cpu", "wall")})


def print_row(name, bound, row, first):
    print(f"  {name:10}{bound:>8}{row['folded'] * 100:11.2f} %{row['most'] * 100:11.4f} %{row['lost']:14,.0f}"
          f"{row['ledger'] / 2**20:5.0f} MiB{row['rss'] / 2**20:6.0f} MiB{row['cpu']:7.1f} s{row['cpu'] / first['cpu']:7.2f}"
          f"{row['wall']:7.1f} s{row['wall'] / first['wall']:7.2f}", flush=True)


def run(command, environment, scratch):
    with tempfile.TemporaryFile() as output:
        began = time.perf_counter()
        process = subprocess.Popen([str(c) for c in command], cwd=scratch, env={**os.environ, **environment},
                                   stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        took = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            output.seek(0)
            sys.exit(f"{command}: status {process.returncode}\n{output.read()[-2000:].decode()}")
    return {"cpu": usage.ru_utime + usage.ru_stime, "wall": took, "rss": usage.ru_maxrss * 1024}


def facts(options, scratch):
    """Of the ledger of the JVM that ran longest, if there were more; all are removed."""
    ledgers = sorted(scratch.glob("*.ledger"), key=lambda ledger: ledger.stat().st_size)
    threads = report(options, ledgers[-1], "threads")
    trees = report(options, ledgers[-1], "tree", "--top", "20")["threads"]
    folded = [m for m in report(options, ledgers[-1], "flat")["methods"] if m["method"] == "(folded)" and not m["class"]]
    told = {"folded": sum(m["cum"]["cpu_ns"] for m in folded) / threads["balance"]["charged_java_ns"],
            "most": max((t.get("folded_most_cpu_ns", 0) / max(t["cpu_ns"], 1) for t in trees), default=0),
            "lost": threads["balance"]["dropped_events"], "ledger": ledgers[-1].stat().st_size}
    for ledger in ledgers:
        ledger.unlink()
    return told


def report(options, ledger, view, *more):
    command = [options.treadle, "report", ledger, "--view", view, "--json", *more]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


if __name__ == "__main__":
    main()
