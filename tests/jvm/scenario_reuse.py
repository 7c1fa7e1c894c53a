"""Who pays for what a kernel thread burnt between two Java threads: reuse=previous, reuse=new."""

import harness
from run_program import expect_bounds, gap_ns, is_within


def reuse(test):
    plain = test.java("NativeAttach")
    for mode, payer in (("previous", "job-A"), ("new", "job-B")):
        test.ledger.unlink(missing_ok=True)
        agent = test.agent_option(include="NativeAttach.*", reuse=mode)
        traced = test.java("NativeAttach", agent=agent)
        test.same_for_user(plain, traced, f"reuse={mode}")
        views = test.checked_report()
        least, most = expect_bounds(traced.out, "gap-cpu")["job-A"]
        for thread in views["tree"]["threads"]:
            gap = gap_ns(thread)
            if thread["name"] == payer:
                test.check(is_within(gap, least, most),
                           f"reuse={mode}: {payer} pays {gap} ns, not {least} to {most}")
            elif thread["name"].startswith("job-"):
                test.check(gap < least // 10,
                           f"reuse={mode}: {thread['name']} pays {gap} ns, not {payer}")


if __name__ == "__main__":
    harness.main(reuse)
