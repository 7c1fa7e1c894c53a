"""A JVM whose standard input, output or error is closed: what the program prints is written into no file of the agent's,
and the ledger is whole. A limit of the size of files leaves the program without profiling, and alive."""

import itertools
import os
import resource

import harness

LIMIT_BYTES = 64 << 10


def closed_files(test):
    for count in (1, 2, 3):
        for closed in itertools.combinations((0, 1, 2), count):
            test.ledger.unlink(missing_ok=True)
            run = test.java("MutualRecursion", agent=test.agent_option(log="error"), preexec_fn=lambda: close(closed))
            test.check(run.status == 0, f"{closed} closed: {run}")
            rows = test.report("threads")["threads"]
            test.check(any(row["name"] == "main" and row["calls"] > 0 for row in rows), f"{closed} closed: {rows}")
            test.check(not list(test.live.iterdir()), f"{closed} closed: {list(test.live.iterdir())}")
    plain = test.java("MutualRecursion")
    limited = test.java("MutualRecursion", agent=test.agent_option(), preexec_fn=limit)
    test.check((limited.status, limited.out) == (0, plain.out), f"{LIMIT_BYTES} bytes a file: {limited}")
    test.check("File too large; not profiling" in limited.err, f"{LIMIT_BYTES} bytes a file: {limited.err}")


def close(descriptors):
    for descriptor in descriptors:
        os.close(descriptor)


def limit():
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT_BYTES, LIMIT_BYTES))


if __name__ == "__main__":
    harness.main(closed_files)
