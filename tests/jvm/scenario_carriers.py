"""Fifty virtual threads on one carrier, on two and on four. vt-k does k of 1275 equal units of work. Its CPU is what
its carriers' clocks say of each of its mounts, read at the events on both sides of the agent's own reading; and it
is what the thread itself burnt, at least. Calls and mounts are exact. And nothing is lost between the rows: those of
the virtual threads and those of the carriers together are what the kernel says of the carriers, to within one part
in a thousand."""

from pathlib import Path

import expected as expectation
import harness
import run_program
from run_program import expect_bounds

EVENTS = ("jvmti", "instrument")

PROGRAM = Path(__file__).resolve().parents[2] / "javatest/21/SharedCarriers.java"
UNIT_US = 3000
THREADS = 50
NAMES = ["warm-up", *(f"vt-{k}" for k in range(1, THREADS + 1))]
SUM_PPM = 1000


def carriers(test):
    if test.major < 21:
        raise harness.Skip("this JDK has no virtual threads")
    plain = test.java("SharedCarriers", 1)
    for parallelism in (1, 2, 4):
        run(test, f"parallelism {parallelism}", plain, parallelism)


def run(test, what, plain, parallelism):
    wanted = expectation.parse(PROGRAM)
    if test.events == "instrument":
        wanted.without_native_methods()
    test.ledger.unlink(missing_ok=True)
    library = f"-agentpath:{test.libraries}/libshared_carriers.so"
    traced = test.java(f"{library}=before", run_program.agent_for(test, wanted), f"{library}=after",
                       f"-Djdk.virtualThreadScheduler.parallelism={parallelism}",
                       f"-Djdk.virtualThreadScheduler.maxPoolSize={parallelism}", "SharedCarriers", UNIT_US)
    test.same_for_user(plain, traced, what)
    views = test.checked_report()
    run_program.check_trees(test, wanted, views)
    run_program.check_threads(test, wanted, views)
    tids = set(expect_bounds(traced.out, "carriers-tids")["all"])
    test.check(len(tids) <= parallelism, f"{what}: burnt on {sorted(tids)}")
    rows = views["threads"]["threads"]
    check_sum(test, what, rows, tids, expect_bounds(traced.out, "carriers-cpu")["all"][0])
    virtual = {row["name"]: row for row in rows if row["kind"] == "virtual"}
    burnt, mounted = (expect_bounds(traced.out, word) for word in ("burnt", "mounted"))
    for names in (virtual, burnt, mounted):
        if not test.check(sorted(names) == sorted(NAMES), f"{what}: not every thread is among {sorted(names)}"):
            return
    check_burnt(test, what, virtual, burnt)
    check_mounts(test, what, virtual, tids, mounted)


def check_burnt(test, what, rows, burnt):
    for name, (least_ns,) in burnt.items():
        ns = rows[name]["cpu_ns"]
        test.check(run_program.is_within(ns, least_ns, ns), f"{what}: {name} has {ns} ns, it burnt {least_ns}")


def check_mounts(test, what, rows, tids, mounted):
    """The kernel's clock is the carrier's: what the host takes away is in neither of the numbers."""
    for name, (least_ns, most_ns, mounts, disorders) in mounted.items():
        row = rows[name]
        ns = row["cpu_ns"]
        test.check(disorders == 0, f"{what}: {name} was not mounted and unmounted in turn, {disorders} times")
        test.check(row["mounts"] == mounts, f"{what}: {name} has {row['mounts']} mounts, not {mounts}")
        test.check(run_program.is_within(ns, least_ns, most_ns), f"{what}: {name} has {ns} ns, measured {least_ns} to "
                   f"{most_ns} (above the least {ns - least_ns}, below the most {most_ns - ns}) in {mounts} mounts")
        test.check(row["tids"] and set(row["tids"]) <= tids,
                   f"{what}: {name} ran on {row['tids']}, the carriers are {sorted(tids)}")
    moved = sum(len(row["tids"]) > 1 for row in rows.values())
    apart = {name: (most_ns - least_ns) * 1_000_000 // rows[name]["cpu_ns"]
             for name, (least_ns, most_ns, *_) in mounted.items()}
    widest = max(apart, key=apart.get)
    print(f"{what}: {sum(mounts for *_, mounts, _ in mounted.values())} mounts, {moved} ran on several carriers; least "
          f"and most are up to {apart[widest]} ppm of a row apart ({widest})")


def check_sum(test, what, rows, tids, kernel_ns):
    own = [row for row in rows if row["kind"] == "carrier" and set(row["tids"]) <= tids]
    test.check(len(own) == len(tids), f"{what}: {len(own)} rows of carriers, not {len(tids)}")
    virtual_ns = sum(row["cpu_ns"] for row in rows if row["kind"] == "virtual")
    own_ns = sum(row["cpu_ns"] for row in own)
    ppm = (virtual_ns + own_ns - kernel_ns) * 1_000_000 // kernel_ns
    told = (f"{what}: virtual threads {virtual_ns} ns + carriers {own_ns} ns beside {kernel_ns} ns of the "
            f"kernel: {ppm} ppm")
    print(told)
    test.check(abs(ppm) <= SUM_PPM, told)


if __name__ == "__main__":
    harness.main(carriers)
