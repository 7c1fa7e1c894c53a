"""Kernel threads that run no Java have rows too: collector, compilers. All rows together are what the
kernel says of the process, to within 0.5 %."""

import harness

CPU_MS = 2500
NAMES = ("GC Thread", "C1 CompilerThre", "C2 CompilerThre", "VM Thread")  # the kernel keeps 15 bytes


def vm_threads(test):
    # What a compiler thread that ends has used since the last look at it, nobody can tell.
    command = ["-XX:-UseDynamicNumberOfCompilerThreads", "-XX:+UseG1GC", "-XX:ParallelGCThreads=2", "-Xmx256m", "Garbage", CPU_MS]
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
        strange = {row["name"] for row in rows if row["name"].startswith(("VirtualThread", "ForkJoin"))}
        test.check(not strange, f"events={events}: the agent woke the scheduler of virtual threads: {strange}")
        used = sum(row["cpu_ns"] for row in rows if row["name"].startswith("GC Thread"))
        test.check(used > 0, "the collector used no CPU")


if __name__ == "__main__":
    harness.main(vm_threads)
