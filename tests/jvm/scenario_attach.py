"""Attached to a running program, in the middle of deep calls: counts, trees, names, parents and renames from
that moment on, status, dump and reports meanwhile; and everything that is refused, in one line each."""

import json
from pathlib import Path

import expected as expectation
import harness
import run_program
from running import Program, running

SOURCE = Path(__file__).parent / "Attached.java"
TALK = ("rounds 5000", "spawn", "rename", "up", "rounds 2000")
WORKERS = 3

WRONG = [  # what is asked at the command line, what the line must name
    (["-O", "evnts=instrument"], ["evnts", "events"]),
    (["-O", "events=jvmti"], ["events=jvmti", "start"]),
    (["-O", "max-mem=12Q"], ["12Q", "max-mem"]),
    (["--max-mem", "1"], ["max-mem"]),
    (["--clock", "rsq"], ["rsq", "rseq"]),
    (["--metrics", "swiches"], ["swiches", "switches"]),
    (["-O", "live-dir=/missing"], ["/missing"]),
    (["-O", "include="], ["include"]),
]


def attach(test):
    wanted = expectation.parse(SOURCE)
    with running(test, "Attached") as program:
        for line in TALK:
            program.ask(line)
        plain = program.end()
    test.check("wrong: 0" in plain.out, f"the program is wrong by itself: {plain}")

    with running(test, "Attached") as program:
        wrong_options(test, program)
        program.attach("--include", wanted.include)
        test.check("is profiled already" in program.refused("attach"), "attached twice")
        check_profiled(test, program)
        traced = program.end()
    test.events = "instrument"
    run_program.check(test, wanted, plain, traced)
    test.close_balance(test.checked_report())
    not_let_in(test, plain)


def wrong_options(test, program):
    before = program.printed()
    for arguments, names in WRONG:
        line = program.refused("attach", *arguments)
        test.check(all(name in line for name in names), f"{arguments}: {names} not in: {line}")
    for command in ("stop", "start", "status", "dump"):
        line = program.refused(command)
        test.check("is not profiled" in line or "has no ledger" in line, f"{command}: {line}")
    test.check(program.treadle("attach", "--events", "jvmti").status == 2, "--events jvmti is taken")
    test.check(program.printed() == before, "the JVM itself said something")
    test.check(not test.live_ledgers() and not test.snapshots(), "something was written")


def check_profiled(test, program):
    """What Treadle says while the program works, after each thing that it was told."""
    status = json.loads(program.done("status", "--json"))
    test.check(status["state"] == "profiling" and status["attached_after_ns"] > 0,
               f"status: {status}")
    test.check(status["hooks"]["methods"] > 0 and not status["hooks"]["default_filter"],
               f"status: {status['hooks']}")
    program.ask(TALK[0])
    dumped = test.scratch / "dumped.ledger"
    program.done("dump", "-o", dumped)
    check_calls(test, test.checked_report(dumped)["flat"], 5000 * WORKERS)
    check_calls(test, test.report("flat", str(program.pid)), 5000 * WORKERS)
    # Another filter is for a start, not for an agent that is there.
    test.check("profiled already" in program.refused("attach", "--include", "x"), "attached twice")
    for line in TALK[1:]:
        program.ask(line)
    check_calls(test, test.report("flat", str(program.pid)), 7000 * WORKERS + 2 * 3)


def check_calls(test, flat, rounds):
    calls = sum(m["calls"] for m in flat["methods"] if m["method"] == "round")
    test.check(calls == rounds, f"{calls} calls of round, not {rounds}")


def not_let_in(test, plain):
    """JVMs that refuse agents, or to be attached to at all."""
    for flag, names in (("-XX:-EnableDynamicAgentLoading", ["EnableDynamicAgentLoading"]),
                        ("-XX:+DisableAttachMechanism", ["DisableAttachMechanism"])):
        with test.started(test.java_command(flag, "Attached")) as process:
            program = Program(test, process)
            program.answer("its start")
            line = program.refused("attach")
            test.check(all(name in line for name in names), f"{flag}: {names} not in: {line}")
            for line in TALK:
                program.ask(line)
            test.same_for_user(plain, program.end(), flag)


if __name__ == "__main__":
    harness.main(attach)
