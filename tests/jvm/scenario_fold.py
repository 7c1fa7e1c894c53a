"""Many threads that come and go, far more than keep rows of their own: with fold=auto the later ones are
added to the row of their name and kind, the ledger stays as large as it is, and not a call is lost."""

import json
import re
from collections import Counter

import harness
from running import running

THREADS = {"platform": 6000, "virtual": 12000}  # in each of two rounds
MANY = 300_000  # virtual ones, in a third round with fold=auto
ALIVE = {"platform": 16, "virtual": 200}
PARKS = {"worker": 1, "helper": 2}  # by name; they take turns
# Threads of the JVM's own that come and go between two looks are no concern here.
JVM = ("-XX:+UseSerialGC", "-XX:-UseDynamicNumberOfCompilerThreads")
ROWS_KEPT = 4096  # of threads that are over: THREADS_KEPT


def fold(test):
    for kind in ("platform", "virtual") if test.major >= 21 else ("platform",):
        growth = {}
        for mode in ("none", "auto"):
            many = MANY if (kind, mode) == ("virtual", "auto") else 0
            growth[mode] = profile(test, kind, mode, many)
            check_fold(test, f"{kind}, fold={mode}", kind, 2 * THREADS[kind] + many)
        if many:
            check_balance(test)
        views = test.checked_report()
        check_rows(test, views["threads"]["threads"], kind)
        print(f"{kind}: {THREADS[kind]} more threads, and {many} more, and the ledger grows by {growth}")
        kept_bytes = growth["none"][0]
        test.check(kept_bytes > THREADS[kind] * 512, f"{kind}, fold=none: only {kept_bytes} bytes more")
        # Where the machine has much else to do, hundreds of kernel threads that end wait for that, with rows of their own.
        test.check(max(growth["auto"]) < kept_bytes // 4, f"{kind}, fold=auto: the ledger grows: {growth}")


def profile(test, kind, mode, many):
    """Bytes that the ledger grows by from round to round."""
    test.ledger.unlink(missing_ok=True)
    agent = test.agent_option(events="instrument", include="ManyThreads$Task.*", fold=mode)
    groups = ",".join(f"{name}:{parks}" for name, parks in PARKS.items())
    sizes = []
    with running(test, *JVM, "ManyThreads", ALIVE[kind], agent=agent) as program:
        for threads in (THREADS[kind], THREADS[kind], many):
            calls = int(program.ask(f"{kind} {groups} {threads}").split()[0])
            counted = sum(sum(expected(name, threads).values()) for name in PARKS)
            test.check(calls == counted, f"{kind}: the program itself counts {calls} calls, not {counted}")
            sizes.append(json.loads(program.done("status", "--json"))["bytes"])
        ended = program.end()
    test.check(ended.status == 0, f"{kind}, fold={mode}: {ended}")
    return [after - before for before, after in zip(sizes, sizes[1:])]


def expected(name, threads):
    """Calls by method, of the group's share of so many threads."""
    parks = PARKS[name]
    each = {"run": 1, "step": parks + 1, "leaf": 2 * parks + 2, "pause": parks}
    return {method: n * threads // len(PARKS) for method, n in each.items()}


def check_fold(test, what, kind, threads):
    """Seen folded, the ledger is the same whoever folded: the agent or the report."""
    told = json.loads(test.text_report(test.ledger, "--fold", "--json").out)
    lost = {key: n for key in ("dropped_events", "dropped_threads", "unfollowed_mounts", "skipped_records")
            if (n := told["balance"][key])}
    test.check(not lost, f"{what}: lost: {lost}")
    rows = {row["name"]: row for row in told["threads"] if row["kind"] == kind}
    for name, parks in PARKS.items():
        row = rows.get(f"{name}-#", {"count": 0, "running": 0})
        members = threads // len(PARKS)
        test.check(row["count"] == members and not row["running"], f"{what}: {name}: {row}")
        if kind == "virtual":
            test.check(row["mounts"] >= members * (parks + 1), f"{what}: {name}: {row['mounts']} mounts")
        calls = Counter()
        flat = test.text_report(test.ledger, "--view", "flat", "--thread", f"{name}-*", "--json")
        for method in json.loads(flat.out)["methods"]:
            if method["class"]:
                calls[method["method"]] += method["calls"]
        wanted = expected(name, threads)
        test.check(calls == wanted, f"{what}: {name} has the calls {calls}, not {wanted}")
    ppm = told["balance"]["difference_ppm"]
    test.check(abs(ppm) <= 1000, f"{what}: the balance is out by {ppm} ppm")


def check_balance(test):
    """Nothing is lost between two carriers. What platform threads consume after their last look is charged to
    none of them, and that would be much here."""
    told = test.text_report(test.ledger, "--fold", "--check", 1000)
    test.check(told.status == 0 and not told.err, f"{told.err}\n{told.out}")
    balance = test.report("threads", note_allowed=True)["balance"]
    left_ns = balance["kernel_cpu_ns"] - balance["charged_cpu_ns"] + balance["last_moments_ns"]
    print(f"of {balance['kernel_cpu_ns']} ns of CPU {left_ns} are charged to no thread")


def check_rows(test, rows, kind):
    """With fold=auto: a row for each of the first, and one a name for all others."""
    of_names = Counter(re.sub("[0-9]+", "#", row["name"]) for row in rows if row["kind"] == kind)
    rows_of_tasks = sum(of_names[f"{name}-#"] for name in PARKS)
    test.check(rows_of_tasks <= ROWS_KEPT + len(PARKS), f"{kind}: {rows_of_tasks} rows: {of_names}")
    groups = [row["name"] for row in rows if row["kind"] == kind and "#" in row["name"]]
    test.check(sorted(groups) == sorted(f"{name}-#" for name in PARKS), f"{kind}: groups {groups}")


if __name__ == "__main__":
    harness.main(fold)
