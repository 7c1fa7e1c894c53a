"""The JVM stops its threads for GC pauses: a thread that computes has that time as `safepoint`, one that parks has its
reason. The oracles are the kernel, of which the program asks how long each thread neither ran nor wanted to, and the
JVM's own log of safepoints. The log's total is no lower bound: it has the time in which the thread that wakes the
others was preempted by them. A JVM without performance counters does not tell."""

import json
import re

import harness
import sampled

PAUSES = 20
LEAST, MOST = 0.95, 1.05  # of what the thread itself says
MOST_LOGGED = 1.02  # of what the log says


def pauses(test):
    sampled.check_unless_chance(test, lambda _: with_counters(test))
    without_counters(test)


def waits_of(test, *flags):
    test.ledger.unlink(missing_ok=True)
    agent = test.agent_option(events="instrument", include="Pauses.step", sample="none", waits="on")
    plain = test.java(*flags, "Pauses", str(PAUSES), agent=agent)
    test.check(plain.status == 0, f"{plain}")
    told = json.loads(test.text_report(test.ledger, "--view", "waits", "--json").out)
    stopped = {name: int(ns) for name, ns in re.findall(r"(computer-\d) (\d+)", plain.out)}
    return {row["name"]: row for row in told["threads"]}, stopped


def with_counters(test):
    log = test.scratch / "safepoints"
    log.unlink(missing_ok=True)
    rows, stopped = waits_of(test, f"-Xlog:safepoint:file={log}")
    totals = [int(ns) for ns in re.findall(r"Total: +(\d+) ns", log.read_text())]
    test.check(len(totals) >= PAUSES, f"the log has {len(totals)} safepoints")
    for name in ("computer-1", "computer-2"):
        ns = rows[name]["waits"]["safepoint_ns"]
        test.check_likely(LEAST * stopped[name] <= ns, f"{name}: too little", f"{name}: {ns} ns of {stopped[name]}")
        test.check_likely(ns <= MOST * stopped[name], f"{name}: too much", f"{name}: {ns} ns of {stopped[name]}")
        test.check(ns <= MOST_LOGGED * sum(totals), f"{name}: {ns} ns, the log says {sum(totals)}")
    parker = rows["parker"]
    test.check(parker["waits"]["safepoint_ns"] < sum(totals) // 10, f"parker: {parker}")
    test.check(parker["waits"]["park_ns"] > sum(totals) // 2, f"parker: {parker}")


def without_counters(test):
    rows, _ = waits_of(test, "-XX:-UsePerfData")
    test.check(all(row["waits"]["safepoint_ns"] == 0 for row in rows.values()), f"without counters: {rows}")
    text = test.text_report(test.ledger, "--view", "waits").out
    test.check("SAFEPOINT" not in text, f"without counters: {text}")


if __name__ == "__main__":
    harness.main(pauses)
