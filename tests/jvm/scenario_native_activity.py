"""Logical frames that a native library in a JVM pushes with treadle.h: nodes among the Java methods that called the
library and that it calls, and parts of chains. Their places and counts were worked out by hand; in both event modes and with samples alone,
with the agent from the start and attached, stopped and started; and without an agent."""
import json
import subprocess
import sys
from pathlib import Path

import harness
from logical_trees import below, name_of, pushes, trees
from running import running

EVENTS = ("jvmti", "instrument")

INCLUDE = "NativeActivities.*"
STACK_MAX = 64  # frames of a thread
RAISED = 2  # pushes of the handler that the attached thread runs first
DEEP = 70
STEPS = 300_000
RESTLESS_PUSHES = 300_000
PARTS = ("nests", "between", "forgetful", "risks", "carelessly", "jumping", "sinking", "attaching", "deepening", "stormy")
SHOWN = {"nests", "hiding", "leaf", "between3", "middle", "forgetful", "forgets", "risks", "thrower", "carelessly", "jumping", "sinking", "sinks", "over", "stormy", "steps",
         "step"}
TREES = {
    "nests": """
1 nests
  1 leaf
  5 ~A
    5 leaf
    5 ~B (2)
      10 leaf""",
    "between": """
1 between3
  1 leaf
  3 ~upper (table)
    3 middle
      3 leaf
      3 ~lower
        3 leaf""",
    "forgetful": """
1 forgetful
  3 forgets
    3 ~forgotten
      3 leaf
  3 leaf""",
    "risks": """
1 risks
  4 leaf
  4 ~risky
    4 thrower""",
    "carelessly": """
1 carelessly
  2 leaf
  2 ~outer
    4 ~lost
      4 leaf
    2 ~next
      2 leaf""",
    "jumping": """
1 jumping
  2 leaf
  2 ~after
    2 leaf
  2 ~stays
    2 ~left
      2 leaf""",
    "sinking": """
1 sinking
  1 over
    1 leaf
    1 over
      1 leaf
      1 over
        1 leaf
        1 ~A
          1 leaf
          1 ~B (2)
            2 leaf
  1 sinks
    1 ~sunk""",
    "stormy": f"""
1 stormy
  1 ~storm
    1 steps
      {STEPS} step
        {STEPS} leaf""",
}
# With recursion=1.
HIDING = """
1 hiding
  1 leaf
  2 ~W
    1 ~V
    1 ~X
      1 leaf"""
# Where native methods are nodes, too, their return ends what they forget.
FORGETFUL_NAMED = """
1 forgetful
  3 forgets
    3 leaf
    3 ~forgotten
  3 leaf"""
PUSHES = {"A": 6, "B (2)": 6, "sunk": 1, "upper (table)": 3, "lower": 3, "forgotten": 3, "risky": 4, "stays": 2, "left": 2, "after": 2, "outer": 2, "lost": 4, "next": 2,
          "attached": 1, "deep": STACK_MAX, "storm": 1}


def native_activity(test):
    from_the_start(test, test.events)
    chain(test, test.events)
    hidden(test, test.events)
    for part in ("restlessly", "apart"):
        restless(test, test.events, part)
    interrupting(test, test.events)
    sampled_below(test, test.events)
    if test.events == "instrument":
        from_the_start(test, "none")
        chain(test, "none")
        virtual_threads(test)
        stopped_in_the_middle(test)
        marked_before_a_stop(test)
        attached(test)
        without_agent(test)
        preloaded(test)
        preloaded_and_attached(test)


def from_the_start(test, events):
    agent = test.agent_option(include=INCLUDE, sample="none", events=events)
    with running(test, "NativeActivities", agent=agent) as program:
        answers = [program.ask(part) for part in PARTS]
        ended = program.end()
    test.check(ended.status == 0, f"{ended}")
    in_handlers = int(answers[-1].split()[1])
    test.check(in_handlers > 0, "no signal came while it stormed")
    views = test.checked_report(dropped=True)
    found = pushes(views["tree"])
    test.check(found == PUSHES, f"{events}: pushes {found}, not {PUSHES}")
    lost = test.report("activity")["stack_losses"]["lost_frames"]
    test.check(lost == DEEP - STACK_MAX + RAISED + in_handlers,
               f"{events}: {lost} frames lost, not {DEEP - STACK_MAX} and {RAISED + in_handlers} of handlers")
    shown = trees(views["tree"], TREES, SHOWN)
    wanted = dict(TREES, forgetful=FORGETFUL_NAMED) if events == "jvmti" else TREES
    for name, tree in wanted.items() if events != "none" else ():
        test.check(shown.get(name) == tree, f"{events}: {name}: {shown.get(name)}\nnot {tree}")
    test.ledger.unlink()


