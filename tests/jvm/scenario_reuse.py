"""Who pays for what a kernel thread burnt between two Java threads: reuse=previous, reuse=new."""

import harness
from run_program import CPU_PPM, expect_lines


def reuse(test):
    plain = test.java("NativeAttach")
    for mode, payer in (("previous", "job-A"), ("new", "job-B")):
        test.ledger.unlink(missing_ok=True)
        agent = test.agent_option(include="NativeAttach.*", reuse=mode)
        traced = test.java("NativeAttach", agent=agent)
        test.same_for_user(plain, traced, f"reuse={mode}")
        views = test.checked_report()
        want = expect_lines(traced.out, "gap-cpu")["job-A"]
        for thread in views["tree"]["threads"]:
            gap = sum(n["cum"]["cpu_ns"] for n in thread["root"]["children"] if n["kind"] == "gap")
            if thread["name"] == payer:
                test.check(abs(gap - want) * 1_000_000 <= CPU_PPM * want,
                           f"reuse={mode}: {payer} pays {gap} ns, not {want}")
            elif thread["name"].startswith("job-"):
                test.check(gap * 1_000_000 <= CPU_PPM * want,
                           f"reuse={mode}: {thread['name']} pays {gap} ns, not {payer}")


if __name__ == "__main__":
    harness.main(reuse)
