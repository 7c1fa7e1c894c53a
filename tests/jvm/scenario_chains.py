"""Chains: activities with one id, in threads and in processes. What each part took is what the programs' own clocks say,
the parts' sums are the trees' rows, and what a callee did is what explains its caller's wait: a JVM calls a JVM, which
calls a C program, which is sampled, or has the profiler preloaded. Within one JVM: hand-over, virtual threads, exceptions, forgotten frames, ids adopted twice; more
parts than a ledger has room for."""

import contextlib
import subprocess
from pathlib import Path

import harness
import sampled
from running import LET_AGENTS_IN, running

EVENTS = ("jvmti", "instrument")
ROOT = Path(__file__).resolve().parents[2]
GIVEN = "00112233445566778899aabbccddeeff"
CALLS, CALL_MS = 5, 200
EXPLAINED_PPM = 950_000
NEAR = 0.03  # of a time that two clocks around the same work may differ, on a busy machine
RING = 8192
LATER_NS = 50_000
CLOCKS_NS = 20_000  # by which CPU time may be ahead of the wall's


def chains(test):
    within_one_process(test)
    folded(test)
    if test.events == "instrument":
        for sampled_outside in (True, False):
            sampled.check_unless_chance(test, lambda _, outside=sampled_outside: between_processes(test, outside))
        stopped(test)
        older_api(test)
        too_many(test)
        without_agent(test)


# ---- one process ----

def folded(test):
    """Frames of the same words within each other have one node; their parts end where their own frames do."""
    agent = test.agent_option(sample="none", include="Chains.*", recursion="1")
    with running(test, "Chains", "front", agent=agent) as program:
        told = program.ask("odd")
        ended = program.end()
    test.check(ended.status == 0 and told == "odd", f"folded: {told}, {ended}")
    parts = [part for part in all_parts(test.report("chains")) if part["path"][-1] == "kept"]
    test.check([(part["path"], part["end_seen"]) for part in parts] == [(["kept"], True)], f"folded: {parts}")
    test.ledger.unlink()


def within_one_process(test):
    agent = test.agent_option(sample="none", include="Chains.*")
    parts = ["fan", "odd"] + (["virtuals"] if test.major >= 21 else [])
    with running(test, "-Djdk.virtualThreadScheduler.parallelism=2", "Chains", "front", agent=agent) as program:
        told = {part: program.ask(part) for part in parts}
        ended = program.end()
    test.check(ended.status == 0, f"{ended}")
    test.check(told["odd"] == "odd", f"ids: {told['odd']}")
    view = test.report("chains")
    found = {chain["id"]: chain for chain in view["chains"]}
    check_sums(test, view)
    check_rows(test, view)
    fan = found.get(told["fan"], {"parts": []})["parts"]
    test.check(sorted((part["thread"], part["path"], part["end_seen"]) for part in fan)
               == [("main", ["server", "fan"], True)] + 3 * [("pool", ["server", "fan"], True)], f"fan: {fan}")
    for part in fan:
        if part["thread"] == "pool":
            test.check(part["cpu_ns"] >= 3_000_000 and part["wait_ns"] >= 3_000_000, f"fan: {part}")
    odd = {key: [(part["thread"], part["path"], part["end_seen"]) for part in found[id_]["parts"]] if id_ in found else []
           for key, id_ in (("given", GIVEN), *((digit, digit + GIVEN[1:]) for digit in "12345"))}
    test.check(odd == {
        "given": [("twice", ["first"], True), ("twice", ["again"], True)],
        "1": [("twice", ["first", "second", "third"], True)],
        "2": [("thrower", ["risky"], True)],
        "3": [("forgetful", ["outer", "forgotten"], False)],
        "4": [("forgetful", ["after"], True)],
        "5": [("keeper", ["kept"], True)],
    }, f"odd: {odd}")
    test.check(not any(part["path"][-1] == "none" for part in all_parts(view)), "a part without an id")
    if "virtuals" in told:
        for id_ in told["virtuals"].split():
            leaves = found.get(id_, {"parts": []})["parts"]
            test.check([(part["virtual"], part["path"], part["end_seen"]) for part in leaves] == [(True, ["leaf"], True)],
                       f"virtual: {leaves}")
            test.check(all(part["cpu_ns"] > 0 and part["wait_ns"] >= 4 * 2_000_000 for part in leaves),
                       f"virtual: {leaves}")
    test.ledger.unlink()


