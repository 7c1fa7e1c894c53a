"""max-mem=2M, and a program whose contexts take more: cold ones are folded, so that no call is lost, each method has
its calls, and what is hot has its own node though it comes late. So has a thread that begins when all is taken. A JVM
that is killed meanwhile leaves a ledger with all calls."""

import os
import random
import re
import time

import harness
import sampled

PATHS, DEPTH, HOT_EACH = 8 ** 5, 5, 8
ROUNDS = 2
KILLS = int(os.environ.get("TREADLE_KILLS", "1"))


def pruning(test):
    agent = test.agent_option(events="instrument", include="ManyNodes.*;LateHot.*", max_mem="2M", sample="none")
    sampled.check_unless_chance(test, lambda _: folded(test, agent))
    moments = random.Random(13)
    for number in range(KILLS):
        check_kill(test, f"kill {number}", test.java_command("LateHot", 1000000, agent=agent), moments.random() * 0.3)


def folded(test, agent):
    test.java("LateHot", ROUNDS, agent=agent)
    views = test.checked_report(note_allowed=True)
    check_calls(test, "at the end", views, 1 + ROUNDS)
    hot = node_at(views, "main", ["main", "walk", "hot1", "hot2", "hot3"])
    test.check(hot and hot["calls"] >= ROUNDS * PATHS // HOT_EACH // 2, f"the hot path has {hot}")
    late = node_at(views, "late", ["runLate", "late1", "late2"])
    test.check(late and late["calls"] == 1000, f"the path of the late thread has {late}")
    told = [thread.get("folded_most_cpu_ns") for thread in views["tree"]["threads"] if thread["name"] == "main"]
    # What a host took of the processor while a context ran is charged to it.
    test.check_likely(told and told[0] and told[0] < hot["base"]["cpu_ns"], "the most of a folded context",
                      f"a folded context had {told}, the hot one {hot}")
    check_text(test)


def check_calls(test, what, views, rounds):
    """Per round and path: DEPTH + 1 calls of next(), DEPTH of the others, evenly; hot paths after the first round."""
    calls = {m["method"]: m["calls"] for m in views["flat"]["methods"]}
    expected = {"main": 1, "next": rounds * PATHS * (DEPTH + 1), "hot3": (rounds - 1) * PATHS // HOT_EACH, "late2": 1000}
    expected.update({f"m{i}": rounds * PATHS * DEPTH // 8 for i in range(8)})
    for method, count in expected.items():
        test.check(calls.get(method) == count, f"{what}: {method} has {calls.get(method)} calls, and not {count}")
    test.check(views["threads"]["balance"]["dropped_events"] == 0, f"{what}: calls are lost")


def node_at(views, thread, path):
    """The node that these methods, below the thread, lead to; what lies between them does not matter at its top."""
    nodes = [t["root"] for t in views["tree"]["threads"] if t["name"] == thread]
    while nodes and not any(n["method"] == path[0] for n in nodes):
        nodes = [child for node in nodes for child in node["children"] if node["kind"] != "folded"]
    for method in path:
        nodes = [n for n in nodes if n["method"] == method and n["kind"] == "exact"]
        found = nodes[0] if nodes else None
        nodes = [child for node in nodes for child in node["children"]]
    return found


def check_text(test):
    shown = test.text_report(test.ledger, "--view", "tree", "--thread", "main").out
    test.check(re.search(r"\(folded\) of [0-9. kM]+ contexts", shown), f"no folded contexts: {shown[:2000]}")
    test.check("no folded context of this thread had more than" in shown, f"no bound: {shown[-500:]}")


def rounds_printed(test):
    return max((int(line.split()[1]) for line in test.printed() if line.startswith("rounds ")), default=0)


def check_kill(test, what, command, rest):
    with test.started(command) as process:
        test.wait_until(lambda: rounds_printed(test), "the program prints nothing")
        time.sleep(rest)
    rounds = rounds_printed(test)
    ledgers = test.live_ledgers(process.pid)
    if not test.check(len(ledgers) == 1, f"{what}: live ledgers {ledgers}"):
        return
    views = test.checked_report(ledgers[0], note_allowed=True)
    calls = sum(m["calls"] for m in views["flat"]["methods"] if m["method"] == "next")
    least, most = ((1 + rounds + more) * PATHS * (DEPTH + 1) for more in (0, 2))
    test.check(least <= calls <= most, f"{what}: {calls} calls, and not {least} to {most}")
    ledgers[0].unlink()


if __name__ == "__main__":
    harness.main(pruning)
