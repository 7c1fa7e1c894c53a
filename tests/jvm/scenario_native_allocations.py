"""Short-lived native threads in a loop of allocations, sampled every 500 µs of their CPU: the handler runs on threads
that never touched the JVM's thread-local memory, in the middle of malloc, and must allocate nothing itself."""

import harness

THREADS = 40
MS = 40  # of CPU each: longer than the profiler takes to find a native thread


def native_allocations(test):
    plain = test.java("NativeAllocations", THREADS, MS)
    test.check(plain.out == f"{THREADS}\n", f"without the agent: {plain}")
    for clock in ("timer", "perf"):
        test.ledger.unlink(missing_ok=True)
        agent = test.agent_option(events="none", sample="cpu", interval="500us", sample_clock=clock)
        traced = test.java("NativeAllocations", THREADS, MS, agent=agent)
        test.same_for_application(plain, traced, f"sample-clock={clock}")
        rows = test.report("threads")["threads"]
        sampled = [row for row in rows if row["kind"] == "native" and row["samples"]]
        print(f"{clock}: {len(sampled)} native threads with samples")
        test.check(sampled, f"sample-clock={clock}: no native thread was sampled")


if __name__ == "__main__":
    harness.main(native_allocations)
