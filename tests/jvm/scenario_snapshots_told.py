"""With log=info each snapshot's path stands on the JVM's stderr, once: that of JVMTI.data_dump, of SIGQUIT and of the
JVM's end; `treadle list` finds each, by that path. Without file= they lie in the JVM's working folder."""

import json
import os
import re
import signal

import harness

TOLD = re.compile(r"treadle: snapshot (.+)")


def told(test):
    return [match[1] for match in map(TOLD.fullmatch, test.printed()) if match]


def listed(test):
    done = test.run([test.treadle, "list", "--json"])
    test.check(done.status == 0, f"list: {done.err}")
    return {os.path.realpath(test.scratch / ledger["path"]): ledger["state"]
            for ledger in json.loads(done.out)["ledgers"]}


def snapshots_are_told(test, file, expected):
    """expected: of each of the three snapshots, with the JVM's pid in it."""
    agent = test.agent_option(include="Load.*", file=file, log="info")
    with test.started(test.java_command("Load", agent=agent)) as process:
        test.wait_until(lambda: "ready" in test.printed(), "the program does not start")
        expected = [str(test.scratch / name.replace("PID", str(process.pid))) for name in expected]
        done = test.run([test.jdk / "bin/jcmd", process.pid, "JVMTI.data_dump"])
        test.check(done.status == 0, f"jcmd: {done.out} {done.err}")
        test.wait_until(lambda: len(told(test)) >= 1, "no line on the snapshot of JVMTI.data_dump")
        os.kill(process.pid, signal.SIGQUIT)
        test.wait_until(lambda: len(told(test)) >= 2, "no line on the snapshot of SIGQUIT")
        process.stdin.close()
        status = process.wait(timeout=harness.LIMIT_S)
    test.check(status == 0, f"status {status}")
    test.check(told(test) == expected, f"told {told(test)}, expected {expected}")
    states = listed(test)
    for path in set(expected):
        test.check(states.get(os.path.realpath(path)) == "snapshot", f"treadle list has not {path}: {states}")
        os.unlink(path)


def all_are_told(test):
    snapshots_are_told(test, test.scratch / "named-%p-%n.ledger",
                       ["named-PID-1.ledger", "named-PID-2.ledger", "named-PID-3.ledger"])
    snapshots_are_told(test, None, 3 * ["treadle-PID.ledger"])


if __name__ == "__main__":
    harness.main(all_are_told)
