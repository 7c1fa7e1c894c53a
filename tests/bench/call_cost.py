"""What a call costs with the agent, beside its floor and its peers: hooks in classes (each clock, several
threads) beside two bare native calls that read the cycle counter and, where the JDK has it, the JDK's own
method timing; JVMTI's events beside empty callbacks. Several rounds that take turns in one run, medians,
every JDK. See tests/README.md."""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import machine

CLOCKS = ("rseq", "perf", "plain")
METHOD_TIMING_SINCE = 25


@dataclass
class Configuration:
    name: str
    jvm: list = field(default_factory=list)
    arguments: list = field(default_factory=list)
    beside: dict = field(default_factory=dict)  # other configuration: goal for the ratio, or None
    samples: list = field(default_factory=list)
    clock: str = ""

    def median(self):
        return statistics.median(self.samples)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jdk", action="append", required=True)
    parser.add_argument("--agent", required=True)
    parser.add_argument("--empty-agent", required=True)
    parser.add_argument("--bare-calls", required=True)
    parser.add_argument("--treadle", required=True)
    parser.add_argument("--classes", required=True)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    print(f"{machine.facts()}; recursive fib, median of {options.rounds} rounds")
    for jdk in options.jdk:
        with tempfile.TemporaryDirectory(prefix="treadle-bench-") as scratch:
            configurations = list(configure(options, jdk, Path(scratch)))
            measure(options, Path(jdk), configurations, Path(scratch))
            print_table(jdk, configurations)


def configure(options, jdk, scratch):
    """In the order of the table."""
    major = machine.jdk_major(jdk)
    library = [f"-Djava.library.path={Path(options.bare_calls).parent}"]
    if major >= 22:
        library.append("--enable-native-access=ALL-UNNAMED")

    def agent(events, clock=None, recursion="all"):
        clock = f"clock={clock}," if clock else ""
        return [f"-agentpath:{options.agent}=events={events},overhead=any,recursion={recursion},{clock}"
                f"file={scratch}/x.ledger,live-dir={scratch}"]

    yield Configuration("no agent")
    yield Configuration("no agent, -Xint", ["-Xint"])
    yield Configuration("two bare native calls", library, ["bare"])
    timed = major >= METHOD_TIMING_SINCE
    if timed:
        yield Configuration("method timing of the JDK", [
            f"-XX:StartFlightRecording:method-timing=CallCost::fib,filename={scratch}/x.jfr", "-Xlog:jfr*=off"])
    yield Configuration("jvmti, empty callbacks", [f"-agentpath:{options.empty_agent}"])
    yield Configuration("treadle jvmti", agent("jvmti"), beside={"jvmti, empty callbacks": 1.40})
    beside = {"two bare native calls": 1.10, "treadle jvmti": 0.20}
    if timed:
        beside["method timing of the JDK"] = 0.40
    yield Configuration("treadle instrument", agent("instrument"), beside=beside)
    yield Configuration("treadle, recursion folded", agent("instrument", recursion=2),
                        beside={"treadle instrument": None})
    for clock in CLOCKS:
        yield Configuration(f"treadle clock={clock}", agent("instrument", clock),
                            beside={"two bare native calls": None})
    for threads in (2, 8):
        bare = f"bare, {threads} threads"
        yield Configuration(bare, library, ["bare", threads])
        yield Configuration(f"treadle, {threads} threads", agent("instrument"), ["fib", threads],
                            beside={bare: 1.10})


def measure(options, jdk, configurations, scratch):
    """A sample of each in turn, in ns per call; and the clock that each really used."""
    for _ in range(options.rounds):
        for one in configurations:
            command = [jdk / "bin/java", *one.jvm, "-cp", options.classes, "CallCost",
                       *map(str, one.arguments)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                sys.exit(f"{one.name}: {done.stderr or done.stdout}")
            one.samples.append(float(done.stdout.split()[-1]))
            if one.name.startswith("treadle") and not one.clock:
                one.clock = clock_of(options.treadle, scratch / "x.ledger")


def clock_of(treadle, ledger):
    command = [treadle, "report", ledger, "--view", "threads", "--json"]
    report = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return report["balance"]["clock"]


def print_table(jdk, configurations):
    medians = {one.name: one.median() for one in configurations}
    print(f"\nJDK {machine.jdk_version(jdk)}")
    print(f"  {'':26}{'ns/call':>9}{'min':>9}{'max':>9}   clock  ratio")
    for one in configurations:
        ratios = ", ".join(ratio_text(one.median() / medians[name], name, goal)
                           for name, goal in one.beside.items())
        print(f"  {one.name:26}{one.median():9.1f}{min(one.samples):9.1f}{max(one.samples):9.1f}"
              f"   {one.clock:5}  {ratios}".rstrip())


def ratio_text(ratio, name, goal):
    wanted = f" (goal {goal:.2f})" if goal else ""
    return f"{ratio:.3f} of {name}{wanted}"


if __name__ == "__main__":
    main()
