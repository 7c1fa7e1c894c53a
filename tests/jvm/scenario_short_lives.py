"""Threads that live shortly and have a hundred contexts each: however many they are, the ledger stays within
max-mem, with and without samples, and their folded row has every call and every thread."""

import json
import os
from collections import Counter

import harness
import sampled
from running import running

THREADS = {"platform": 3000, "virtual": 20_000}
MANY = int(os.environ.get("TREADLE_THREADS", "0"))  # virtual ones instead
ALIVE = {"platform": 16, "virtual": 200}
# Of 8 MiB 200 threads that live take a fifth. Sampled ones are folded by the profiler's own thread, which waits for a
# processor where the machine has something else to do.
MAX_MEM = {"none": 8 << 20, "cpu": 32 << 20}
REFUSED = 5000  # with fold=none, of which a MiB has not the room
SAMPLES = {"none": {"sample": "none"}, "cpu": {"sample": "cpu", "interval": "1ms"}}
LOST = ("dropped_events", "dropped_threads", "dropped_side_values", "unfollowed_mounts", "skipped_records",
        "dropped_samples")


def short_lives(test):
    for kind in ("platform", "virtual") if test.major >= 21 else ("platform",):
        threads = MANY if kind == "virtual" and MANY else THREADS[kind]
        for mode, options in SAMPLES.items():
            bounded = options | {"max_mem": MAX_MEM[mode]}
            sampled.check_unless_chance(test, lambda _: profile(test, f"{kind}, sample={mode}", kind, threads, bounded))
        refuse(test, kind)


def refuse(test, kind):
    """With fold=none there is room for few: the others are counted, each once, though a virtual one comes to its
    carrier twice."""
    test.ledger.unlink(missing_ok=True)
    agent = test.agent_option(events="instrument", include="ShortLives$Life.*", fold="none", max_mem="1M", sample="none",
                              log="error")
    with running(test, "ShortLives", ALIVE[kind], agent=agent) as program:
        program.ask(f"{kind} {REFUSED}")
        asked = json.loads(program.done("status", "--json"))["identified"]
        ended = program.end()
    test.check(ended.status == 0, f"{kind}, fold=none: {ended}")
    # A thread makes hundreds of calls; that there is no room for it is not found out at each of them.
    test.check(asked <= 2 * REFUSED, f"{kind}, fold=none: hooks asked {asked} times who runs")
    told = json.loads(test.text_report(test.ledger, "--json").out)
    # The last that found room may have found none for their names.
    rows = sum(row["kind"] == kind and (row["name"].startswith("life-") or not row["name"]) for row in told["threads"])
    dropped = told["balance"]["dropped_threads"]
    # Threads of the JVM's own may find no room either.
    test.check(rows and 0 <= rows + dropped - REFUSED <= 20, f"{kind}, fold=none: {rows} rows, {dropped} dropped, of {REFUSED}")


def profile(test, what, kind, threads, options):
    test.ledger.unlink(missing_ok=True)
    agent = test.agent_option(events="instrument", include="ShortLives$Life.*", fold="auto", **options)
    with running(test, "ShortLives", ALIVE[kind], agent=agent) as program:
        calls = int(program.ask(f"{kind} {threads}"))
        wanted = expected(threads)
        test.check(calls == sum(wanted.values()), f"{what}: the program itself counts {calls} calls")
        told = json.loads(program.done("status", "--json"))
        ended = program.end()
    test.check(ended.status == 0, f"{what}: {ended}")
    # Where threads end faster than a busy machine lets them be folded, the ledger may be full for a moment.
    print(f"{what}: {threads} threads, the ledger has {told['bytes']} bytes" + (", was full" if told["full_errno"] else ""))
    test.check(told["bytes"] < options["max_mem"], f"{what}: {told['bytes']} bytes")
    test.check_likely(not told["full_errno"], f"{what}: full", f"{what}: full, {told['full_errno']}")
    check_row(test, what, kind, threads, was_full=bool(told["full_errno"]))
    flat = test.text_report(test.ledger, "--view", "flat", "--thread", "life-*", "--json")
    have = Counter()
    for method in json.loads(flat.out)["methods"]:
        if method["class"] == "ShortLives$Life":
            have[method["method"]] += method["calls"]
    test.check(have == wanted, f"{what}: calls {have}, not {wanted}")


def expected(threads):
    """Calls by method, as ShortLives$Life says; its constructor is called by whoever starts it."""
    each = {"run": 1, "walk": 2, "pause": 1}
    for level in range(1, 7):
        each[f"l{level}"] = each[f"r{level}"] = 2 ** level
    return Counter({method: n * threads for method, n in each.items()})


def check_row(test, what, kind, threads, was_full):
    rows = json.loads(test.text_report(test.ledger, "--fold", "--json").out)
    # Samples find no room while the ledger is full; calls have the reserve.
    lost = {key: n for key in LOST if (n := rows["balance"].get(key)) and not (was_full and key == "dropped_samples")}
    test.check(not lost, f"{what}: lost: {lost}")
    row, = (row for row in rows["threads"] if row["name"] == "life-#")
    test.check(row["count"] == threads and row["kind"] == kind and not row["running"], f"{what}: {row}")
    ppm = rows["balance"]["difference_ppm"]
    test.check(abs(ppm) <= 1000, f"{what}: the balance is out by {ppm} ppm")


if __name__ == "__main__":
    harness.main(short_lives)
