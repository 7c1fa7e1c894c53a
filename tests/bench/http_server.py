"""What the agent costs a server under load: the JDK's HTTP server, a virtual thread a request where the JDK
has them, and wrk on the same machine. Runs with and without take turns; medians; every JDK. See
tests/README.md."""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import machine
from led_program import LedProgram

VIRTUAL_THREADS_SINCE = 21
UNITS_NS = {"us": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9}
HANDLER_METHOD = "handle"  # is called once a request
TOP_ROWS = 8


@dataclass
class Load:
    """What wrk saw."""
    requests: int
    per_s: float
    median_ns: float
    tail_ns: float  # 99 %
    socket_errors: int
    not_2xx: int


@dataclass
class Sample:
    warm_up: Load
    load: Load
    cpu_ns: float  # of the server, a request
    requests: int  # by the server's own count
    calls: int = 0  # in the ledger, of the method that is called once a request

    def answered(self):
        return self.warm_up.requests + self.load.requests


@dataclass
class Configuration:
    name: str
    agent: list = field(default_factory=list)
    samples: list = field(default_factory=list)

    def median(self, quantity):
        return statistics.median(quantity(sample) for sample in self.samples)

    def sum(self, quantity):
        return sum(quantity(sample) for sample in self.samples)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jdk", action="append", required=True)
    parser.add_argument("--agent", required=True)
    parser.add_argument("--treadle", required=True)
    parser.add_argument("--classes", required=True, help="where Server is")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=10, help="of load, after as much to warm up")
    parser.add_argument("--connections", type=int, default=64)
    options = parser.parse_args()
    if not shutil.which("wrk"):
        print("http_server: left out: wrk is missing (tools/packages bench installs it)")
        return
    print(f"{machine.facts()}; HTTP server and wrk with {options.connections} connections, "
          f"medians of {options.rounds} rounds of {options.seconds} s")
    shared_memory = "/dev/shm" if os.path.isdir("/dev/shm") else None  # where ledgers are by default
    wrong = 0
    for jdk in options.jdk:
        with tempfile.TemporaryDirectory(prefix="treadle-bench-", dir=shared_memory) as scratch:
            wrong += one_jdk(options, Path(jdk), Path(scratch))
    if wrong:
        sys.exit("http_server: not every request was answered and counted")


def one_jdk(options, jdk, scratch):
    """Prints the table; how much of it is wrong."""
    without = Configuration("no agent")
    agent = f"-agentpath:{options.agent}=overhead=any,file={scratch}/x.ledger,live-dir={scratch}"
    treadle = Configuration("treadle", [agent])
    for _ in range(options.rounds):
        for one in (without, treadle):
            one.samples.append(run(options, jdk, one))
        treadle.samples[-1].calls = calls_in(options.treadle, scratch / "x.ledger")
    virtual = machine.jdk_major(jdk) >= VIRTUAL_THREADS_SINCE
    print(f"\nJDK {machine.jdk_version(jdk)}, "
          f"{'a virtual thread a request' if virtual else 'a pool of threads'}")
    print_speeds(without, treadle)
    wrong = print_counts(without, treadle)
    print()
    sys.stdout.flush()
    subprocess.run([options.treadle, "report", scratch / "x.ledger", "--view", "threads", "--fold",
                    "--top", str(TOP_ROWS)], env={"COLUMNS": "132", **os.environ}, check=True)
    return wrong


def run(options, jdk, configuration):
    server = LedProgram([jdk / "bin/java", *configuration.agent, "-cp", options.classes, "Server"])
    url = f"http://127.0.0.1:{server.answer()}/?n=98"
    warm_up = load(options, url)
    before_s = server.cpu_s()
    measured = load(options, url)
    cpu_ns = (server.cpu_s() - before_s) * 1e9 / max(1, measured.requests)
    return Sample(warm_up, measured, cpu_ns, int(server.end()[-1]))


def load(options, url):
    command = ["wrk", "--threads", "1", "--connections", str(options.connections),
               "--duration", f"{options.seconds}s", "--latency", url]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def find(pattern):
        match = re.search(pattern, told, re.M)
        return match.groups() if match else None

    def latency(percent):
        number, unit = find(rf"^ +{percent}% +([0-9.]+)(\w+)$")
        return float(number) * UNITS_NS[unit]

    errors = find(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)") or ()
    not_2xx = find(r"Non-2xx or 3xx responses: (\d+)") or (0,)
    return Load(int(find(r"^ +(\d+) requests in")[0]), float(find(r"^Requests/sec: +([0-9.]+)$")[0]),
                latency(50), latency(99), sum(map(int, errors)), int(not_2xx[0]))


def calls_in(treadle, ledger):
    command = [treadle, "report", ledger, "--view", "flat", "--json"]
    report = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return sum(m["calls"] for m in report["methods"]
               if m["class"] == "Server" and m["method"] == HANDLER_METHOD)


def print_speeds(without, treadle):
    speeds = (("requests/s", lambda s: s.load.per_s, lambda n: f"{n:13,.0f}"),
              ("50 %", lambda s: s.load.median_ns, lambda ns: f"{ns / 1e6:10.3f} ms"),
              ("99 %", lambda s: s.load.tail_ns, lambda ns: f"{ns / 1e6:10.3f} ms"),
              ("CPU/request", lambda s: s.cpu_ns, lambda ns: f"{ns / 1e3:10.2f} µs"))
    print(f"  {'':10}" + "".join(f"{name:>13}" for name, _, _ in speeds))
    for one in (without, treadle):
        print(f"  {one.name:10}" + "".join(text(one.median(of)) for _, of, text in speeds))
    ratios = (treadle.median(of) / without.median(of) for _, of, _ in speeds)
    print(f"  {'ratio':10}" + "".join(f"{ratio:13.3f}" for ratio in ratios))


def print_counts(without, treadle):
    """All rounds together. The server may have begun with requests that wrk did not wait for at its end, but
    each that was answered must be one that it had, and all that it had must be in the ledger."""
    wrong = 0
    for one in (without, treadle):
        errors = one.sum(lambda s: s.warm_up.socket_errors + s.load.socket_errors)
        not_2xx = one.sum(lambda s: s.warm_up.not_2xx + s.load.not_2xx)
        lost = one.sum(lambda s: max(0, s.answered() - s.requests))
        text = (f"  {one.name:10}{one.sum(Sample.answered):,} requests answered: {errors} socket errors, "
                f"{not_2xx} not 2xx, {lost} lost")
        wrong += errors + not_2xx + lost
        if one.agent:
            missing = one.sum(lambda s: abs(s.requests - s.calls))
            text += (f"; {one.sum(lambda s: s.calls):,} in the ledgers, "
                     f"{missing} more or less than the server had")
            wrong += missing
        print(text)
    return wrong


if __name__ == "__main__":
    main()
