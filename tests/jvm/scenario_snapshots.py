"""Snapshots of a JVM that runs: JVMTI.data_dump, SIGQUIT, JVMTI.agent_load with `dump`, and twenty of
them under load. Each is complete, calls only grow, the application goes on and its result is right."""

import os
import signal

import harness

MANY = 20


def snapshots(test):
    agent = test.agent_option(include="Load.*", file=test.scratch / "dump-%p-%n.ledger")
    with test.started(test.java_command("Load", agent=agent)) as process:
        test.wait_until(test.printed, "the program does not start")
        test.check(len(test.live_ledgers(process.pid)) == 1, f"live: {test.live_ledgers()}")
        calls = [dump_by_jcmd(test, process.pid)]
        calls.append(dump_by_signal(test, process.pid))
        calls.append(dump_to_file(test, process.pid))
        calls += [dump_by_jcmd(test, process.pid) for _ in range(MANY)]
        process.stdin.close()
        status = process.wait(timeout=harness.LIMIT_S)
    test.check(calls == sorted(calls), f"calls do not grow from dump to dump: {calls}")
    test.check(len(set(calls)) == len(calls), f"calls stand still: {calls}")
    lines = test.printed()
    test.check(status == 0 and lines.count("right") == 2, f"status {status}: {lines[-5:]}")
    test.check(not any(line.startswith("treadle") for line in lines), "the agent prints something")
    test.check(not test.live_ledgers(), f"the live ledger stays: {test.live_ledgers()}")
    total = int(lines[-1].split()[-1])
    last = max(test.snapshots(), key=lambda path: path.stat().st_mtime_ns)
    test.check(steps_in(test, last) == total, f"the last snapshot has not {total} calls")
    test.close_balance(test.checked_report(last))


def steps_in(test, ledger):
    methods = test.checked_report(ledger)["flat"]["methods"]
    return sum(m["calls"] for m in methods if m["method"] == "step")


def new_snapshot(test, before):
    """The one that was not there before; a dump may take a moment after it was asked for."""
    new = test.wait_until(lambda: set(test.snapshots()) - set(before), "no snapshot is written")
    test.check(len(new) == 1, f"several snapshots at once: {new}")
    return new.pop()


def jcmd(test, pid, *arguments):
    done = test.run([test.jdk / "bin/jcmd", pid, *arguments])
    test.check(done.status == 0, f"jcmd {arguments}: {done.out} {done.err}")
    return done.out


def dump_by_jcmd(test, pid):
    before = test.snapshots()
    jcmd(test, pid, "JVMTI.data_dump")
    return steps_in(test, new_snapshot(test, before))


def dump_by_signal(test, pid):
    before = test.snapshots()
    os.kill(pid, signal.SIGQUIT)
    return steps_in(test, new_snapshot(test, before))


def dump_to_file(test, pid):
    path = test.scratch / "asked for.ledger"
    out = jcmd(test, pid, "JVMTI.agent_load", test.agent, f'"dump,file:{path}"')
    test.check("return code: 0" in out, f"agent_load: {out}")
    test.check(path.exists(), f"agent_load wrote no {path}; there are {test.snapshots()}")
    return steps_in(test, path)


if __name__ == "__main__":
    harness.main(snapshots)
