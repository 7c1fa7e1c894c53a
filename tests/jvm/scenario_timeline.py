"""treadle timeline: waits, calls, pauses and arrows stand where the program's own clock has them, and their sums are the
report's; 100,000 switches a second are recorded or counted, by the kernel's own count; from the start, attached, one
after the other, of a JVM that is killed meanwhile, and of what a killed one has left behind."""

import contextlib
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import harness
import sampled
from running import Program, running

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
from perfetto_trace import Trace  # pylint: disable=wrong-import-position

SLICES = {"sleep": "sleep", "park": "park java.lang", "object": "object wait", "monitor": "monitor java.lang.Object",
          "call": "TimelineTruth.longCall", "gc": "garbage collection"}
PARTS = {"sleep": "sleep_ns", "park": "park_ns", "object wait": "object_wait_ns", "monitor": "monitor_ns"}
WANTED_NS = 60_000_000  # as long as each of them lasts at least
CLOCK_NS = 20_000  # by which a slice may stand out: the rate of the counter behind a call's begin
TOLERANCE, EACH_NS = 0.01, 100_000
TURNS = 50_000
UNTIL_NS = slice(64, 72)  # where it is in a timeline's file
EVENTS_BYTES = 32 << 20  # what the agent keeps: an eighth of the tool's default
READING = 200  # switches beside the turns: of the thread while it reads its own count, on a busy machine


def timeline(test):
    sampled.check_unless_chance(test, lambda _: from_the_start(test))
    sampled.check_unless_chance(test, lambda _: attached(test))
    switches(test)
    sampled.check_unless_chance(test, lambda _: killed(test))
    sampled.check_unless_chance(test, lambda _: left_behind(test))


def environment(test):
    return {"TREADLE_AGENT": str(test.agent)}