def chain(test, events):
    """Of the Java method and of the library's frames; a frame that is forgotten has a part without an end."""
    agent = test.agent_option(include=INCLUDE, sample="none", events=events)
    with running(test, "NativeActivities", agent=agent) as program:
        ids = program.ask("chaining").split()[1:]
        ended = program.end()
    test.check(ended.status == 0, f"{ended}")
    test.checked_report(dropped=True)
    found = {row["id"]: [(part["path"], part["end_seen"]) for part in row["parts"]]
             for row in test.report("chains")["chains"]}
    test.check(len(ids) == 2 and len(found) == 3 and set(ids) < set(found), f"{events}: ids {ids}, found {found}")
    wanted = {ids[0]: [(["java"], True)], ids[1]: [(["java", "served", "own"], True)]}
    lost = [parts for id_, parts in found.items() if id_ not in ids]
    test.check({id_: found.get(id_) for id_ in ids} == wanted, f"{events}: {found}")
    test.check(lost == [[(["java", "served", "own", "lost part"], False)]], f"{events}: {lost}")
    test.ledger.unlink()


def hidden(test, events):
    """Folded recursion hides a frame that its mark then ends."""
    agent = test.agent_option(include=INCLUDE, sample="none", events=events, recursion="1")
    with running(test, "NativeActivities", agent=agent) as program:
        program.ask("hiding")
        ended = program.end()
    test.check(ended.status == 0, f"{ended}")
    shown = trees(test.checked_report(dropped=True)["tree"], ("hiding",), SHOWN)
    test.check(shown["hiding"] == HIDING, f"{events}: hiding: {shown['hiding']}\nnot {HIDING}")
    test.ledger.unlink()


def restless(test, events, part):
    """Handlers with SA_NODEFER interrupt pushes and pops, and each other: their frames are recorded, or lost and
    counted, and all others are where they belong."""
    agent = test.agent_option(include=INCLUDE, sample="none", events=events)
    with running(test, "NativeActivities", agent=agent) as program:
        in_handlers = int(program.ask(part).split()[1])
        ended = program.end()
    test.check(ended.status == 0, f"{ended}")
    tree = test.checked_report(dropped=True)["tree"]
    found = pushes(tree)
    places = {(name_of(node), *(name_of(outer) for outer in above if outer["kind"] == "logical"))
              for row in tree["threads"] for node, above in below(row["root"])
              if node["kind"] == "logical" and node["identifier"] != "in handler"}
    test.check(places == {("busy",), ("frame", "busy"), ("afterwards",)}, f"{events}: {part}: {places}")
    lost = test.report("activity")["stack_losses"]["lost_frames"]
    test.check(found["frame"] == RESTLESS_PUSHES and found["in handler"] + lost == in_handlers,
               f"{events}: {part}: {found} and {lost} lost; {in_handlers} in handlers")
    test.check(lost > 0, f"{events}: no handler interrupted a push")
    test.ledger.unlink()


def interrupting(test, events):
    """Handlers with SA_NODEFER interrupt hooks of Java methods: what they push then is lost and counted, and the tree is
    whole."""
    agent = test.agent_option(include=INCLUDE, sample="none", events=events)
    with running(test, "NativeActivities", agent=agent) as program:
        in_handlers = int(program.ask("interrupting").split()[1])
        ended = program.end()
    test.check(ended.status == 0, f"{ended}")
    tree = test.checked_report(dropped=True)["tree"]
    found = pushes(tree)
    lost = test.report("activity")["stack_losses"]["lost_frames"]
    test.check(found["interrupted"] == 1 and found["in handler"] + lost == in_handlers,
               f"{events}: {found} and {lost} lost; {in_handlers} in handlers")
    test.check(lost > 0, f"{events}: no handler interrupted a hook")
    calls = {}
    for row in tree["threads"]:
        for node, above in below(row["root"]):
            if node["kind"] == "exact" and node["method"] in ("odd", "even"):
                logical = tuple(name_of(outer) for outer in above if outer["kind"] == "logical")
                place = (node["method"], above[-1]["method"], logical)
                calls[place] = calls.get(place, 0) + node["calls"]
    test.check(calls == {(name, "turns", ("interrupted",)): STEPS for name in ("odd", "even")}, f"{events}: {calls}")
    test.ledger.unlink()


