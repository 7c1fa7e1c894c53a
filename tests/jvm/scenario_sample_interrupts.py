"""Samples end no wait of the program early: none of thousands of short waits fails with EINTR, under wall samples
and under samples of CPU time by timers, however often they come. (Perf events' signals can: README, Limits.)"""

import harness
import sampled

MS = 2500
THREADS = 3
HOW = ({"sample": "wall", "interval": "1ms"}, {"sample": "cpu", "interval": "1ms", "sample-clock": "timer"})
UNDISTURBED = "nanosleep 0 poll 0 select 0 epoll 0 receive 0 \n" * THREADS
LEAST = 1  # sample of a thread that was running: a busy machine leaves few


def interrupts(test):
    plain = test.java("Interrupts", MS, THREADS)
    test.check(plain.out == UNDISTURBED, f"without the agent: {plain}")
    for how in HOW:
        sampled.check_unless_chance(test, lambda longer, how=how: undisturbed(test, plain, how, MS * longer))


def undisturbed(test, plain, how, ms):
    test.ledger.unlink(missing_ok=True)
    done = test.java("Interrupts", ms, THREADS, agent=test.agent_option(events="none", **how))
    test.same_for_user(plain, done, f"{how}")
    views = test.checked_report()
    sampled.check_books(test, views, f"{how}")
    working = sum(sampled.count(sampled.stacks(views["tree"], f"waits-{i}"),
                                lambda path: any("work" in frame or "recv" in frame for frame in path))
                  for i in range(THREADS))
    print(f"{how}: {working} samples at work")
    test.check_likely(working >= LEAST, "working", f"{how}: only {working} samples of threads at work")


if __name__ == "__main__":
    harness.main(interrupts)
