"""Samples begin in the middle of threads' lives: what each thread consumed before is its row `(not sampled)`, as long as
the program itself says that it was, and what it consumed until the first sample; and every sampled row says how far off
it may be."""

import time

import harness
import sampled
from exact_paths import sums
from running import running
from scenario_twenty_stops import THREADS, expected, last_change_ns

BEFORE_MS, AFTER_MS = 600, 400  # CPU time of each thread
PART = 0.04  # of a thread: what came after its last sample, and a signal that waited for a processor


def late_samples(test):
    sampled.check_unless_chance(test, lambda longer: started_late(test, longer))


def started_late(test, longer):
    test.ledger.unlink(missing_ok=True)
    agent = test.agent_option(events="none", sample="none")
    with running(test, "Shifts", agent=agent) as program:
        program.ask(f"burn {BEFORE_MS * longer}")
        program.done("stop")
        stopped_ns = last_change_ns(program)
        program.done("start", "--sample", "cpu", "--interval", "4ms")
        sampled_ns, started_ns = time.monotonic_ns(), last_change_ns(program)
        program.ask(f"burn {AFTER_MS * longer}")
        program.done("dump", "-o", test.ledger)
        diary = test.scratch / "diary"
        program.ask(f"end {diary}")
        check(test, test.checked_report(), expected(diary, [(0, stopped_ns)]), expected(diary, [(started_ns, sampled_ns)]))


def check(test, views, before, starting):
    unseen = by_thread(sums(views, lambda node: node["base"]["cpu_ns"] if node["method"] == "(not sampled)" else 0))
    whole = by_thread(sums(views, lambda node: node["base"]["cpu_ns"]))
    for thread in sorted(THREADS):
        least, more = sum(before[thread].values()), sum(starting[thread].values())
        allowed = PART * whole[thread]
        test.check_likely(least - allowed <= unseen[thread] <= least + more + allowed, thread,
                          f"{thread}: {unseen[thread]} ns not sampled, {least} ns before samples, {more} ns more until "
                          f"they began, of {whole[thread]}")
    without = sums(views, lambda node: node["base"]["cpu_ns"] if "error_ns" not in node and node["kind"] == "sampled" else 0)
    test.check(not any(without.values()), f"sampled rows without an error: {without}")


def by_thread(found):
    threads = {}
    for (thread, _), value in found.items():
        threads[thread] = threads.get(thread, 0) + value
    return threads


if __name__ == "__main__":
    harness.main(late_samples)