def all_parts(view):
    return [part for chain in view["chains"] for part in chain["parts"]]


def check_sums(test, view):
    for chain in view["chains"]:
        for key in ("cpu_ns", "wait_ns", "explained_ns"):
            test.check(chain[key] == sum(part[key] for part in chain["parts"]), f"{key} of {chain['id']}")
        test.check(chain["count"] == len(chain["parts"]), f"count of {chain['id']}")
        for part in chain["parts"]:
            test.check(part["explained_ns"] <= part["wait_ns"], f"more than the wait: {part}")
            test.check(part["open"] or part["elapsed_ns"] == part["cpu_ns"] + part["wait_ns"]
                       or part["wait_ns"] == 0 and part["cpu_ns"] < part["elapsed_ns"] + CLOCKS_NS, f"parts: {part}")
    for row in view["rows"]:
        mine = [part for part in all_parts(view) if (part["process"], part["path"]) == (row["process"], row["path"])]
        test.check(row["count"] == len(mine) and row["cpu_ns"] == sum(part["cpu_ns"] for part in mine)
                   and row["wait_ns"] == sum(part["wait_ns"] for part in mine), f"row: {row}")
    test.check(sum(row["count"] for row in view["rows"]) == len(all_parts(view)), "rows that are missing")


def check_rows(test, view, ledger=None, later_ns=0):
    """Where every push of a frame was a part whose end was seen, the parts' times are those of the tree's nodes. A part
    of treadle.h begins so much later at most, and what its thread then has to wait for a processor: when its frame,
    which is there, gets the id."""
    paths = {tuple(part["path"]) for part in all_parts(view)}
    unseen = {tuple(part["path"]) for part in all_parts(view) if not part["end_seen"]}
    rows = rows_of(test, ledger)
    queue_ns = sum(thread["metrics"].get("run_queue_delay", 0)
                   for thread in test.report("threads", ledger)["threads"]) if later_ns else 0
    checked = 0
    for path in paths - unseen:
        mine = [part for part in all_parts(view) if tuple(part["path"]) == path]
        found = (len(mine), sum(part["cpu_ns"] for part in mine), sum(part["elapsed_ns"] for part in mine))
        if rows[path][0] == found[0]:
            checked += 1
            most = (later_ns * len(mine), later_ns * len(mine), later_ns * len(mine) + queue_ns)
            test.check(all(0 <= row - part <= more for row, part, more in zip(rows[path], found, most)),
                       f"{path}: calls, CPU, wall {rows[path]}, parts {found}, at most {most} less: {mine}")
    test.check(checked, "no row to compare with")


def rows_of(test, ledger=None):
    """{logical path: [pushes, cum CPU, cum wall]} of all threads."""
    rows = {}

    def collect(nodes, above):
        for node in nodes:
            path = above
            if node["kind"] == "logical":
                path = (*above, node["identifier"] + (f" ({node['parameter']})" if node["parameter"] is not None else ""))
                row = rows.setdefault(path, [0, 0, 0])
                for i, value in enumerate((node["calls"], node["cum"]["cpu_ns"], node["cum"]["wall_ns"])):
                    row[i] += value
            collect(node["children"], path)

    for thread in test.report("tree", ledger)["threads"]:
        collect([thread["root"]], ())
    return rows


# ---- three processes ----

@contextlib.contextmanager
def process(test, command):
    started = subprocess.Popen([str(word) for word in command], cwd=test.scratch, env=harness.environment(),
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield started
    finally:
        started.kill()
        started.wait()
        started.stdout.close()


def ask(started, line):
    started.stdin.write(line + "\n")
    started.stdin.flush()
    return started.stdout.readline().strip()


def ends(started):
    started.stdin.close()
    return started.wait(timeout=harness.LIMIT_S)


def compiled(test):
    program = test.scratch / "chain_server"
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-pthread", f"-I{ROOT}",
                    ROOT / "tests/activity/chain_server.c", "-o", program], check=True)
    return program


def is_watched(pid):
    for segment in Path("/dev/shm").glob(f"treadle-{pid}-*.activity"):
        return int.from_bytes(segment.read_bytes()[128:132], "little") != 0
    return False


