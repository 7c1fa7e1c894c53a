"""With `unwind=libunwind` samples have the frames that they have with tables: native ones above Java, Java above native
ones above Java, and those of the JVM's own threads. The report says what walked through them."""

import harness
import sampled
from scenario_sample_frames import STACKS, check_most

CPU_MS = 400
SHARE = 0.2  # of a thread's samples: beside a busy machine its start takes the most, since compilers come late
FIRST_FRAMES = ("__clone", "clone", "start_thread")


def sample_unwind(test):
    sampled.check_unless_chance(test, lambda longer: by_libunwind(test, longer))
    sampled.check_unless_chance(test, lambda longer: run(test, None, longer))


def by_libunwind(test, longer):
    tree = run(test, "libunwind", CPU_MS * longer)["tree"]
    for thread, wanted in STACKS[:3]:
        check_most(test, sampled.stacks(tree, thread), f"{thread}: {wanted}",
                   lambda path, wanted=wanted: sampled.follow(path, *wanted), share=SHARE)
    compilers = sampled.stacks(tree, "C? CompilerThre*")
    whole = sampled.count(compilers, lambda path: path[0].startswith(FIRST_FRAMES))
    test.check_likely(2 * whole >= sampled.count(compilers) - sampled.FAILED_ANYWAY, "compilers",
                      f"{whole} of {sampled.count(compilers)} stacks of compilers begin where threads do: "
                      f"{[path[:4] for path, _ in compilers[:4]]}")


def run(test, engine, cpu_ms):
    test.ledger.unlink(missing_ok=True)
    asked = {"unwind": engine} if engine else {}
    agent = test.agent_option(events="none", sample="cpu", interval="1ms", **asked)
    done = test.java("Frames", cpu_ms, agent=agent)
    test.check(done.status == 0 and not done.err, f"unwind={engine}: {done}")
    views = test.checked_report()
    told = sampled.check_books(test, views, f"unwind={engine}", 1_000_000)
    test.check(told["unwind"] == (engine or "tables"), f"unwind={engine}: the report says {told['unwind']}")
    # Who finds another thread in libunwind gives up, the more often the busier the machine is.
    failed = sampled.failures(told) - told["failed_walks"]["busy"]
    print(f"unwind={engine}: {told['taken']} samples, failed: {sampled.reasons(told)}")
    test.check_likely(sampled.are_few(failed, told["taken"]), "failed walks",
                      f"unwind={engine}: {failed} of {told['taken']} walks failed: {sampled.reasons(told)}")
    return views


if __name__ == "__main__":
    harness.main(sample_unwind)
