"""Short-lived native threads in a loop of allocations, sampled every 500 µs of their CPU: the handler runs on threads
that never touched the JVM's thread-local memory, in the middle of malloc, and must allocate nothing itself."""

import harness

THREADS = 40
# Of CPU each: longer than the profiler takes to find a native thread; on a busy machine it takes longer.
MS = (40, 200, 500)


def native_allocations(test):
    plain = test.java("NativeAllocations", THREADS, MS[0])
    test.check(plain.out == f"{THREADS}\n", f"without the agent: {plain}")
    for clock in ("timer", "perf"):
        sampled = any(sampled_threads(test, plain, clock, ms) for ms in MS)
        test.check(sampled, f"sample-clock={clock}: no native thread was sampled")


def sampled_threads(test, plain, clock, ms):
    """How many there are, of a run."""
    test.ledger.unlink(missing_ok=True)
    agent = test.agent_option(events="none", sample="cpu", interval="500us", sample_clock=clock)
    traced = test.java("NativeAllocations", THREADS, ms, agent=agent)
    test.same_for_application(plain, traced, f"sample-clock={clock}")
    rows = test.report("threads")["threads"]
    sampled = sum(row["kind"] == "native" and row["samples"] > 0 for row in rows)
    print(f"{clock}, {ms} ms each: {sampled} native threads with samples")
    return sampled


if __name__ == "__main__":
    harness.main(native_allocations)
