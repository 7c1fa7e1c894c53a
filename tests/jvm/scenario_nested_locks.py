"""Of ten Locks that a thread holds at once there is room for eight: the holds of two are counted as lost, each time."""

import harness

MS = 3000
BEYOND = 2


def nested_locks(test):
    done = test.java("NestedLocks", MS, agent=test.agent_option(events="instrument", include="NestedLocks.*",
                                                                sample="none", waits="on"))
    test.check(done.status == 0, f"{done}")
    rounds = int(done.out)
    losses = test.report("threads").get("losses", ())
    lost = sum(loss["count"] for loss in losses if loss["what"] == "lost_holds")
    # Hooks of Locks come after the first contention.
    test.check(0 < lost <= rounds * BEYOND, f"{lost} holds are lost in {rounds} rounds")


if __name__ == "__main__":
    harness.main(nested_locks)
