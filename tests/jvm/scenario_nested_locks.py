"""Of ten locks that a thread holds at once, and that others wait for, there is room for eight Locks and eight monitors: the
holds of two are counted as lost, each time, and all others are known."""

import harness

MS = 4000
CLASSES = {"locks": "java.util.concurrent.locks.ReentrantLock$NonfairSync", "monitors": "java.lang.Object"}
BEYOND = 2
KNOWN = 18  # of a round: the other eight, and one of each that waits
PARTLY = 3 * (KNOWN + BEYOND)  # rounds in which some of the hooks came


def check_kind(test, kind):
    done = test.java("NestedLocks", MS, kind,
                     agent=test.agent_option(events="instrument", include="NestedLocks.*", sample="none", waits="on"))
    test.check(done.status == 0, f"{done}")
    rounds = int(done.out)
    losses = test.report("threads").get("losses", ())
    lost = sum(loss["count"] for loss in losses if loss["what"] == "lost_holds")
    # Hooks come after the first contention.
    test.check(0 < lost <= rounds * BEYOND, f"{kind}: {lost} holds are lost in {rounds} rounds")
    locks = test.report("locks")["locks"]
    known = sum(lock["holds"] for lock in locks if lock["class"] == CLASSES[kind])
    test.check(abs(known - lost // BEYOND * KNOWN) <= PARTLY, f"{kind}: {known} holds are known, {lost} lost")


def nested_locks(test):
    check_kind(test, "locks")
    check_kind(test, "monitors")


if __name__ == "__main__":
    harness.main(nested_locks)
