"""A program that counts its own calls, within a budget of 2 %. What the report says without a mark is true to the call,
in every thread, with exceptions, recursion and virtual threads, with methods that fall silent meanwhile, and around a
time without profiling; what it calls so many at least is that at least, and never more. The books balance. A method
that include= names keeps its hooks; with a plan hot methods have none from the beginning, and samples say what they
used."""

import json
from collections import Counter

import harness
import sampled
from running import running

CLASS = "Budget$Worker"
KINDS = "Budget$Kinds"  # loaded, and not called
ROUNDS = 20_000
FEW_ROUNDS = 1000  # where every call is recorded
LEAST_CALLS = 48  # of a method before it can fall silent: agent/methods/hook_quota.h
NAMED = "hotThrower"  # some ten thousand calls a second, each with an exception or ten thousand calls below
RARE = {"rare", "thrower", "recursion", "middle", "run"}  # fewer calls in all than a method is judged by
LIMITED = {"silenced", "muted", "again"}  # for good, for now, or for a time
HOT = {"hot", "warm", "hotRecursion"}  # tens of thousands at least


def budget(test):
    first(test)
    named(test)
    sampled.check_unless_chance(test, lambda _: planned(test))
    planned_by_calls(test)
    planned_by_a_part(test)


def first(test):
    """Two times of work, with one between them in which profiling is stopped."""
    with running(test, "Budget", agent=within_budget(test)) as program:
        counts = work(program)
        program.done("stop")
        work(program)
        stopped = counted(program)
        program.done("start")
        counts = counts + work(program) - stopped
        check_status(test, json.loads(program.done("status", "--json")))
        program.end()
    hooks = check(test, "first", counts)
    check_kinds(test, "first", get="trivial", never="never_called")
    test.check(all(hooks[name] == "always" for name in RARE), f"first: rare methods do not have their hooks always: {hooks}")
    test.check(all(hooks[name] in LIMITED for name in HOT), f"first: hot methods were not silenced: {hooks}")


def named(test):
    """A method that is silenced in the first run keeps its hooks where it is named, as long as it costs no more than
    the budget. The others are silenced as before."""
    keep_ledger(test, "first.ledger")
    option = within_budget(test, include=f"*Budget*;{CLASS}.{NAMED}", exclude=f"{KINDS}.never")
    with running(test, "Budget", agent=option) as program:
        counts = work(program)
        program.end()
    hooks = check(test, "named", counts)
    check_kinds(test, "named", get="never_called", never="excluded")
    test.check([name for name, row in explained(test).items() if row["named"]] == [NAMED], f"named: {explained(test)}")
    test.check(hooks[NAMED] == "always" and {hooks["hot"], hooks["hotRecursion"]} <= LIMITED, f"named: {hooks}")


