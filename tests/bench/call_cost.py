"""What a call costs with the agent (events=jvmti, each clock), beside an agent with empty callbacks and no
agent at all: several rounds that take turns in one run, medians, every JDK. See tests/README.md."""

import argparse
import json
import platform
import re
import statistics
import subprocess
import tempfile
from pathlib import Path

CLOCKS = ("rseq", "perf", "plain")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jdk", action="append", required=True)
    parser.add_argument("--agent", required=True)
    parser.add_argument("--empty-agent", required=True)
    parser.add_argument("--treadle", required=True)
    parser.add_argument("--classes", required=True)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    print(f"{processor()}, Linux {platform.release()}; "
          f"recursive fib, median of {options.rounds} rounds")
    for jdk in options.jdk:
        with tempfile.TemporaryDirectory(prefix="treadle-bench-") as scratch:
            print_table(jdk, *measure(options, Path(jdk), Path(scratch)))


def processor():
    match = re.search(r"^model name\s*: (.*)", Path("/proc/cpuinfo").read_text(), re.M)
    return match[1] if match else platform.machine()


def configurations(options, scratch):
    """Name to JVM options, in the order of the table."""
    ledger = f"file={scratch}/x.ledger,live-dir={scratch}"
    treadle = {f"treadle clock={clock}":
               [f"-agentpath:{options.agent}=events=jvmti,clock={clock},{ledger}"]
               for clock in CLOCKS}
    return {
        "no agent": [],
        "no agent, -Xint": ["-Xint"],
        "empty callbacks": [f"-agentpath:{options.empty_agent}"],
        "treadle": [f"-agentpath:{options.agent}=events=jvmti,{ledger}"],
        **treadle,
    }


def measure(options, jdk, scratch):
    """Samples in ns per call for each configuration, and the clock that each really used."""
    configured = configurations(options, scratch)
    samples = {name: [] for name in configured}
    clocks = {}
    for _ in range(options.rounds):
        for name, jvm in configured.items():
            command = [jdk / "bin/java", *jvm, "-cp", options.classes, "CallCost"]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            samples[name].append(float(done.stdout))
            if name.startswith("treadle") and name not in clocks:
                clocks[name] = clock_of(options.treadle, scratch / "x.ledger")
    return samples, clocks


def clock_of(treadle, ledger):
    command = [treadle, "report", ledger, "--view", "threads", "--json"]
    report = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return report["balance"]["clock"]


def print_table(jdk, samples, clocks):
    medians = {name: statistics.median(values) for name, values in samples.items()}
    empty = medians["empty callbacks"]
    release = (Path(jdk) / "release").read_text()
    version = re.search(r'^JAVA_(?:RUNTIME_)?VERSION="(.*)"', release, re.M)[1]
    print(f"\nJDK {version}")
    print(f"  {'':22}{'ns/call':>10}{'min':>9}{'max':>9}{'/ empty':>9}   clock")
    for name, median in medians.items():
        values = samples[name]
        print(f"  {name:22}{median:10.1f}{min(values):9.1f}{max(values):9.1f}"
              f"{median / empty:9.3f}   {clocks.get(name, '')}")


if __name__ == "__main__":
    main()
