"""What MappedByteBuffer.force throws when the kernel refuses to write: the same with the agent in between as without it,
also while an attach binds the JDK's native, and what stands in for it meanwhile is called."""

import errno
import os

import harness
from running import running

ERRORS = (errno.EIO, errno.ENOMEM, errno.EBUSY)
HAS_STAND_IN = 25  # there, the native is exported by no library


def force_errors(test):
    reasons = [os.strerror(error) for error in ERRORS]
    library = f"{test.libraries}/libfailing_msync.so"
    with running(test, f"-agentpath:{library}", "ForceErrors", library, test.live / "mapped",
                 prefix=["env", f"LD_PRELOAD={library}"]) as program:
        _, plain = thrown_meanwhile(program)
        test.check(len(plain) == len(ERRORS) and all(any(reason in told for told in plain) for reason in reasons),
                   f"without the agent: {plain}")
        program.attach(waits="on", sample="none")
        calls, told = thrown_meanwhile(program)
        test.check(told == plain, f"during the attach: {told}, not {plain}")
        test.check(calls > 0 or test.major < HAS_STAND_IN, "nothing stood in for the JDK's native")
        _, told = thrown_meanwhile(program)
        test.check(told == plain, f"with the agent: {told}, not {plain}")
        program.done("stop")
    (test.live / "mapped").unlink()


def thrown_meanwhile(program):
    """How often the agent's own function has been called, and what was thrown since the time before."""
    calls, *told = program.ask("told").split("; ")
    return int(calls), told


if __name__ == "__main__":
    harness.main(force_errors)