@contextlib.contextmanager
def recording(test, program, *arguments, name="trace"):
    """`treadle timeline PID` beside the program, until the end of the block: then it is told to end. Yields a list,
    which has what it said once it has ended."""
    before = timelines(test)
    tool = subprocess.Popen([test.treadle, "timeline", str(program.pid), "--for", "1000s", "-o", test.scratch / name,
                             *arguments], cwd=test.scratch, env=harness.environment() | environment(test),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said = []
    try:
        test.wait_until(lambda: tool.poll() is not None or any(map(is_recorded, timelines(test) - before)),
                        "no timeline begins")
        yield said
        if tool.poll() is None:
            tool.send_signal(signal.SIGINT)
        out, err = tool.communicate(timeout=harness.LIMIT_S)
        test.check(tool.returncode == 0, f"treadle timeline: {tool.returncode}: {out}{err}")
        said.append(out)
        test.check(not timelines(test), f"left behind: {timelines(test)}")
    finally:
        tool.kill()
        tool.communicate()


def is_recorded(timeline):
    """Its file is there before: on a busy machine it takes a while to allocate. until_ns of the header is set last."""
    with contextlib.suppress(FileNotFoundError), timeline.open("rb") as file:
        return any(file.read(UNTIL_NS.stop)[UNTIL_NS])
    return False


def timelines(test):
    return set(test.live.glob("*.timeline"))


def measured(answer):
    """[(thread, what, begin, end)]"""
    return [(row.split()[0], row.split()[1], *map(int, row.split()[2:])) for row in answer.split("; ")]


def check_rows(test, trace, rows):
    threads = trace.by_thread()
    for thread, what, begin, end in rows:
        if what == "gc":
            inside = [s for slices in threads.values() for s in slices
                      if s[1] == SLICES["gc"] and begin <= s[3] and s[4] <= end]
            test.check(inside, f"no pause in {begin} to {end}")
            continue
        inside = [s for s in threads.get(thread, []) if s[1].startswith(SLICES[what].split(" ")[0])
                  and begin - CLOCK_NS <= s[3] and s[4] <= end + CLOCK_NS]
        test.check(inside, f"{thread}: no {what} in {begin} to {end}: {threads.get(thread)}")
        took = sum(s[4] - s[3] for s in inside if s[0] == min(depth for depth, *_ in inside))
        test.check(took <= end - begin + CLOCK_NS, f"{thread}: {took} ns of {what} in {end - begin}")
        # On a busy machine a thread may begin to wait long after it was told to.
        test.check_likely(WANTED_NS - CLOCK_NS <= took, f"{thread} {what}", f"{thread}: only {took} ns of {what}")
    for thread, what, begin, end in rows:
        if what == "monitor":
            found = [(x, y) for x, y, at in trace.drawn_arrows() if y == thread and begin <= at <= end]
            test.check(found == [(thread.replace("blocked", "holder"), thread)], f"arrows to {thread}: {found}")


def check_runs(test, trace, rows):
    """A thread that spins has a processor, one that sleeps has none; the same of the processors' tracks."""
    runs = trace.runs()
    for thread, what, begin, end in rows:
        on = sum(min(s[4], end) - max(s[3], begin) for s in runs.get(thread, []) if s[3] < end and s[4] > begin)
        if what in ("sleep", "park", "object", "monitor"):
            test.check_likely(on <= (end - begin) * 0.1, f"{what} runs", f"{thread}: runs {on} ns of {end - begin}")
        elif what == "call":
            test.check(on > 0, f"{thread}: has no processor")
    of_threads = sorted((thread, s[3], s[4]) for thread, slices in runs.items() for s in slices)
    of_processors = sorted((s[1], s[3], s[4]) for slices in trace.processors().values() for s in slices)
    test.check(of_threads == of_processors, "runs of threads and of processors are not the same")
    for processor, slices in trace.processors().items():
        ordered = sorted((s[3], s[4]) for s in slices)
        test.check(all(x[1] <= y[0] for x, y in zip(ordered, ordered[1:])), f"two threads on processor {processor}")


def check_sums(test, trace, ledger, rows):
    """Of threads that began and ended within the timeline."""
    report = {row["name"]: row["waits"] for row in test.report("waits", ledger)["threads"]}
    for thread in {row[0] for row in rows} - {"main"}:
        for reason, part in PARTS.items():
            waits = [s for s in trace.by_thread().get(thread, []) if s[2] == "wait" and s[1].startswith(reason)]
            took = sum(s[4] - s[3] for s in waits)
            off = abs(took - report[thread][part])
            test.check_likely(off <= took * TOLERANCE + EACH_NS * len(waits), f"{thread} {reason}",
                              f"{thread}: {took} ns of {reason} in slices, {report[thread][part]} in the report")


def from_the_start(test):
    trace = test.scratch / "trace"
    command = [test.treadle, "timeline", "-o", trace, "--include", "TimelineTruth.*", "--option", "sample=none",
               "--option", f"live-dir={test.live}", "--option", f"file={test.ledger}", "--option", "overhead=any",
               "--option", "fold=none", "--", *test.java_command("TimelineTruth")]
    with test.started(["env", f"TREADLE_AGENT={test.agent}", *command]) as tool:
        program = Program(test, tool)
        test.check(program.answer("its start") == "ready", "not ready")
        rows = measured(program.ask("round"))
        tool.stdin.close()
        test.check(tool.wait(timeout=harness.LIMIT_S) == 0, f"status {tool.returncode}: {test.printed()}")
    read = Trace(trace)
    check_rows(test, read, rows)
    check_runs(test, read, rows)
    check_sums(test, read, test.ledger, rows)
    # What the VM thread starts has its name until it takes its own.
    names = [read.name_of(place) for place in read.tracks if read.is_thread(place)]
    test.check(names.count("VM Thread") == 1, f"threads: {sorted(names)}")
    test.check(any("did not fit: 0 records of switches, 0 events" in line for line in test.printed()),
               f"{test.printed()}")
    test.ledger.unlink()


def held_bytes(program):
    return json.loads(program.done("status", "--json"))["held_bytes"]


def attached(test):
    """One timeline after the other; profiling is on for them only."""
    options = ("--include", "TimelineTruth.*", "--option", f"live-dir={test.live}", "--option", "sample=none")
    with running(test, "TimelineTruth") as program:
        for more in (options, ()):
            with recording(test, program, *more) as said:
                rows = measured(program.ask("round"))
                test.wait_until(lambda: held_bytes(program) > EVENTS_BYTES, "status does not know of the memory")
                refused = program.treadle("timeline", "--for", "1s")
                test.check(refused.status == 1 and "is being recorded already" in refused.err, f"{refused}")
            trace = Trace(test.scratch / "trace")
            check_rows(test, trace, rows)
            check_runs(test, trace, rows)
            test.check(f"timeline of {program.pid}, " in said[0], said[0])
            test.check("stopped" in program.done("status"), "profiling goes on")
            test.wait_until(lambda: held_bytes(program) < EVENTS_BYTES, "status still knows of the memory")
        test.check(program.end().status == 0, "the program")


def switches(test):
    """After a timeline that nobody ended, as when the tool was killed: the JVM does, after its time."""
    agent = test.agent_option(events="instrument", sample="none", waits="on", include="no.such.Method", overhead=None,
                              timeline="64M", timeline_for="500ms")
    with running(test, "TimelineTruth", agent=agent) as program:
        test.wait_until(lambda: not timelines(test), "a timeline that nobody ends does not end")
        test.wait_until(lambda: held_bytes(program) < EVENTS_BYTES, "its memory stays")
        with recording(test, program) as said:
            rows = [row.split() for row in program.ask(f"turns {TURNS}").split("; ")]
        program.process.kill()
    trace = Trace(test.scratch / "trace")
    lost = int(re.search(r"did not fit: (\d+) records of switches", said[0])[1])
    for thread, counted, begin, end in ((row[0], *map(int, row[1:])) for row in rows):
        left = sum(int(begin) <= s[4] <= int(end) and "goes on behind it" not in s[5] for s in trace.runs()[thread])
        test.check(left <= counted + READING and left + lost >= counted - READING,
                   f"{thread}: {left} switches recorded and {lost} records counted, the kernel has {counted}")
        test.check(counted > 1000, f"{thread}: only {counted} switches")


def killed(test):
    agent = test.agent_option(events="instrument", sample="none", waits="on", include="TimelineTruth.*")
    with running(test, "TimelineTruth", agent=agent) as program:
        with recording(test, program):
            rows = measured(program.ask("round"))
            program.process.kill()
            program.process.wait()
    check_rows(test, Trace(test.scratch / "trace"), rows)
    for ledger in test.live_ledgers():
        ledger.unlink()


def left_behind(test):
    """The agent alone; its file is read once the process is gone."""
    for ledger in test.live_ledgers():
        ledger.unlink()
    agent = test.agent_option(events="instrument", sample="none", waits="on", include="TimelineTruth.*", timeline="4M",
                              timeline_for="1000s")
    with running(test, "TimelineTruth", agent=agent) as program:
        rows = measured(program.ask("round"))
        program.process.kill()
        program.process.wait()
    files = timelines(test)
    test.check(len(files) == 1, f"files: {files}")
    for file in files:
        done = test.run([test.treadle, "timeline", file, "-o", test.scratch / "trace"])
        test.check(done.status == 0 and "no switches" in done.out, f"{done}")
        check_rows(test, Trace(test.scratch / "trace"), rows)
        file.unlink()


if __name__ == "__main__":
    harness.main(timeline)
