"""treadle top beside a JVM under full load: what it shows of an interval is never more than the kernel and the
program's own results say, intervals that follow each other leave nothing out, and the program's results are
right. A program whose threads come and go, and are folded, gives no row more than can be."""

import json
import subprocess

import harness
import sampled
from running import running

LAG_NS = 10_000_000  # from outside, the clock of a thread that runs lags by up to a tick
COUNT = 20


def top(test):
    # A clock that is read from outside stands still while a host has taken the thread's processor away.
    for measure in (under_load, while_threads_come_and_go, until_the_end):
        sampled.check_unless_chance(test, lambda _, measure=measure: measure(test))


def under_load(test):
    with running(test, "Load", agent=test.agent_option(events="instrument", include="Load.*")) as program:
        tids = {row["name"]: row["tids"][0]
                for row in intervals_of(test, program, "--once", "--interval", "0.1")[0]["threads"]
                if row["name"].startswith("load-")}
        test.check(set(tids) == {"load-0", "load-1"}, f"the threads are {tids}")
        before = {name: consumed_ns(program.pid, tid) for name, tid in tids.items()}
        intervals = intervals_of(test, program, "--count", COUNT, "--interval", "0.1")
        after = {name: consumed_ns(program.pid, tid) for name, tid in tids.items()}
        test.check(len(intervals) == COUNT, f"{len(intervals)} intervals")
        check_intervals(test, intervals)
        calls = 0
        for name in tids:
            rows = [row for interval in intervals for row in interval["threads"] if row["name"] == name]
            test.check(len(rows) == COUNT, f"{name} is in {len(rows)} intervals")
            shown = sum(row["cpu_ns"] for row in rows)
            test.check_likely(0 < shown <= after[name] - before[name] + LAG_NS, name,
                              f"{name}: {shown} ns, the kernel says {after[name] - before[name]}")
            calls += sum(row["calls"] for row in rows)
        steps = [step["method"] for step in intervals[-1]["hot_path"]["steps"]]
        test.check(steps[:2] == ["(thread)", "run"], f"the hot path is {steps}")
        ended = program.end()
        right = [line for line in ended.out.splitlines() if line == "right"]
        test.check(ended.status == 0 and len(right) == 2, f"the program: {ended}")
        # Each step makes one call of leaf.
        total = 2 * int(ended.out.split("expect total Load.step ")[1].split()[0])
        test.check(0 < calls <= total, f"{calls} calls were shown, {total} were made")


def while_threads_come_and_go(test):
    agent = test.agent_option(events="instrument", include="ManyThreads*", fold="auto")
    with running(test, "ManyThreads", 20, agent=agent) as program:
        for kind in ("platform", "virtual") if test.major >= 21 else ("platform",):
            program.tell(f"{kind} worker:1,helper:2 12000")
            intervals = intervals_of(test, program, "--count", COUNT, "--interval", "0.1")
            check_intervals(test, intervals)
            program.answer(kind)
            test.check(any(interval["process"]["started"] > 0 for interval in intervals),
                       f"no {kind} thread began")
        program.end()


def until_the_end(test):
    with running(test, "Load", agent=test.agent_option()) as program:
        with subprocess.Popen([test.treadle, "top", test.live_ledgers(program.pid)[0], "--json",
                               "--interval", "0.1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as shown:
            first = shown.stdout.readline()
            program.end()
            rest, complaint = shown.communicate(timeout=harness.LIMIT_S)
        check_intervals(test, parsed(first + rest))
        test.check((shown.returncode, complaint) == (0, f"treadle: process {program.pid} has ended\n"),
                   f"top at the end: {shown.returncode} {complaint}")


def parsed(text):
    def no_float(number):
        raise SystemExit(f"treadle top --json: {number} is no integer")
    return [json.loads(line, parse_float=no_float) for line in text.splitlines()]


def intervals_of(test, program, *arguments):
    run = test.run([test.treadle, "top", test.live_ledgers(program.pid)[0], "--json", *arguments])
    if run.status != 0 or run.err:
        raise SystemExit(f"treadle top {arguments}: {run}")
    return parsed(run.out)


def consumed_ns(pid, tid):
    with open(f"/proc/{pid}/task/{tid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0])


def check_intervals(test, intervals):
    for before, after in zip(intervals, intervals[1:]):
        test.check(before["process"]["to_ns"] == after["process"]["from_ns"],
                   "an interval does not begin where the last one ended")
    for interval in intervals:
        process, balance, threads = interval["process"], interval["balance"], interval["threads"]
        least = min(least_number(interval["process"]), least_number(threads), least_number(interval["hot_path"]))
        test.check(least >= 0, f"a number is {least}")
        test.check(balance["cut_rows"] == 0, f"{balance['cut_rows']} rows were cut")
        test.check(balance["charged_cpu_ns"] == sum(row["cpu_ns"] for row in threads), "the rows add up")
        for row in threads:
            most = (process["cpu_ns"] if row["group"] else process["interval_ns"]) + LAG_NS
            test.check_likely(row["cpu_ns"] <= most, "in an interval", f"{row['name']}: {row['cpu_ns']} ns of {most}")
        cum = [step["cum_cpu_ns"] for step in interval["hot_path"]["steps"]]
        test.check(cum == sorted(cum, reverse=True), f"a hot path widens: {cum}")


def least_number(value):
    if isinstance(value, dict):
        return min(map(least_number, value.values()), default=0)
    if isinstance(value, list):
        return min(map(least_number, value), default=0)
    return value if isinstance(value, int) else 0


if __name__ == "__main__":
    harness.main(top)