def sampled_below(test, events):
    """Samples below a native frame begin with what the pusher called: a native function, and a Java method without
    hooks."""
    agent = test.agent_option(include="NativeActivities.spinning", sample="cpu", interval="5ms", events=events)
    before = test.scratch / "before.ledger"
    with running(test, "NativeActivities", agent=agent) as program:
        test.wait_until(lambda: has_samples(test, program, before), "no samples are taken")
        program.ask("spinning")
        ended = program.end()
    test.check(ended.status == 0, f"{ended}")
    told = test.text_report(test.ledger, "--since", before, "--view", "tree", "--json")
    nodes = {name_of(node): node for row in json.loads(told.out)["threads"] for node, _ in below(row["root"])
             if node["kind"] == "logical"}
    for frame, function in (("sampled", "spin_inside"), ("calling", "spins")):
        inner = [node for node, _ in below(nodes[frame])]
        names = {node["method"] for node in inner}
        test.check(function in names, f"{events}: {frame}: {names}")
        test.check(not names & {"push_and_spin", "Java_NativeActivities_spin", "spin", "spinning"}, f"{events}: {frame}: {names}")
        own = sum(node["cum"]["cpu_ns"] for node in nodes[frame]["children"] if node["method"] == function)
        whole = nodes[frame]["cum"]["cpu_ns"] - (nodes["calling"]["cum"]["cpu_ns"] if frame == "sampled" else 0)
        if function == "spin_inside":
            test.check(own > 0.7 * whole, f"{events}: {frame}: {own} of {whole} ns")
    before.unlink()
    test.ledger.unlink()


def has_samples(test, program, ledger):
    """They begin when the profiler's thread has made its tables."""
    program.ask("spinning")
    ledger.unlink(missing_ok=True)
    program.done("dump", "-o", ledger)
    return test.report("threads", ledger)["balance"]["samples"]["taken"]


def virtual_threads(test):
    """A native frame keeps a virtual thread on its carrier; between two of them the thread moves."""
    if test.major < 21:
        return
    agent = test.agent_option(include=INCLUDE, sample="none")
    with running(test, "NativeActivities", agent=agent) as program:
        program.ask("virtual")
        ended = program.end()
    test.check(ended.status == 0, f"{ended}")
    views = test.checked_report(dropped=True)
    found = pushes(views["tree"])
    test.check(found == {"A": 40, "B (2)": 40}, f"virtual threads: pushes {found}")
    test.check(views["threads"]["balance"]["resynchronised"] == 0, "a virtual thread's frame was popped elsewhere")
    test.ledger.unlink()


def stopped_in_the_middle(test):
    """A frame that is open at a stop is none of the next epoch; its pop does nothing there."""
    agent = test.agent_option(include=INCLUDE, sample="none")
    with running(test, "NativeActivities", agent=agent) as program:
        program.ask("held")
        program.done("stop")
        program.ask("nests")
        program.done("start")
        program.ask("go")
        program.ask("between")
        ended = program.end()
    test.check(ended.status == 0, f"{ended}")
    views = test.checked_report(dropped=True)
    found = pushes(views["tree"])
    test.check(found == {"held": 1, "upper (table)": 3, "lower": 3}, f"stopped: pushes {found}")
    shown = trees(views["tree"], ("between",), SHOWN)
    test.check(shown["between"] == TREES["between"], f"stopped: {shown}")
    test.check(views["threads"]["balance"]["resynchronised"] == 0, "a frame of another epoch was popped")
    test.ledger.unlink()


