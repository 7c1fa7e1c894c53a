"""latency=: each call of the named methods is counted, and its elapsed and its CPU time are those that the program
itself measures: no less than from the method's first to its last statement, no more than around the call. Sorted, the
former are a lower bound of each percentile, the latter an upper one, whatever the machine does meanwhile. Exceptions,
recursion, several threads, virtual ones, and a call that stands while profiling is stopped and started."""

import harness
from running import running

EVENTS = ("jvmti", "instrument")

METHODS = ("nap", "burn", "thrower", "unwound", "recursive")
QUICK_CALLS = 300_000
PERCENTILES = {"p50_ns": 500_000, "p90_ns": 900_000, "p99_ns": 990_000, "p999_ns": 999_000}
ERROR_NS = 8
CLOCKS_NS = 1_000  # by which two clocks may differ over the length of a call
# The kernel's CPU clock and the cycle counter divide interrupts differently.
CPU_CLOCKS_NS = 300_000


def latency(test):
    names = ";".join(f"Latencies.{name}" for name in (*METHODS, "quick", "held"))
    kinds = ("platform", "virtual") if test.major >= 21 else ("platform",)
    for kind in kinds:
        calls(test, kind, names)
        held(test, kind, names)
    budget(test)


def rows(test, program):
    program.done("dump", "-o", test.ledger)
    found = {row["method"]: row for row in test.report("latency")["methods"]}
    losses = test.report("latency").get("losses", [])
    test.ledger.unlink()
    test.check(not [loss for loss in losses if loss["what"] == "unmeasured_calls"], f"{losses}")
    return found


def measured(program):
    """{(method, clock): [(inside, around)]}, by the program's own clocks."""
    program.tell("times")
    times = {}
    while (line := program.answer("times")) != "end":
        method, clock, *ns = line.split()
        times.setdefault((method, clock), []).append(tuple(map(int, ns)))
    return times


def calls(test, kind, names):
    agent = test.agent_option(latency=names, sample="none", recursion=1)
    with running(test, "Latencies", kind, agent=agent) as program:
        program.ask("calls")
        found = rows(test, program)
        times = measured(program)
        program.end()
    test.check(found["quick"]["count"] == QUICK_CALLS, f"quick: {found['quick']['count']} calls")
    for method in METHODS:
        check_times(test, f"{kind} {method}", found[method], times[method, "elapsed"], CLOCKS_NS)
    check_times(test, f"{kind} burn, CPU", found["burn"]["cpu"] | {"count": found["burn"]["count"]},
                times["burn", "cpu"], CPU_CLOCKS_NS)
    for method in METHODS:
        row = found[method]
        test.check(row["calls"] == row["count"], f"{kind} {method}: {row['calls']} in the tree, {row['count']} here")
        test.check(sum(calls for _, _, calls in row["histogram"]) == row["count"], f"{kind} {method}: {row}")


def check_times(test, what, row, times, clocks_ns):
    test.check(row["count"] == len(times), f"{what}: {row['count']} calls, not {len(times)}")
    least = sorted(inside for inside, _ in times)
    most = sorted(around for _, around in times)
    for key, ppm in PERCENTILES.items():
        rank = max(-(-len(times) * ppm // 1_000_000), 1) - 1
        check_between(test, f"{what}, {key}", row[key], least[rank], most[rank], clocks_ns, 32)
    check_between(test, f"{what}, longest", row["max_ns"], least[-1], most[-1], clocks_ns, 0)
    check_between(test, f"{what}, mean", row["mean_ns"], sum(least) // len(times), sum(most) // len(times), clocks_ns, 0)


def check_between(test, what, ns, least_ns, most_ns, clocks_ns, part):
    """A percentile may be off by one part in so many."""
    off_ns = clocks_ns + ERROR_NS
    least_ns -= (least_ns // part if part else 0) + off_ns
    most_ns += (most_ns // part if part else 0) + off_ns
    test.check(least_ns <= ns <= most_ns, f"{what}: {ns} ns, and the program measured {least_ns} to {most_ns}")


def held(test, kind, names):
    """A call that stands while profiling is stopped and started is not counted, those before and after it are."""
    agent = test.agent_option(latency=names, sample="none")
    with running(test, "Latencies", kind, agent=agent) as program:
        program.ask("nap 10")
        program.ask("hold")
        program.done("stop")
        program.ask("nap 7")
        program.done("start")
        program.ask("let")
        program.ask("nap 5")
        found = rows(test, program)
        test.check("held" not in found, f"{kind}: a call that profiling did not see to its end: {found.get('held')}")
        test.check(found["nap"]["count"] == 15, f"{kind}: {found['nap']['count']} naps, not 15")
        program.ask("hold")
        program.ask("let")
        found = rows(test, program)
        test.check(found["held"]["count"] == 1, f"{kind}: {found['held']['count']} calls of held, not 1")
        program.end()


def budget(test):
    """The default budget, no include=: trivial, and of the JDK, and yet measured; what is rarely called always is."""
    if test.events != "instrument":
        return
    agent = test.agent_option(latency="Latencies.nap;java.util.concurrent.locks.LockSupport.parkNanos", overhead="2%",
                              sample=None, recursion=None)
    with running(test, "Latencies", agent=agent) as program:
        program.ask("nap 40")
        found = rows(test, program)
        program.end()
    test.check(found["nap"]["count"] == 40 and "hooked" not in found["nap"], f"{found['nap']}")
    test.check(found["parkNanos"]["count"] >= 40, f"{found['parkNanos']}")


if __name__ == "__main__":
    harness.main(latency)
