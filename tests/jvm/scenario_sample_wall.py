"""Wall samples: threads that wait in different ways and one that spins get the same number, with what they wait
in on top of their Java frames; and those that wait are not woken for it."""

import harness
import sampled

MS = 4500
INTERVAL_MS = 20
SIGMAS = 4
SEEN = 3  # samples in each of three waits of the same length: how many come is the machine's load's affair
WAKINGS = 40  # of a thread, for whatever reasons the JVM has; there are more samples than that

# Where a thread stands, and how its stack must go on at its end.
WAITING = {
    "sleeper": ("Waits.sleep", "java.lang.Thread.sleep*"),
    "waiter": ("Waits.waitForIt", "java.lang.Object.wait*"),
    "reader": ("Waits.read", "sun.nio.ch.*"),
    "parker": ("Waits.park", "java.util.concurrent.locks.LockSupport.park", "jdk.internal.misc.Unsafe.park"),
    "spinner": ("Waits.spin",),
    "native": ("Waits.waitInKernel",),
}
NATIVE_TOP = {"native": ("*nanosleep*", "*poll*", "*select*")}


def wall(test):
    sampled.check_unless_chance(test, lambda longer: of_waits(test, MS * longer))


def of_waits(test, ms):
    test.ledger.unlink(missing_ok=True)
    plain = test.java("Waits", ms)
    test.check("read 42\nnanosleep 0 poll 0 select 0 errno 0\n" == plain.out, f"without the agent: {plain}")
    agent = test.agent_option(events="none", sample="wall", interval=f"{INTERVAL_MS}ms")
    test.same_for_user(plain, test.java("Waits", ms, agent=agent))
    views = test.checked_report()
    sampled.check_books(test, views)
    taken = {name: waiting(test, views["tree"], name) for name in WAITING}
    print(taken)
    check_numbers(test, taken, ms // INTERVAL_MS)
    for row in views["threads"]["threads"]:
        if row["name"] in WAITING and row["name"] != "spinner":
            woken = row["metrics"]["voluntary_switches"]
            test.check_likely(woken <= WAKINGS, f"{row['name']} woken",
                              f"{row['name']} was woken {woken} times by {row['samples']} samples")


def waiting(test, tree, name):
    """How many samples found the thread where it waits."""
    found = sampled.stacks(tree, name)
    right = sampled.count(found, lambda path: stands_in(path, WAITING[name]))
    all_ = sampled.count(found)
    odd = [path for path, _ in found if not stands_in(path, WAITING[name])]
    allowed = max(3, all_ // 5)  # when it started and ended
    test.check_likely(all_ - right <= allowed, f"{name} elsewhere",
                      f"{name}: {all_ - right} of {all_} samples elsewhere: {odd[:5]}")
    for function in NATIVE_TOP.get(name, ()):
        inside = sampled.count(found, lambda path: sampled.follow(path, WAITING[name][-1], function))
        test.check_likely(inside >= SEEN, function, f"{name}: {inside} of {all_} samples in {function}")
    return right


def stands_in(path, wanted):
    """The last Java frame is the last of those wanted, which follow each other."""
    java = [frame for frame in path if not frame.endswith("]")]
    return bool(java) and sampled.follow(path, *wanted) and sampled.matches(java[-1:], wanted[-1:])


def check_numbers(test, taken, most):
    mean = sum(taken.values()) / len(taken)
    test.check_likely(SEEN <= mean <= most + most // 5, "mean", f"{mean} samples a thread, of {most} at most: {taken}")
    for name, samples in taken.items():
        test.check_likely(abs(samples - mean) <= SIGMAS * mean ** 0.5, f"{name} has",
                          f"{name} has {samples} samples, the six have {mean} on average: {taken}")


if __name__ == "__main__":
    harness.main(wall)