def marked_before_a_stop(test):
    """A mark still ends its frames in the segment, for a sampler that watches: while profiling is stopped, and in the
    next epoch, whose tree has no such frames."""
    for then in ((), ("start",)):
        agent = test.agent_option(include=INCLUDE, sample="none")
        with running(test, "NativeActivities", agent=agent) as program:
            program.ask("nests")  # makes the segment
            sampling = subprocess.Popen([str(test.treadle), "sample", str(program.pid), "--every", "5ms", "-o", "sampled"],
                                        cwd=test.scratch, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            test.wait_until(lambda pid=program.pid: is_watched(pid), "nobody watches")
            program.ask("marking")
            program.done("stop")
            for command in then:
                program.done(command)
            told = program.ask("go").split()[1]
            program.ask("between")
            ended = program.end()
            sampling.wait(timeout=60)
        test.check(ended.status == 0, f"{ended}")
        test.check(told == "20", f"stop {then}: {told}, not 2 open frames before the mark's end and none afterwards")
        found = pushes(test.checked_report(dropped=True)["tree"])
        wanted = {"upper (table)": 3, "lower": 3, "marked": 1, "marked too": 1, "A": 5, "B (2)": 5}
        if not then:
            del wanted["upper (table)"], wanted["lower"]
        test.check(found == wanted, f"stop {then}: pushes {found}, not {wanted}")
        test.ledger.unlink()


def is_watched(pid):
    """The word `watch` in the segment's head says that somebody samples."""
    found = list(Path("/dev/shm").glob(f"treadle-{pid}-*.activity"))
    return found and int.from_bytes(found[0].read_bytes()[128:132], sys.byteorder)


def attached(test):
    """The library is older than the agent: its frames are not heard, and nothing is disturbed."""
    with running(test, "NativeActivities") as program:
        program.ask("nests")
        program.attach("--include", INCLUDE, sample="none")
        for part in PARTS:
            program.ask(part)
        ended = program.end()
    test.check(ended.status == 0, f"{ended}")
    found = pushes(test.checked_report(dropped=True)["tree"])
    test.check(not found, f"attached: pushes {found}")
    test.ledger.unlink()


def preload(test):
    """As programs have it that a shell starts which `treadle run --native` started."""
    library = test.agent.parent.parent / "native" / "libtreadle-native.so"
    return ("env", f"LD_PRELOAD={library}", f"TREADLE_NATIVE=overhead=any,live-dir={test.scratch}")


def preloaded(test):
    """The library that is preloaded stands before the agent, and passes on what it is told."""
    agent = test.agent_option(include=INCLUDE, sample="none")
    with running(test, "NativeActivities", agent=agent, prefix=preload(test)) as program:
        answers = [program.ask(part) for part in PARTS]
        ids = program.ask("chaining").split()[1:]
        ended = program.end()
    test.check(ended.status == 0, f"{ended}")
    views = test.checked_report(dropped=True)
    found = pushes(views["tree"])
    wanted = {**PUSHES, "after": PUSHES["after"] + 1, "java": 1, "served": 1, "own": 1, "lost part": 1}
    test.check(found == wanted, f"preloaded: pushes {found}, not {wanted}")
    lost = test.report("activity")["stack_losses"]["lost_frames"]
    in_handlers = int(answers[-1].split()[1])
    test.check(lost == DEEP - STACK_MAX + RAISED + in_handlers, f"preloaded: {lost} frames lost")
    shown = trees(views["tree"], TREES, SHOWN)
    for name, tree in TREES.items():
        test.check(shown.get(name) == tree, f"preloaded: {name}: {shown.get(name)}\nnot {tree}")
    paths = {row["id"]: [part["path"] for part in row["parts"]] for row in test.report("chains")["chains"]}
    test.check({id_: paths.get(id_) for id_ in ids} == {ids[0]: [["java"]], ids[1]: [["java", "served", "own"]]},
               f"preloaded: {paths}")
    alone(test)
    test.ledger.unlink()


def preloaded_and_attached(test):
    """A library that is older than the agent has its frames heard, too, from the agent's begin on."""
    with running(test, "NativeActivities", prefix=preload(test)) as program:
        program.ask("held")
        program.attach("--include", INCLUDE, sample="none")
        program.ask("go")
        for part in PARTS:
            program.ask(part)
        ended = program.end()
    test.check(ended.status == 0, f"{ended}")
    found = pushes(test.checked_report(dropped=True)["tree"])
    test.check(found == PUSHES, f"preloaded and attached: pushes {found}, not {PUSHES}")
    alone(test)
    test.ledger.unlink()


def alone(test):
    """There is one ledger, the agent's: nothing is in two."""
    left = [path.name for path in test.scratch.iterdir() if path.name.endswith((".live", ".ledger"))]
    test.check(left == [test.ledger.name], f"ledgers: {left}")


def without_agent(test):
    with running(test, "NativeActivities") as program:
        answers = [program.ask(part).split()[0] for part in PARTS]
        ended = program.end()
    test.check(tuple(answers) == PARTS and ended.status == 0, f"without an agent: {ended}")


if __name__ == "__main__":
    harness.main(native_activity)