@contextlib.contextmanager
def last_process(test, sampled_outside, ledger):
    """The C program, and whoever makes its ledger: `treadle sample`, or the profiler preloaded into it."""
    prefix = [] if sampled_outside else [
        "env", f"LD_PRELOAD={test.treadle.parents[1] / 'native/libtreadle-native.so'}", f"TREADLE_NATIVE=file={ledger}"]
    with contextlib.ExitStack() as stack:
        last = stack.enter_context(process(test, [*prefix, compiled(test)]))
        port = last.stdout.readline().strip()
        sampling = stack.enter_context(process(test, [test.treadle, "sample", last.pid, "--every", "20ms", "-o", ledger])) \
            if sampled_outside else None
        if sampling:
            test.wait_until(lambda: is_watched(last.pid), "nobody samples the C program")
        yield last, port, sampling


def between_processes(test, sampled_outside):
    agent = test.agent_option(events="none", sample="none", file=test.scratch / "jvm-%p.ledger")
    last_ledger = test.scratch / "last.ledger"
    with last_process(test, sampled_outside, last_ledger) as (last, last_port, sampling):
        with process(test, test.java_command(LET_AGENTS_IN, "Chains", "middle", last_port, agent=agent)) as middle:
            middle_port = middle.stdout.readline().strip()
            with process(test, test.java_command(LET_AGENTS_IN, "Chains", "front", middle_port, agent=agent)) as front:
                front.stdout.readline()
                ask(front, "call 1 20")  # classes are loaded, connections made
                told = [line.split() for line in ask(front, f"call {CALLS} {CALL_MS}").split(";") if line]
                status = ends(front)
            status += ends(middle)
            status += ends(last)
            status += sampling.wait(timeout=harness.LIMIT_S) if sampling else 0
    test.check(status == 0, f"status {status}")
    ledgers = {name: test.scratch / f"jvm-{started.pid}.ledger" for name, started in (("front", front), ("middle", middle))}
    pids = {front.pid: "front", middle.pid: "middle", last.pid: "last"}
    check_joined(test, [ledgers["front"], ledgers["middle"], last_ledger], pids, told)
    merged = test.scratch / "merged.ledger"
    done = test.run([test.treadle, "merge", ledgers["front"], ledgers["middle"], last_ledger, "-o", merged])
    test.check(done.status == 0, f"merge: {done}")
    check_joined(test, [merged], pids, told)
    for ledger in (ledgers["front"], ledgers["middle"]):
        check_rows(test, report(test, ledger), ledger)
    if not sampled_outside:
        check_rows(test, report(test, last_ledger), last_ledger, later_ns=LATER_NS)
    for ledger in (*ledgers.values(), last_ledger, merged):
        ledger.unlink()


def report(test, *ledgers):
    done = test.run([test.treadle, "report", "--view", "chains", "--json", *ledgers])
    test.check(done.status == 0, f"report: {done}")
    return harness.json.loads(done.out)


def check_joined(test, ledgers, pids, told):
    """told: [id, elapsed and CPU of the front, of the middle, elapsed of the last]."""
    view = report(test, *ledgers)
    check_sums(test, view)
    found = {chain["id"]: chain for chain in view["chains"]}
    best = {"front": 0, "middle": 0}
    for i, words in enumerate(told):
        chain = found.get(words[0], {"parts": []})
        parts = {pids[part["process"]["pid"]]: part for part in chain["parts"]}
        if not test.check(len(chain["parts"]) == 3 and len(parts) == 3, f"parts of {words[0]}: {chain['parts']}"):
            continue
        front, middle, last = (parts[name] for name in ("front", "middle", "last"))
        test.check([front["path"], middle["path"], last["path"]] == [[f"request (r{i})"], ["serve"], ["answer"]],
                   f"paths: {chain}")
        test.check(all(part["end_seen"] and part["by"] == "events" for part in chain["parts"]), f"{chain}")
        front_ns, front_cpu, middle_ns, middle_cpu, last_ns = map(int, words[1:])
        for name, part, own_ns in (("front", front, front_ns), ("middle", middle, middle_ns), ("last", last, last_ns)):
            # The frame is around the program's own look at its clock.
            test.check(part["elapsed_ns"] >= own_ns * 0.999, f"{name}: {part}, its own clock {own_ns}")
            test.check_likely(part["elapsed_ns"] <= own_ns * (1 + NEAR), f"{name} {i}", f"{part}, its own clock {own_ns}")
        test.check_likely(abs(middle["cpu_ns"] - middle_cpu) <= NEAR * middle_ns, f"CPU {i}", f"{middle}, own {middle_cpu}")
        test.check(last["explained_ns"] == 0, f"explained by its callers: {last}")
        for name, part, wait_ns, callee_ns in (("front", front, front_ns - front_cpu, middle_ns),
                                               ("middle", middle, middle_ns - middle_cpu, last_ns)):
            # Also at its worst what the programs say: a busy machine lets woken threads wait for a processor.
            best[name] = max(best[name], part["explained_ppm"])
            test.check_likely(abs(part["explained_ns"] - min(callee_ns, wait_ns)) <= NEAR * wait_ns, f"share {name} {i}",
                              f"{part}: the callee's own clock {callee_ns}, the wait's {wait_ns}")
    for name, ppm in best.items():
        test.check_likely(ppm >= EXPLAINED_PPM, f"explained {name}", f"of the wait of {name}: at best {ppm} ppm")


