"""Interfaces are not changed while classes that implement them may be on their way, or the JVM crashes: an interface's
hooks stay, and are heard only while profiling runs and the filter admits them; one that was loaded before has none, and
the report says so."""

import harness
from running import running

ROUNDS = 12
ATTACHED_ROUNDS = 4
METHODS = ("twice", "thrice", "plain")


def interfaces(test):
    from_the_start(test)
    attached(test)


def from_the_start(test):
    """Exact calls of what was profiled, whatever the filter was meanwhile, and nothing else."""
    agent = test.agent_option(events="instrument", include="KeptInterfaces*")
    expected = 1  # the program's own, before it is led
    with running(test, "KeptInterfaces", agent=agent) as program:
        for number in range(ROUNDS):
            expected += count(test, program, 10 + number)
            program.done("stop")
            count(test, program, 1000)
            program.done("start", "--include", "no.such.*")
            count(test, program, 1000)
            program.done("stop")
            program.done("start", "--include", "KeptInterfaces*")
        ended = check_loads(test, program)
    test.check(ended.status == 0, f"{ended}")
    views = test.checked_report(views=("threads", "flat", "callers"))
    have = calls_by_method(views)
    test.check(have == {"twice": expected, "thrice": expected, "plain": 2 * expected},
               f"calls: {have}, not {expected}, and twice that of plain")
    hooks = views["threads"]["hooks"]
    test.check(hooks["left_alone"]["interface"] == 0, f"an interface was left alone: {hooks}")


def attached(test):
    """The interface was loaded before: its methods have no hooks, those of the classes have."""
    test.ledger.unlink(missing_ok=True)
    with running(test, "KeptInterfaces") as program:
        program.attach("--include", "KeptInterfaces*;java.*")
        for _ in range(ATTACHED_ROUNDS):
            count(test, program, 10)
            program.done("stop")
            program.done("start")
        explained = program.treadle("report", "--explain", "KeptInterfaces$Counting.twice")
        ended = check_loads(test, program)
    test.check(ended.status == 0, f"{ended}")
    views = test.checked_report(views=("threads", "flat", "callers"))
    have = calls_by_method(views)
    test.check(have == {"plain": ATTACHED_ROUNDS * 20}, f"calls of the class's method alone: {have}")
    left_alone = views["threads"]["hooks"]["left_alone"]["interface"]
    test.check(left_alone >= 1, "no interface was left alone")
    test.check("interfaces that are loaded are not changed" in explained.out, f"{explained}")


def count(test, program, times):
    answer = program.ask(f"count {times}")
    wanted = sum(2 * i + 3 - (3 * i + i % 2) for i in range(times))
    test.check(answer == f"counted {wanted}", f"wrong: {answer}, not {wanted}")
    return times


def check_loads(test, program):
    """Classes were defined all the time, and nothing else went wrong."""
    loaded = int(program.ask("loaded").split()[1])
    print(f"{loaded} classes were loaded")
    test.check(loaded > 100, f"only {loaded} classes were loaded")
    return program.end()


def calls_by_method(views):
    return {m["method"]: m["calls"] for m in views["flat"]["methods"]
            if m["class"].startswith("KeptInterfaces$Count") and m["method"] in METHODS}


if __name__ == "__main__":
    harness.main(interfaces)
