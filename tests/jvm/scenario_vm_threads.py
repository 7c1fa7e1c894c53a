"""Kernel threads that run no Java have rows too: collector, compilers. All rows together are what the
kernel says of the process, to within 0.5 %."""

import harness

CPU_MS = 2500
NAMES = ("GC Thread", "C1 CompilerThre", "C2 CompilerThre", "VM Thread")  # the kernel keeps 15 bytes


def vm_threads(test):
    command = ["-XX:+UseG1GC", "-XX:ParallelGCThreads=2", "-Xmx256m", "Garbage", CPU_MS]
    plain = test.java(*command)
    for events in (test.events, "none"):
        test.ledger.unlink(missing_ok=True)
        agent = test.agent_option(events=events, include="Garbage.*")
        test.same_for_user(plain, test.java(*command, agent=agent), f"events={events}")
        views = test.checked_report()
        test.close_balance(views)
        rows = views["threads"]["threads"]
        balance = views["threads"]["balance"]
        total = sum(row["cpu_ns"] for row in rows)
        test.check(total == balance["charged_cpu_ns"],
                   f"rows have {total} ns, the balance says {balance['charged_cpu_ns']}")
        test.check(balance["kernel_cpu_ns"] >= CPU_MS * 1_000_000, "kernel_cpu_ns is too small")
        for name in NAMES:
            kinds = {row["kind"] for row in rows if row["name"].startswith(name)}
            test.check(kinds == {"vm"}, f"events={events}: rows {name}…: kinds {kinds}, not vm")
        used = sum(row["cpu_ns"] for row in rows if row["name"].startswith("GC Thread"))
        test.check(used > 0, "the collector used no CPU")


if __name__ == "__main__":
    harness.main(vm_threads)
