"""Twenty killed JVMs: each leaves its ledger, and the next one that starts removes those beyond the bound; with
orphans=keep all stay. `treadle list --remove` removes them by hand."""

import harness

KILLED = 20
KEPT = 10  # native/ledger/orphan_ledgers.h


def orphans(test):
    killed(test, KILLED, orphans="keep")
    test.check(len(test.live_ledgers()) == KILLED, f"orphans=keep: {test.live_ledgers()}")
    paths = killed(test, 2)
    left = test.live_ledgers()
    # The first of the two found twenty orphans, the second those that were left, and the first.
    test.check(len(left) == KEPT + 1 and set(paths) <= set(left), f"by default: {len(left)}: {left}")
    done = test.run([test.treadle, "list", "--remove", *left])
    test.check(done.status == 0 and set(done.out.split()) == set(map(str, left)), f"--remove: {done}")
    test.check(not test.live_ledgers(), f"--remove left {test.live_ledgers()}")


def killed(test, count, **options):
    """Their ledgers."""
    command = test.java_command("Progress", agent=test.agent_option(include="Progress.none", **options))
    paths = []
    for _ in range(count):
        with test.started(command) as process:
            test.wait_until(test.printed, "the program prints nothing")
        paths += test.live_ledgers(process.pid)
    return paths


if __name__ == "__main__":
    harness.main(orphans)
