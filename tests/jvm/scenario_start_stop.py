"""Stopped and started again and again, under load: the application's results stay right, memory and ledger do
not grow after the first rounds, and what is counted is exact: all of what was profiled, nothing else."""

import json
import os
import re
import time

import harness
from running import NICE, running

# TREADLE_ROUNDS=1000 for the long version.
ROUNDS = int(os.environ.get("TREADLE_ROUNDS", "30"))
SETTLED = max(10, ROUNDS // 5)  # rounds after which nothing grows any more
EVERY = max(1, ROUNDS // 20)  # how often sizes are looked at
PROFILED, UNPROFILED = 10, 7  # counted calls in each half of a round

# A process whose size depends on little else than the hooks' coming and going.
JVM = ("-Xms64m", "-Xmx64m", "-XX:+AlwaysPreTouch", "-XX:+UseSerialGC", "-XX:ReservedCodeCacheSize=16m",
       "-XX:-UseDynamicNumberOfCompilerThreads")
GROWTH_MOST = 48 << 20  # code cache, arenas of the compilers, malloc: bounded, but not the same each time
LEDGER_GROWTH_MOST = 64 << 10


def start_stop(test):
    with running(test, *JVM, "StartStop", prefix=NICE) as program:
        program.attach("--include", "StartStop*")
        expected = 0
        begin = time.monotonic()
        sizes = []
        for number in range(ROUNDS):
            expected += count(test, program, PROFILED)
            program.done("stop")
            count(test, program, UNPROFILED)
            program.done("start")
            if number + 1 >= SETTLED and number % EVERY == 0:
                sizes.append((resident_bytes(program), ledger_bytes(program)))
        print(f"{ROUNDS} rounds in {time.monotonic() - begin:.1f} s")
        print("resident and ledger, KiB: " + ", ".join(
            f"{resident >> 10} {ledger >> 10}" for resident, ledger in sizes))
        check_growth(test, [resident for resident, _ in sizes], GROWTH_MOST, "resident memory less metaspace")
        check_growth(test, [ledger for _, ledger in sizes], LEDGER_GROWTH_MOST, "the ledger")
        expected += count(test, program, 1000)
        steps = program.ask("check")
        test.check("wrong 0 failed []" in steps and not steps.startswith("0"), f"results: {steps}")
        check_status(test, program)
        ended = program.end()
    test.check(ended.status == 0 and ended.out.endswith("wrong 0 failed []\n"), f"{ended}")
    views = test.checked_report()
    calls = sum(m["calls"] for m in views["flat"]["methods"] if m["method"] == "counted")
    test.check(calls == expected, f"{calls} calls were counted, not {expected}")
    test.close_balance(views)


def count(test, program, times):
    answer = program.ask(f"count {times}")
    test.check(answer == f"counted {3 * times * (times - 1) // 2 + times}", f"wrong: {answer}")
    return times


def resident_bytes(program):
    """Less the JVM's metaspace: that of JDK 17 grows with each transformation of a class that runs, by
    whatever agent."""
    told = program.jcmd("VM.metaspace", "basic", "scale=K")
    metaspace = re.search(r"Both: +[0-9.]+ KB reserved, +(\d+)[0-9.]* KB", told)
    with open(f"/proc/{program.pid}/statm", encoding="ascii") as statm:
        resident = int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return resident - int(metaspace[1]) * 1024


def ledger_bytes(program):
    return json.loads(program.done("status", "--json"))["bytes"]


def check_growth(test, sizes, most, what):
    """The last fifth beside the first: neither one peak nor one valley decides."""
    part = max(1, len(sizes) // 5)
    first, last = max(sizes[:part]), min(sizes[-part:])
    test.check(last - first <= most, f"{what} grows from {first} to {last} bytes")


def check_status(test, program):
    status = json.loads(program.done("status", "--json"))
    test.check(status["state"] == "profiling" and status["starts"] == ROUNDS + 1
               and status["unprofiled_ns"] > 0, f"status: {status}")
    test.check(not any(status["losses"].values()), f"losses: {status['losses']}")


if __name__ == "__main__":
    harness.main(start_stop)
