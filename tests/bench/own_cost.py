"""Whether the profiler's own cost is what it says: CPU of real programs with the agent less CPU without, beside what
the ledgers say, for hooks everywhere, hooks in rarely called methods only, the defaults, and samples. The two runs of a pair go at
the same time, a processor each, and change places from pair to pair. See tests/README.md; programs are folders with
a run.sh that takes JAVA and JAVA_OPTS from the environment."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import machine

RARE_CALLS = 400_000  # of all methods together that are hooked as rarely called


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jdk", action="append", required=True)
    parser.add_argument("--agent", required=True)
    parser.add_argument("--treadle", required=True)
    parser.add_argument("--programs", required=True, type=Path, help="folder of the programs' folders")
    parser.add_argument("--only", default="fop,ecj,sunflow", help="names, with commas")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ways", default="all hooked,rarely called,defaults,samples", help="some of these, with commas")
    options = parser.parse_args()
    print(f"{machine.facts()}; {options.rounds} rounds; seconds of CPU: measured, said, said / measured")
    for jdk in options.jdk:
        for name in options.only.split(","):
            with tempfile.TemporaryDirectory(prefix="treadle-bench-") as scratch:
                compare(options, Path(jdk), options.programs / name / "run.sh", Path(scratch))


def compare(options, jdk, program, scratch):
    ways = {"all hooked": "overhead=any", "rarely called": f"overhead=any,exclude=@{scratch}/often",
            "defaults": "overhead=2%", "samples": "events=none,sample=cpu"}
    for way, text in ways.items():
        wanted = options.ways.split(",")
        if way not in wanted and not (way == "all hooked" and "rarely called" in wanted):  # the one tells the other's list
            continue
        agent = f"-agentpath:{options.agent}={text},file={scratch}/%p.ledger"
        measured, said = [], []
        for turn in range(options.rounds):
            base, run = (start(jdk, program, java_options, processor, scratch)
                         for java_options, processor in (("-Dx=y", turn % 2), (agent, 1 - turn % 2)))
            base_s = finish(base)
            measured.append(finish(run) - base_s)
            said.append(sum(own_cost(options, ledger) for ledger in scratch.glob("*.ledger")))
            if way == "all hooked" and turn == 0:
                (scratch / "often").write_text("\n".join(often_called(options, scratch)) + "\n")
            for ledger in scratch.glob("*.ledger"):
                ledger.unlink()
        middle, told = statistics.median(measured), statistics.median(said)
        print(f"JDK {machine.jdk_major(jdk)} {program.parent.name:10} {way:14} {middle:8.2f} [{min(measured):.2f} {max(measured):.2f}]"
              f" {told:8.2f} {told / middle:6.2f}", flush=True)


def start(jdk, program, java_options, processor, scratch):
    environment = {**os.environ, "JAVA": str(jdk / "bin/java"), "JAVA_OPTS": java_options, "TMPDIR": str(scratch),
                   "WORKLOADS": os.environ.get("WORKLOADS", "/tmp/treadle-workloads")}
    return subprocess.Popen(["taskset", "-c", str(processor), "bash", str(program)], env=environment,
                            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)


def finish(process):
    """Its CPU, and that of the processes that it waited for, in seconds."""
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0 or not out.rstrip().endswith("OK"):
        sys.exit(f"{process.args}: status {process.returncode}\n{out[-2000:]}")
    return usage.ru_utime + usage.ru_stime


def report(options, ledger, *view):
    return json.loads(subprocess.run([options.treadle, "report", ledger, "--json", *view], check=True,
                                     capture_output=True, text=True).stdout)


def own_cost(options, ledger):
    return report(options, ledger)["balance"]["profiler"]["cpu_ns"] / 1e9


def often_called(options, scratch):
    names = set()
    for ledger in scratch.glob("*.ledger"):
        calls = 0
        for method in sorted(report(options, ledger, "--view", "flat")["methods"], key=lambda m: m["calls"]):
            calls += method["calls"]
            if calls > RARE_CALLS:
                names.add(f"{method['class']}.{method['method']}")
    return sorted(names)


if __name__ == "__main__":
    main()
