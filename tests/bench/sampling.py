"""What samples cost: a program that keeps every processor busy, with the agent and no samples, with samples of
CPU time at two rates, with wall samples, and with the JDK's Flight Recorder beside. Runs take turns; medians of
the ratio to the run without samples next to it. Then a minute at the high rate: losses. See tests/README.md."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import machine

RATE_HZ = 6000  # a processor; J. Anderson et al.: Continuous Profiling: Where Have All the Cycles Gone?, 1997
FAST = f"{1_000_000 // RATE_HZ}us"
MINUTE_S = 60


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jdk", action="append", required=True)
    parser.add_argument("--agent", required=True)
    parser.add_argument("--treadle", required=True)
    parser.add_argument("--classes", required=True, help="where Burn is")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--work", type=int, default=60_000, help="rounds of the program's own")
    options = parser.parse_args()
    threads = os.cpu_count()
    print(f"{machine.facts()}; {threads} busy threads, {options.rounds} rounds")
    for jdk in options.jdk:
        with tempfile.TemporaryDirectory(prefix="treadle-bench-") as scratch:
            compare(options, Path(jdk), Path(scratch), threads)
            for_a_minute(options, Path(jdk), Path(scratch), threads)


def ways(options, jdk, scratch):
    base = f"-agentpath:{options.agent}=events=none,file={scratch}/x.ledger,live-dir={scratch}"
    jfr = f"-XX:StartFlightRecording=filename={scratch}/x.jfr,settings=profile"
    yield "no samples", base
    yield "no agent", "-Dx=y"
    yield "cpu, 10 ms", base + ",sample=cpu"
    yield f"cpu, {FAST}", base + f",sample=cpu,interval={FAST}"
    yield "wall, 10 ms", base + ",sample=wall"
    yield "JFR, profile", jfr
    if machine.jdk_major(jdk) >= 25:
        yield "JFR, CPU, 10 ms", jfr + ",jdk.CPUTimeSample#enabled=true,jdk.CPUTimeSample#throttle=10ms"


def burn(options, jdk, option, threads, work):
    command = [jdk / "bin/java", option, "-Xlog:disable", "-Xlog:all=error:stderr", "-cp", options.classes,
               "Burn", threads, work]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{command}: status {done.returncode}\n{done.stderr[-2000:]}")
    return int(done.stdout.split()[-1])


def compare(options, jdk, scratch, threads):
    names = dict(ways(options, jdk, scratch))
    ratios = {name: [] for name in names}
    times = {name: [] for name in names}
    for _ in range(options.rounds):
        took = {name: burn(options, jdk, option, threads, options.work)
                for name, option in names.items()}
        for name, ms in took.items():
            times[name].append(ms)
            ratios[name].append(ms / took["no samples"])
    print(f"\nJDK {machine.jdk_version(jdk)}\n  {'':18}{'time':>10}{'ratio':>8}{'from':>8}{'to':>8}")
    for name in names:
        middle = sorted(ratios[name])[len(ratios[name]) // 4:][:(len(ratios[name]) + 1) // 2]
        print(f"  {name:18}{statistics.median(times[name]):7.0f} ms{statistics.median(ratios[name]):8.3f}"
              f"{middle[0]:8.3f}{middle[-1]:8.3f}")


def for_a_minute(options, jdk, scratch, threads):
    once_ms = burn(options, jdk, f"-agentpath:{options.agent}=events=none,file={scratch}/x.ledger",
                   threads, options.work)
    option = (f"-agentpath:{options.agent}=events=none,file={scratch}/x.ledger,live-dir={scratch},"
              f"sample=cpu,interval={FAST}")
    burn(options, jdk, option, threads, options.work * MINUTE_S * 1000 // once_ms)
    report = subprocess.run([options.treadle, "report", scratch / "x.ledger", "--json"],
                            capture_output=True, check=True)
    balance = json.loads(report.stdout)["balance"]
    cpu_s = balance["kernel_cpu_ns"] / 1e9
    samples = balance["samples"]
    failed = sum(samples["failed_walks"].values())
    print(f"  a minute at {FAST}: {samples['taken']:,} samples in {cpu_s:.1f} s of CPU, "
          f"{samples['taken'] / cpu_s:,.0f} a second of it; dropped {samples['dropped']}, "
          f"walks that failed {failed * 100 / samples['taken']:.2f} %, fullest buffer "
          f"{samples['fill_bytes'] * 100 / samples['buffer_bytes']:.0f} %")


if __name__ == "__main__":
    main()
