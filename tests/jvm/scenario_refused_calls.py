"""A JVM under a seccomp filter, as in a container, which refuses what the agent can do without, with either error: the
program runs as without the agent, each number that does not need the call is right, and the report says what is missing.
Of mprotect a filter sees no more than that the JVM calls it, too: native_locks refuses the agent's in another way."""

import errno
import os
import platform

import harness
import run_program

ALL = ("perf_event_open", "timer_create", "process_vm_readv", "rseq", "memfd_create", "netlink")
ERRORS = {"EPERM": errno.EPERM, "ENOSYS": errno.ENOSYS}


def refused_calls(test):
    if platform.machine() != "x86_64":
        raise harness.Skip("samples are of x86-64")
    for error, number in ERRORS.items():
        nothing_is_left(test, error, number)
        short_interval(test, error, number)


def nothing_is_left(test, error, number):
    """Clock, samples and taskstats: each has its line."""
    views, text = run(test, error, ALL, metrics="all", sample="cpu")
    balance = views["threads"]["balance"]
    samples = balance["samples"]
    test.check(balance["clock"] == "plain", f"{error}: the clock is {balance['clock']}")
    test.check(samples["taken"] == 0, f"{error}: {samples['taken']} samples without timers")
    test.check(samples["timer_errno"] == number, f"{error}: {samples}")
    check_said(test, text, f"threads were refused their timers: {os.strerror(number)}")
    check_said(test, text, f"taskstats: {os.strerror(number)}")


def short_interval(test, error, number):
    """Perf events alone are refused: timers do it."""
    views, text = run(test, error, ("perf_event_open",), sample="cpu", interval="1ms")
    samples = views["threads"]["balance"]["samples"]
    test.check(samples["clock"] == "timer" and samples["clock_errno"] == number, f"{error}: {samples}")
    test.check(samples["timer_errno"] == 0 and samples["taken"] > 0, f"{error}: {samples}")
    check_said(test, text, f"perf events were refused: {os.strerror(number)}")


def check_said(test, text, said):
    test.check(said in text, f"the report does not say: {said}\n{text}")


def run(test, error, calls, **options):
    """The views, and the report as text, of a program with known shares."""
    prefix = [f"{test.libraries}/refuse", error, *calls, "--"]
    test.ledger.unlink(missing_ok=True)
    plain = test.java("KnownShares", prefix=prefix)
    agent = test.agent_option(include="KnownShares.*", waits="on", **options)
    traced = test.java("KnownShares", agent=agent, prefix=prefix)
    test.same_for_user(plain, traced, f"{error} {calls}")
    views = test.checked_report()
    run_program.check_shares(test, views, run_program.expect_lines(traced.out, "share"))
    test.close_balance(views)
    return views, test.text_report(test.ledger, "--view", "threads").out


if __name__ == "__main__":
    harness.main(refused_calls)
