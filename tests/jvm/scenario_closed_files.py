"""A JVM whose standard input, output or error is closed: what the program prints is written into no file of the agent's,
the ledger is whole, and what the agent keeps open has none of these numbers. A limit of the size of files leaves the
program without profiling, and alive."""

import itertools
import os
import resource
import subprocess

import harness

LIMIT_BYTES = 64 << 10
LOOKS = 100


def closed_files(test):
    for count in (1, 2, 3):
        for closed in itertools.combinations((0, 1, 2), count):
            test.ledger.unlink(missing_ok=True)
            run = test.java("MutualRecursion", agent=test.agent_option(log="error"), preexec_fn=lambda: close(closed))
            test.check(run.status == 0, f"{closed} closed: {run}")
            rows = test.report("threads")["threads"]
            test.check(any(row["name"] == "main" and row["calls"] > 0 for row in rows), f"{closed} closed: {rows}")
            test.check(not list(test.live.iterdir()), f"{closed} closed: {list(test.live.iterdir())}")
    kept_files(test)
    plain = test.java("MutualRecursion")
    limited = test.java("MutualRecursion", agent=test.agent_option(), preexec_fn=limit)
    test.check((limited.status, limited.out) == (0, plain.out), f"{LIMIT_BYTES} bytes a file: {limited}")
    test.check("File too large; not profiling" in limited.err, f"{LIMIT_BYTES} bytes a file: {limited.err}")


def kept_files(test):
    """All that the agent can keep open: files of /proc, perf events, taskstats, libunwind's pipe. The numbers of the closed files have only
    what the JVM itself opens."""
    own = standard_files(test, None)
    for options in ({"clock": "perf", "sample": "cpu", "interval": "1ms"}, {"clock": "plain", "sample": "none"},
                    {"sample": "cpu", "unwind": "libunwind", "metrics": "cpu"}):
        found = standard_files(test, test.agent_option(**{"metrics": "all", "log": "error"} | options))
        test.check(found <= own, f"{options}: {found - own} in place of standard input and error")


def standard_files(test, agent):
    """What is kept open under the numbers of a running program's closed standard input and error: in each of many
    looks, since files may be open for a moment."""
    command = test.java_command("Progress", agent=agent)
    with subprocess.Popen(command, cwd=test.scratch, env=harness.environment(), stdout=subprocess.PIPE,
                          preexec_fn=lambda: close((0, 2))) as process:
        try:
            looks = []
            for _ in range(LOOKS):
                test.check(process.stdout.readline().strip().isdigit(), f"{command} does not run")
                looks.append({name for number in (0, 2) if (name := name_of(process.pid, number))})
            return set.intersection(*looks)
        finally:
            process.kill()


def name_of(pid, number):
    """The file's; None: it is closed."""
    try:
        return os.readlink(f"/proc/{pid}/fd/{number}")
    except FileNotFoundError:
        return None


def close(descriptors):
    for descriptor in descriptors:
        os.close(descriptor)


def limit():
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT_BYTES, LIMIT_BYTES))


if __name__ == "__main__":
    harness.main(closed_files)
