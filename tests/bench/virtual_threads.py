"""What virtual threads cost with the agent: a million of them, ten thousand alive at a time, each a few
hooked calls and a park; whether calls are exact, and whether ledger and JVM stay as large as they are. Runs
with and without take turns; medians; every JDK that has virtual threads. See tests/README.md."""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import machine
from led_program import LedProgram

VIRTUAL_THREADS_SINCE = 21
PARKS, MORE_PARKS = 1, 8  # of each thread; how many more in the second part, which tells what a mount costs
COUNTED_CLASS, COUNTED_METHODS = "ManyThreads$Task", ("run", "step", "leaf", "pause")
JVM = ("-Xms512m", "-Xmx512m", "-XX:+AlwaysPreTouch")  # what else grows is to be seen


@dataclass
class Part:
    """So many threads, from the first one's start to the last one's end."""
    threads: int
    calls: int  # by the program's own count
    wall_ns: int
    cpu_ns: float


@dataclass
class Sample:
    marks: list  # threads, resident bytes and ledger's bytes, thrice
    parts: list  # up to each mark; then those that park more often

    def wall_ns(self):
        return sum(part.wall_ns for part in self.parts[:-1])

    def cpu_ns(self):
        return sum(part.cpu_ns for part in self.parts[:-1])

    def thread_wall_ns(self):
        """The last nine tenths: the JIT has done its work."""
        return self.parts[-2].wall_ns / self.parts[-2].threads

    def thread_cpu_ns(self):
        return self.parts[-2].cpu_ns / self.parts[-2].threads

    def mount_cpu_ns(self):
        return (self.parts[-1].cpu_ns / self.parts[-1].threads - self.thread_cpu_ns()) / MORE_PARKS

    def mounts(self):
        *some, more = self.parts
        return (1 + PARKS) * sum(p.threads for p in some) + (1 + PARKS + MORE_PARKS) * more.threads

    def calls(self):
        return sum(part.calls for part in self.parts)


@dataclass
class Configuration:
    name: str
    agent: list = field(default_factory=list)
    samples: list = field(default_factory=list)
    books: list = field(default_factory=list)  # of each sample, what its ledger says

    def median(self, quantity):
        return statistics.median(quantity(sample) for sample in self.samples)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jdk", action="append", required=True)
    parser.add_argument("--agent", required=True)
    parser.add_argument("--treadle", required=True)
    parser.add_argument("--classes", required=True, help="where ManyThreads is")
    parser.add_argument("--threads", type=int, default=1_000_000)
    parser.add_argument("--alive", type=int, default=10_000, help="at a time")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(f"{machine.facts()}; {options.threads:,} virtual threads, {options.alive:,} alive at a time, "
          f"medians of {options.rounds} rounds")
    shared_memory = "/dev/shm" if os.path.isdir("/dev/shm") else None  # where ledgers are by default
    for jdk in options.jdk:
        if machine.jdk_major(jdk) < VIRTUAL_THREADS_SINCE:
            continue
        with tempfile.TemporaryDirectory(prefix="treadle-bench-", dir=shared_memory) as scratch:
            one_jdk(options, Path(jdk), Path(scratch))


def one_jdk(options, jdk, scratch):
    without = Configuration("no agent")
    agent = f"-agentpath:{options.agent}=overhead=any,file={scratch}/x.ledger,live-dir={scratch}"
    treadle = Configuration("treadle", [agent])
    for _ in range(options.rounds):
        without.samples.append(run(options, jdk, without, scratch))
        treadle.samples.append(run(options, jdk, treadle, scratch))
        treadle.books.append(books(options.treadle, scratch / "x.ledger"))
    print(f"\nJDK {machine.jdk_version(jdk)}")
    print_costs(without, treadle)
    print_sizes(without, treadle)
    print_books(treadle)