def planned(test):
    test.ledger.unlink(missing_ok=True)
    plan = test.scratch / "first.ledger"
    with running(test, "Budget", agent=within_budget(test, plan=plan)) as program:
        for _ in range(3):
            counts = work(program)
        program.end()
    hooks = check(test, "planned", counts)
    test.check(all(hooks[name] == "planned" for name in HOT), f"planned: {hooks}")
    rows = explained(test)
    for name in HOT:
        test.check(rows[name]["calls"] == 0 and rows[name]["exact_cpu_ns"] == 0, f"planned: {rows[name]}")
    # Nearly all of the workers' CPU is that of warm with hot below it, which compilers put into it.
    cpu = sum(row["cpu_ns"] for row in test.report("threads")["threads"] if is_worker(row))
    test.check_likely(rows["warm"]["sampled_cpu_ns"] > cpu // 3, "warm", f"planned: of {cpu} ns warm has {rows['warm']}")
    status = test.report("threads")["budget"]
    test.check(status["planned_methods"] >= len(HOT), f"planned: {status}")


def planned_by_calls(test):
    """With a plan from a run that recorded every call, each method has its hooks from the beginning to the end or not
    at all; with a plan from that second run, too. The budget has room for the rare methods of a short program, and
    not for the hottest."""
    with running(test, "Budget", agent=test.agent_option(events="instrument", overhead="any")) as program:
        work(program, FEW_ROUNDS)
        program.end()
    keep_ledger(test, "every_call.ledger")
    for what, plan in (("every call", "every_call.ledger"), ("planned again", "by_calls.ledger")):
        option = test.agent_option(events="instrument", overhead="50%", plan=test.scratch / plan)
        with running(test, "Budget", agent=option) as program:
            counts = work(program, FEW_ROUNDS)
            program.end()
        hooks = check(test, what, counts)
        test.check(hooks["hot"] == "planned" and set(hooks.values()) <= {"always", "planned"}, f"{what}: {hooks}")
        test.check(all(hooks[name] == "always" for name in RARE), f"{what}: {hooks}")
        keep_ledger(test, "by_calls.ledger")


def planned_by_a_part(test):
    """Of a ledger whose end is cut off the rest is the plan, and the JVM's standard error says so."""
    whole = (test.scratch / "every_call.ledger").read_bytes()
    cut = test.scratch / "cut.ledger"
    cut.write_bytes(whole[:len(whole) // 2])
    option = test.agent_option(events="instrument", overhead="50%", plan=cut, log="warn")
    done = test.java("Diver", 1, agent=option)
    lines = [line for line in done.err.splitlines() if "plan=" in line]
    test.check(len(lines) == 1 and f"{cut}: byte " in lines[0] and lines[0].endswith("is what is left of that ledger"),
               f"a part of a plan: {done}")
    test.close_balance(test.checked_report())


def within_budget(test, **options):
    return test.agent_option(events="instrument", overhead="2%", **options)


def keep_ledger(test, name):
    test.ledger.rename(test.scratch / name)


def work(program, rounds=ROUNDS):
    """What was counted up to its end."""
    program.ask(f"rounds {rounds}")
    return counted(program)


def counted(program):
    pairs = (word.split("=") for word in program.ask("counts").split())
    return Counter({tuple(name.split("/")): int(calls) for name, calls in pairs})


def is_worker(thread):
    return thread["name"].startswith(("platform-", "virtual-"))


def check_kinds(test, what, **expected):
    hooks = {name: row["hook"] for name, row in explained(test, KINDS).items()}
    expected |= {"<init>": "never_called", "read0": "native", "todo": "abstract"}
    test.check(hooks == expected, f"{what}: {KINDS} has {hooks}, expected {expected}")


def explained(test, owner=CLASS):
    done = test.text_report(test.ledger, "--explain", f"{owner}.*", "--json")
    test.check(done.status == 0 and not done.err, f"report --explain: {done}")
    return {row["method"]: row for row in json.loads(done.out)["methods"]}


def recorded(views):
    """Calls by thread and method, as the trees have them."""
    calls = Counter()
    for thread in views["tree"]["threads"]:
        for node, (owner, method, _), _ in harness.nodes_of(thread["root"]):
            if is_worker(thread) and owner == CLASS and node["kind"] == "exact":
                calls[thread["name"], method] += node["calls"]
    return calls


def check(test, what, counts):
    """Calls against those that the program counted; what kind of hook each method has."""
    views = test.checked_report()
    test.close_balance(views)
    rows = explained(test)
    calls = recorded(views)
    partial = {row["method"] for row in views["flat"]["methods"] if row["class"] == CLASS and "hooked" in row}
    test.check(calls.keys() <= counts.keys() | {(thread, "<init>") for thread, _ in counts},
               f"{what}: calls of nobody: {calls.keys() - counts.keys()}")
    for (thread, method), true in counts.items():
        said = calls[thread, method]
        if method in partial or rows[method]["hook"] == "planned":
            test.check(said <= true, f"{what}: {thread} {method}: at least {said} calls, {true} there were")
        else:
            test.check(said == true, f"{what}: {thread} {method}: {said} calls, {true} there were")
    for method in {method for _, method in counts}:
        check_method(test, what, rows[method], sum(n for (_, its), n in counts.items() if its == method))
    at_least = {row["name"] for row in views["threads"]["threads"] if row.get("calls_at_least")}
    expected = {thread for (thread, method), said in calls.items() if said and method in partial}
    test.check({name for name in at_least if is_worker({"name": name})} == expected,
               f"{what}: threads with calls at least: {at_least}, expected {expected}")
    return {name: row["hook"] for name, row in rows.items()}


def check_method(test, what, row, true):
    partial = row["hook"] in ("silenced", "muted", "again")
    test.check(("hooked" in row) == (partial or row["hook"] == "planned"), f"{what}: {row}")
    if row["hook"] == "always":
        test.check(row["calls"] == true, f"{what}: {row}, of {true} calls")
    if partial:
        least = max(LEAST_CALLS, row["silenced"]["calls"])
        test.check(least <= row["calls"] <= true, f"{what}: {row}, of {true} calls")
        hooked = row["hooked"]
        test.check(0 <= hooked["share_ppm"] < 10**6, f"{what}: {row}")
        test.check(row["hook"] == "again" or hooked["from_ns"] < hooked["until_ns"], f"{what}: {row}")


def check_status(test, status):
    budget = status["budget"]
    test.check(budget["asked_ppm"] == 20_000 and budget["silent_methods"] >= len(HOT), f"status: {budget}")
    test.check(len(status["resolution"]) == 5, f"status: {status}")


if __name__ == "__main__":
    harness.main(budget)
