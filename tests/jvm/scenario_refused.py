"""What a container may refuse: perf_event_open, netlink, restartable sequences, capabilities. The agent
finds another clock, the trees stay exact, the CPU stays right, and the user sees nothing."""

import ctypes
import platform
import shutil
import struct

import harness
import run_program

PERF_EVENT_OPEN, SOCKET, AF_NETLINK, EPERM = 298, 41, 16, 1  # x86-64
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | EPERM
NUMBER, FIRST_ARGUMENT = 0, 16  # offsets in struct seccomp_data

FILTER = [
    (LOAD, 0, 0, NUMBER),
    (JUMP_IF_EQUAL, 4, 0, PERF_EVENT_OPEN),  # to REFUSE
    (JUMP_IF_EQUAL, 0, 2, SOCKET),           # else to ALLOW
    (LOAD, 0, 0, FIRST_ARGUMENT),
    (JUMP_IF_EQUAL, 1, 0, AF_NETLINK),
    (RETURN, 0, 0, ALLOW),
    (RETURN, 0, 0, REFUSE),
]


def refuse_perf_and_netlink():
    """In the child, before exec: a seccomp filter that the JVM inherits."""
    code = b"".join(struct.pack("HBBI", *line) for line in FILTER)
    buffer = ctypes.create_string_buffer(code)
    program = struct.pack("HxxxxxxP", len(FILTER), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if (libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or
            libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0)):
        raise OSError(ctypes.get_errno(), "prctl")


def refused(test):
    if platform.machine() != "x86_64":
        raise harness.Skip("the filter is written for x86-64")
    no_rseq = {"GLIBC_TUNABLES": "glibc.pthread.rseq=0"}
    test.check(clock_of(test, "no perf", preexec_fn=refuse_perf_and_netlink) != "perf",
               "the clock is perf where perf is refused")
    test.check(clock_of(test, "no rseq", extra_environment=no_rseq) != "rseq",
               "the clock is rseq where rseq is not registered")
    clock = clock_of(test, "neither", preexec_fn=refuse_perf_and_netlink, extra_environment=no_rseq)
    test.check(clock == "plain", f"the clock is {clock} where there is neither perf nor rseq")
    if shutil.which("setpriv"):
        drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]
        clock_of(test, "no capabilities", prefix=drop)
    else:
        print("setpriv is missing: not tested without capabilities")


def clock_of(test, what, **how):
    """Runs a program with known shares under these conditions; the clock that its report names."""
    test.ledger.unlink(missing_ok=True)
    plain = test.java("KnownShares", **how)
    agent = test.agent_option(include="KnownShares.*", metrics="all")
    traced = test.java("KnownShares", agent=agent, **how)
    test.same_for_user(plain, traced, what)
    views = test.checked_report()
    run_program.check_shares(test, views, run_program.expect_lines(traced.out, "share"))
    test.close_balance(views)
    return views["threads"]["balance"]["clock"]


if __name__ == "__main__":
    harness.main(refused)
