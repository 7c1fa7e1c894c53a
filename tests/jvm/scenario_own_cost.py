"""What the profiler itself costs: each part is there when its cause is, and not when it is not; the parts add up,
stay below what the kernel counted for the process, grow while profiling is on and stand still while it is off."""

import json

import harness
from running import running

PARTS = ("hooks_ns", "samples_ns", "threads_ns", "classes_ns", "jvm_ns", "waits_ns")
CASES = [  # options of the agent; parts that must not be there; parts that must
    ({"events": "none"}, {"hooks_ns", "samples_ns", "classes_ns", "jvm_ns"}, {"threads_ns"}),
    ({"events": "instrument", "include": "Attached.*"}, {"samples_ns"}, {"hooks_ns", "threads_ns", "classes_ns"}),
    ({"events": "none", "sample": "cpu", "interval": "1ms"}, {"hooks_ns", "classes_ns"}, {"samples_ns", "threads_ns"}),
]


def own_cost(test):
    for options, absent, present in CASES:
        test.ledger.unlink(missing_ok=True)
        with running(test, "Attached", agent=test.agent_option(**options)) as program:
            told = test.wait_until(lambda: cost_with(program, present), f"{options}: not all of {present}")
            program.ask("rounds 2000")
            program.done("stop")
            stopped = cost_of(json.loads(program.done("status", "--json")))
            program.ask("rounds 2000")
            later = cost_of(json.loads(program.done("status", "--json")))
            program.end()
        check(test, options, absent, present, cost_of(test.report("threads")))
        test.check(all(stopped[part] >= told[part] for part in PARTS), f"{options}: {told} became {stopped}")
        test.check(later == stopped, f"{options}: {stopped} became {later} while profiling was stopped")


def cost_with(program, present):
    """The cost after some work, or None if a part is not there: samples begin when the profiler's thread has made its
    tables, for which it waits on a busy machine."""
    program.ask("rounds 5000")
    cost = cost_of(json.loads(program.done("status", "--json")))
    return cost if all(cost[part] for part in present) else None


def cost_of(report):
    return {part: report["budget"][part] for part in PARTS}


def check(test, options, absent, present, cost):
    threads = test.report("threads")
    profiler = threads["balance"]["profiler"]
    if test.major >= 21:
        absent = absent - {"classes_ns"}  # the JDK's class of virtual threads has hooks of its own in every mode
    test.check({part for part in PARTS if cost[part]} & absent == set(), f"{options}: {cost}")
    test.check({part for part in PARTS if cost[part]} >= present, f"{options}: {cost}")
    test.check(profiler["cpu_ns"] == sum(cost.values()) <= threads["balance"]["kernel_cpu_ns"],
               f"{options}: {profiler}, parts {cost}, process {threads['balance']['kernel_cpu_ns']}")
    test.check(threads["budget"]["used_ppm"] == profiler["cpu_ns"] * 10**6 // threads["process"]["cpu_ns"],
               f"{options}: {threads['budget']}, {threads['process']}")
    own = [row["cpu_ns"] for row in threads["threads"] if row["name"] == "treadle"]
    test.check(own == [cost["threads_ns"]], f"{options}: the profiler's thread used {own}, its part is {cost}")
    # No call is cheaper than in the loop that the agent measured, some nanoseconds at the least.
    test.check(cost["hooks_ns"] >= profiler["calls"], f"{options}: {profiler}")
    text = test.text_report(test.ledger).out
    test.check("of which the profiler's own" in text, text)


if __name__ == "__main__":
    harness.main(own_cost)