def run(options, jdk, configuration, scratch):
    program = LedProgram([jdk / "bin/java", *JVM, *configuration.agent, "-cp", options.classes,
                          "ManyThreads", options.alive])
    program.answer()
    marks, parts = [], []
    before = 0
    for mark in (options.threads // 100, options.threads // 10, options.threads):
        parts.append(go(program, mark - before, PARKS))
        marks.append((mark, program.resident_bytes(), ledger_bytes(scratch)))
        before = mark
    parts.append(go(program, options.threads // 4, PARKS + MORE_PARKS))
    program.end()
    return Sample(marks, parts)


def go(program, threads, parks):
    before_s = program.cpu_s()
    calls, wall_ns = map(int, program.ask(f"virtual worker:{parks} {threads}").split())
    return Part(threads, calls, wall_ns, (program.cpu_s() - before_s) * 1e9)


def ledger_bytes(scratch):
    return sum(path.stat().st_blocks * 512 for path in scratch.glob("*.live"))


def books(treadle, ledger):
    """Calls, mounts, rows, the losses, and by how many ppm the balance is out."""
    def view(name):
        command = [treadle, "report", ledger, "--view", name, "--json"]
        return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)

    threads = view("threads")
    rows = [row for row in threads["threads"] if row["kind"] == "virtual"]
    balance = threads["balance"]
    charged_ns = balance["charged_cpu_ns"] - balance["last_moments_ns"]
    lost = ("dropped_events", "dropped_threads", "unfollowed_mounts", "resynchronised")
    counted = [m["calls"] for m in view("flat")["methods"]
               if m["class"] == COUNTED_CLASS and m["method"] in COUNTED_METHODS]
    return {"calls": sum(counted), "threads": sum(row.get("count", 1) for row in rows),
            "rows": len(rows), "mounts": sum(row["mounts"] for row in rows),
            "lost": sum(balance[name] for name in lost),
            "ppm": (balance["kernel_cpu_ns"] - charged_ns) * 1e6 / balance["kernel_cpu_ns"]}


def print_costs(without, treadle):
    costs = (("wall", Sample.wall_ns, "s"), ("CPU", Sample.cpu_ns, "s"),
             ("wall/thread", Sample.thread_wall_ns, "ns"), ("CPU/thread", Sample.thread_cpu_ns, "ns"),
             ("CPU/mount", Sample.mount_cpu_ns, "ns"))
    medians = [(without.median(of), treadle.median(of), unit) for _, of, unit in costs]
    print(f"  {'':10}" + "".join(f"{name:>13}" for name, _, _ in costs))
    print(f"  {without.name:10}" + "".join(in_unit(one, unit) for one, _, unit in medians))
    print(f"  {treadle.name:10}" + "".join(in_unit(other, unit) for _, other, unit in medians))
    print(f"  {'ratio':10}" + "".join(f"{other / one:13.3f}" for one, other, _ in medians))
    print(f"  {'more':10}" + "".join(in_unit(other - one, unit) for one, other, unit in medians))


def in_unit(ns, unit):
    return f"{ns / 1e9:11.2f} s" if unit == "s" else f"{ns:10,.0f} ns"


def print_sizes(without, treadle):
    threads = [mark for mark, _, _ in treadle.samples[0].marks]
    print(f"  {'after':16}" + "".join(f"{n:>12,}" for n in threads) + "  threads")
    for name, one, column in (("RSS without", without, 1), ("RSS with", treadle, 1), ("ledger", treadle, 2)):
        sizes = [one.median(lambda sample, at=i: sample.marks[at][column]) for i in range(len(threads))]
        print(f"  {name:16}" + "".join(f"{size / 2**20:8.1f} MiB" for size in sizes))


def print_books(treadle):
    pairs = list(zip(treadle.samples, treadle.books))
    exact = all(sample.calls() == told["calls"] for sample, told in pairs)
    threads = all(sum(p.threads for p in sample.parts) == told["threads"] for sample, told in pairs)
    sample, told = pairs[-1]
    lost = sum(told["lost"] for told in treadle.books)
    worst = max((told["ppm"] for told in treadle.books), key=abs)
    print(f"  calls exact: {yes(exact)} ({told['calls']:,} of {sample.calls():,})\n"
          f"  threads exact: {yes(threads)} ({told['threads']:,} in {told['rows']:,} rows)\n"
          f"  mounts: {told['mounts']:,} ({sample.mounts():,} on paper); lost: {lost}\n"
          f"  balance out by {worst:.0f} ppm at most")


def yes(truth):
    return "yes" if truth else "NO"


if __name__ == "__main__":
    main()