# ---- bounds ----

def too_many(test):
    more = 1000
    agent = test.agent_option(events="none", sample="none")
    with running(test, "Chains", "front", agent=agent) as program:
        program.ask(f"many {RING + more}")
        ended = program.end()
    test.check(ended.status == 0, f"{ended}")
    view = test.report("chains")
    test.check((view["other"]["count"], len(view["chains"]), view["lost_parts"]) == (more, RING, 0),
               f"{view['other']}, {len(view['chains'])}")
    found = (view["other"]["count"] + sum(row["count"] for row in view["rows"]),
             view["other"]["cpu_ns"] + sum(row["cpu_ns"] for row in view["rows"]),
             view["other"]["elapsed_ns"] + sum(row["elapsed_ns"] for row in view["rows"]))
    row = rows_of(test)[("many",)]
    test.check(tuple(row) == found, f"calls, CPU, wall: parts {found}, tree {row}")
    test.ledger.unlink()


def stopped(test):
    """A part that is open when profiling is stopped has no end, and its frame's end is none of the next epoch's."""
    with running(test, "Chains", "front") as program:
        test.check(program.ask("open") == "null", "an id without an agent")
        program.attach("--include", "Chains.burn", sample="none")  # a hooked caller would end the frame
        program.ask("close")
        ids = [program.ask("open")]
        program.done("stop")
        test.check(program.ask("close") == "null", "an id while profiling is stopped")
        program.done("start")
        ids.append(program.ask("open"))
        program.ask("close")
        ended = program.end()
    test.check(ended.status == 0, f"{ended}")
    found = {chain["id"]: [part["end_seen"] for part in chain["parts"]] for chain in test.report("chains")["chains"]}
    test.check(found == {ids[0]: [False], ids[1]: [True]}, f"stopped: {found}, told {ids}")
    test.ledger.unlink()


def older_api(test):
    """The class of before there were ids, with this agent."""
    log = subprocess.run(["git", "log", "--format=%H", "-S", "pushPart0", "--", "agent/api/treadle/Activity.java"], cwd=ROOT,
                         capture_output=True, text=True, check=False).stdout.split()
    old = log and subprocess.run(["git", "show", f"{log[-1]}~:agent/api/treadle/Activity.java"], cwd=ROOT,
                                 capture_output=True, text=True, check=False)
    if not old or old.returncode != 0:
        return  # no history here
    source = test.scratch / "old" / "Activity.java"
    source.parent.mkdir()
    source.write_text(old.stdout, encoding="utf-8")
    test.compile(test.scratch / "old", source)
    classes, test.classes = test.classes, f"{test.scratch / 'old'}:{test.classes}"
    with running(test, "Activities", agent=test.agent_option(sample="none", include="Activities.*")) as program:
        program.ask("outer")
        lines = test.printed()
        ended = program.end()
    test.classes = classes
    test.check(ended.status == 0 and not any(line.startswith("treadle:") for line in lines), f"older API: {lines}")
    rows = rows_of(test)
    test.check([rows.get(path, [0])[0] for path in (("A",), ("A", "B (p)"))] == [1, 1], f"older API: {rows}")
    test.ledger.unlink()


def without_agent(test):
    with running(test, "Chains", "front") as program:
        told = [program.ask("fan"), program.ask("odd"), program.ask("many 10")]
        ended = program.end()
    test.check(told == ["null", "odd", "many"] and ended.status == 0, f"without an agent: {told}, {ended}")


if __name__ == "__main__":
    harness.main(chains)
