"""Logical frames that a Java program pushes: their counts are the program's own, their places in the trees those worked
out by hand, their CPU time that of the program's clock; in both event modes and with samples alone, with the agent
from the start and attached, stopped and started; and without an agent."""

import re
from collections import Counter

import harness
import sampled
from logical_trees import below, name_of, pushes, trees
from running import running

EVENTS = ("jvmti", "instrument")

PARTS = ("outer", "exceptions", "forgetful", "disorder", "recurse", "strangers", "registered", "futures", "virtuals",
         "handles", "parameters", "cut")
DIFFERENT_PARAMETERS = 1000  # in one process; the rest are (other)
INCLUDE = "Activities.*"

# By thread; see logical_trees.lines.
TREES = {
    "outer": """
1 outer
  1 leaf
  1 ~A
    1 inner
      1 ~B (p)
        3 leaf
    1 leaf""",
    "exceptions": """
1 exceptions
  5 leaf
  5 ~risky
    5 thrower""",
    "handles": """
1 handles
  4 ~handled
    4 leaf
    4 thrower
    4 ~within
      4 thrower""",
    "forgetful": """
1 forgetful
  3 forgets
    3 ~forgotten
      3 leaf
  3 leaf""",
    "disorder": """
1 disorder
  4 leaf
  4 ~first
    4 ~second (2)
      4 leaf""",
    "recurse": """
1 recurse
  1 ~deep
    1 recurse
      1 ~deep
        1 recurse
          1 ~deep
            1 recurse
              1 ~deep""",
    "strangers": """
1 strangers
  1 ~shared
    2 leaf
    1 ~twice""",
    "cut": f"""
1 cut
  1 ~{'x' * 118}…""",
    "pool": """
3 ~request (7)
  3 ~inside
    2 answer
      2 leaf
    1 leaf""",
}
UNMATCHED = 8  # of the thread `disorder`
SHOWN = {"outer", "inner", "leaf", "exceptions", "thrower", "handles", "forgetful", "forgets", "disorder", "recurse", "strangers",
         "answer", "cut"}
SHARE_TOLERANCE = 0.01


def activity(test):
    from_the_start(test, test.events)
    sampled.check_unless_chance(test, lambda _: burns(test))
    if test.events == "instrument":
        from_the_start(test, "none")
        attached(test)
        without_agent(test)


def from_the_start(test, events):
    agent = test.agent_option(include=INCLUDE, sample="none", events=events)
    with running(test, "Activities", agent=agent) as program:
        for part in PARTS:
            program.ask(part)
        told = counts_of(program.ask("tell"))
        ended = program.end()
    test.check(ended.status == 0, f"{ended}")
    views = test.checked_report(dropped=True)
    balance = views["threads"]["balance"]
    test.check(balance["dropped_events"] == 0, f"dropped: {balance}")
    check_unmatched(test, events, balance["resynchronised"])
    tree = views["tree"]
    found = pushes(tree)
    check_parameters(test, found, told.pop("many"))
    test.check(found == told, f"{events}: pushes {found}, told {told}")
    shown = trees(tree, TREES, SHOWN)
    for name, wanted in TREES.items() if events != "none" else ():
        test.check(shown.get(name) == wanted, f"{name}: {shown.get(name)}\nnot {wanted}")
    check_virtuals(test, tree, events)
    check_view(test, told)
    test.ledger.unlink()


def counts_of(text):
    return Counter({name: int(times) for name, times in re.findall(r"(\w+…?(?: \(\w+\))?)=(\d+)", text)})


def check_unmatched(test, events, count):
    """Events that name methods count the frames that `forgetful` leaves, too."""
    expected = {"instrument": UNMATCHED, "jvmti": UNMATCHED + 3}.get(events)
    test.check(expected is None or count == expected, f"{events}: {count} unmatched exits, not {expected}")


def check_parameters(test, found, told):
    many = {name: found.pop(name) for name in list(found) if name.startswith("many")}
    other = many.pop("many ((other))", 0)
    test.check(sum(many.values()) + other == told, f"{sum(many.values())} pushes and {other} others, told {told}")
    test.check(set(many.values()) == {1} and len(many) <= DIFFERENT_PARAMETERS,
               f"{len(many)} different parameters")
    activity_view = test.report("activity")
    test.check(activity_view["stack_losses"]["other_parameters"] == other > 0, f"{other} others: {activity_view['stack_losses']}")


def check_virtuals(test, tree, events):
    """60 threads, each five calls, all of them below the logical frame."""
    leaves = 0
    for row in tree["threads"]:
        for node, above in below(row["root"]):
            if any(name_of(frame).startswith("virtual (") for frame in above) and node["method"] == "leaf":
                leaves += node["calls"]
            elif node["method"] == "leaf" and any(frame["method"] == "hop" for frame in above):
                test.check(False, f"{row['name']}: a call of hop is not below its logical frame")
    test.check(events == "none" or leaves == 300, f"{leaves} calls below the frames of virtual threads, not 300")


def check_view(test, told):
    """The view sums up what the tree has, for all threads and for each."""
    view = test.report("activity")
    for part in (view["activity"], [node for thread in view["threads"] for node in thread["activity"]]):
        found = Counter()
        for node, _ in below({"children": part}):
            test.check(node["kind"] == "logical", f"{node['kind']} in the view")
            found[name_of(node)] += node["calls"]
        found = Counter({name: calls for name, calls in found.items() if not name.startswith("many")})
        test.check(found == told, f"the view has {found}, not {told}")


def burns(test):
    agent = test.agent_option(include=INCLUDE, sample="none")
    with running(test, "Activities", agent=agent) as program:
        light, heavy, whole = map(int, program.ask("burns").split()[1:])
        program.end()
    view = test.report("activity")
    thread = next(row for row in view["threads"] if row["name"] == "burns")
    cpu_ns = {node["parameter"]: node["cum"]["cpu_ns"] for node in thread["activity"]}
    for name, told in (("light", light), ("heavy", heavy)):
        off = abs(cpu_ns.get(name, 0) - told) / whole
        test.check_likely(off <= SHARE_TOLERANCE, name, f"{name}: {cpu_ns} of {whole} ns, told {told}")
    test.ledger.unlink()


def attached(test):
    """To a class that is in use already. What is pushed before the attach or while profiling is stopped is in no
    number, nor is its pop."""
    with running(test, "Activities") as program:
        for part in ("outer", "registered", "opened"):
            program.ask(part)
        program.ask("tell")
        program.attach("--include", INCLUDE, sample="none")
        program.ask("closed")
        for part in ("outer", "registered", "futures"):
            program.ask(part)
        told = counts_of(program.ask("tell"))
        program.ask("opened")
        told["opened"] += 1
        program.done("stop")
        for part in ("outer", "registered"):
            program.ask(part)
        program.ask("tell")
        program.done("start")
        program.ask("closed")
        program.ask("outer")
        told += counts_of(program.ask("tell"))
        ended = program.end()
    test.check(ended.status == 0, f"{ended}")
    views = test.checked_report(dropped=True)
    found = pushes(views["tree"])
    test.check(found == told, f"attached: pushes {found}, told {told}")
    test.check(views["threads"]["balance"]["resynchronised"] == 0, "a frame of another epoch was popped")
    test.ledger.unlink()


def without_agent(test):
    with running(test, "Activities") as program:
        answers = [program.ask(part) for part in PARTS]
        ended = program.end()
    test.check(answers == list(PARTS) and ended.status == 0, f"without an agent: {ended}")


if __name__ == "__main__":
    harness.main(activity)
