"""What every test with a JVM needs: the JDK, the agent and the tool under test, a scratch folder, runs
of Java programs, reports, and the checks that every report must pass."""

import argparse
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

SKIPPED = 77
VIEWS = ("threads", "tree", "flat", "callers")
UNSEEN_NS = 30_000_000  # what runs on while the one who reads the clocks waits for a processor, and ends unseen
ANY_PPM = 4_294_967_295
LIMIT_S = 480  # for one process; ctest has its own limit for the test


# For a run of all tests with more of the agent's options: sample=cpu+interval=100us
MORE_OPTIONS = dict(option.split("=") for option in
                    filter(None, os.environ.get("TREADLE_TEST_OPTIONS", "").split("+")))

class Skip(Exception):
    """This machine cannot run the test; the text says what is missing."""


@dataclass
class Run:
    status: int
    out: str
    err: str

    def seen_by_user(self):
        """Everything that must be the same with and without the agent."""
        return self.status, strip_expectations(self.out), self.err


def strip_expectations(out):
    return "".join(l for l in out.splitlines(True) if not l.startswith("expect "))


class Test:
    def __init__(self, options, scratch):
        self.jdk = Path(options.jdk)
        self.major = options.major
        self.agent = Path(options.agent)
        self.treadle = Path(options.treadle)
        self.classes = options.classes
        self.libraries = options.libraries
        self.events = options.events
        self.scratch = scratch
        self.live = scratch / "live"
        self.live.mkdir()
        self.ledger = scratch / "snapshot.ledger"
        self.failures = []
        self.off = None  # what check_likely found, where sampled.check_unless_chance measures again
        self.corrects_positions = False  # the test provokes it

    # ---- running ----

    def check(self, condition, message):
        if not condition:
            self.failures.append(message)
        return condition

    def check_likely(self, condition, what, message):
        """What chance may make wrong once: only that which is off in each measurement of check_unless_chance() fails
        the test. `what` names it, the same each time. Without measurements it is a check."""
        if not condition and self.off is not None:
            self.off[what] = message
        elif not condition:
            self.failures.append(message)
        return condition

    def agent_option(self, **options):
        """-agentpath:… with the folder for live ledgers and the snapshot in the scratch folder.
        A value of None takes the option out, True gives it without a value."""
        given = {"events": self.events, "file": self.ledger, "live_dir": self.live, "fold": "none",
                 "overhead": "any", "recursion": "all",
                 **MORE_OPTIONS, **options}
        text = ",".join(k.replace("_", "-") + ("" if v is True else f"={v}")
                        for k, v in given.items() if v is not None)
        return f"-agentpath:{self.agent}={text}"

    def java_command(self, *arguments, agent=None):
        native = ["--enable-native-access=ALL-UNNAMED"] if self.major >= 22 else []
        return [str(self.jdk / "bin/java"), *([agent] if agent else []), *native, "-cp",
                self.classes, f"-Djava.library.path={self.libraries}", *map(str, arguments)]

    def java(self, *arguments, agent=None, prefix=(), **how):
        return self.run([*prefix, *self.java_command(*arguments, agent=agent)], **how)

    def run(self, command, extra_environment=None, preexec_fn=None):
        done = subprocess.run([str(c) for c in command], cwd=self.scratch,
                              env=environment() | (extra_environment or {}),
                              preexec_fn=preexec_fn, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=LIMIT_S, encoding="utf-8", errors="surrogateescape",
                              check=False)
        return Run(done.returncode, done.stdout, done.stderr)

    def compile(self, folder, *sources, flags=()):
        """By the javac of the JDK under test, for tests whose sources are not for the class path."""
        done = self.run([self.jdk / "bin/javac", *flags, "-d", folder, *sources])
        if done.status != 0:
            raise SystemExit(f"javac {sources}: {done.err}")

    @contextlib.contextmanager
    def started(self, command):
        """A process that runs beside the test; what it prints goes to the file `out`."""
        with open(self.scratch / "out", "w", encoding="utf-8") as out:
            process = subprocess.Popen([str(c) for c in command], cwd=self.scratch,
                                       env=environment(), stdin=subprocess.PIPE, stdout=out,
                                       stderr=subprocess.STDOUT)
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    def printed(self):
        """The whole lines that the process of started() has printed so far."""
        lines = (self.scratch / "out").read_text(encoding="utf-8").splitlines(True)
        return [line.rstrip("\n") for line in lines if line.endswith("\n")]

    def wait_until(self, condition, what):
        """condition(), as soon as it is true of something; the test fails if it never is."""
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            result = condition()
            if result:
                return result
            time.sleep(0.005)
        raise SystemExit(f"waited in vain: {what}")

    def same_for_user(self, plain, traced, what="with the agent"):
        self.check(traced.seen_by_user() == plain.seen_by_user(),
                   f"{what}: the user sees something else\n"
                   f"  without: {plain.seen_by_user()}\n  with:    {traced.seen_by_user()}")

    # ---- reports ----

    def text_report(self, *arguments):
        return self.run([self.treadle, "report", *arguments])

    def report(self, view, ledger=None, note_allowed=False):
        done = self.text_report(ledger or self.ledger, "--view", view, "--json")
        if done.status != 0 or (done.err and not note_allowed):
            raise SystemExit(f"treadle report --view {view}: status {done.status}: {done.err}")
        try:
            return json.loads(done.out)
        except ValueError as e:
            raise SystemExit(f"treadle report --view {view}: not JSON: {e}") from e

    def checked_report(self, ledger=None, views=VIEWS, dropped=False, note_allowed=False):
        """Views by name, after the checks that hold for every ledger. Where the application was
        killed or memory ran out, events may be `dropped` and a note on stderr is allowed."""
        reports = {view: self.report(view, ledger, note_allowed) for view in views}
        check_balance_fields(self, reports["threads"], dropped)
        if "tree" in views:
            check_tree(self, reports)
        check_sums(self, reports)
        check_callers(self, reports)
        if not dropped and not note_allowed:
            self.check_inside(ledger or self.ledger, reports["threads"]["balance"])
        return reports

    def check_inside(self, ledger, balance):
        """What exact nodes say of each thread with samples agrees with these; the balance is another matter."""
        if not (balance.get("samples") or {}).get("taken") or not balance["kernel_cpu_ns"]:
            return
        done = self.text_report(ledger, "--check", ANY_PPM)
        self.check_likely(done.status == 0, "inside", f"report --check, inside: {done.err}")

    def same_for_application(self, plain, traced, what):
        """As same_for_user, but at most one line of the agent's on stderr; returns that line."""
        own = [l for l in traced.err.splitlines(True) if l.startswith("treadle:")]
        rest = "".join(l for l in traced.err.splitlines(True) if not l.startswith("treadle:"))
        self.same_for_user(plain, Run(traced.status, traced.out, rest), what)
        self.check(len(own) <= 1, f"{what}: more than one line of the agent: {own}")
        return own[0] if own else ""

    def close_balance(self, views, ppm=5000):
        balance = views["threads"]["balance"]
        kernel = balance["kernel_cpu_ns"]
        # The row of threads' last moments is what is left over: it must be small, not make up the sum.
        charged = balance["charged_cpu_ns"] - balance["last_moments_ns"]
        # A few threads that ended unseen are much of a program that does next to nothing.
        allowed = max(ppm * kernel // 1_000_000, UNSEEN_NS)
        self.check(abs(kernel - charged) <= allowed,
                   f"balance: kernel {kernel} ns, charged {charged} ns: more than {allowed} ns apart")

    def snapshots(self):
        return sorted(self.scratch.glob("*.ledger"))

    def live_ledgers(self, pid="*"):
        return sorted(self.live.glob(f"treadle-{pid}-*.live"))


def environment():
    kept = {k: v for k, v in os.environ.items()
            if k not in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH")}
    return {**kept, "LC_ALL": "C.UTF-8"}


def plus(sums, amounts):
    for name, amount in amounts.items():
        sums[name] += amount
    return sums


def nodes_of(root):
    """(node, its ancestors' methods as a Counter) for every node below the root."""
    path = Counter()
    stack = [(root, None)]
    while stack:
        node, leaving = stack.pop()
        if leaving is not None:
            path[leaving] -= 1
            continue
        method = (node.get("class"), node.get("method"), node.get("signature"))
        if node is not root:
            yield node, method, path[method]
            path[method] += 1
            stack.append((node, method))
        stack += [(child, None) for child in node["children"]]


def check_balance_fields(test, threads, dropped):
    balance = threads.get("balance", {})
    wanted = {"kernel_cpu_ns", "charged_cpu_ns", "difference_ppm", "dropped_events", "clock"}
    test.check(wanted <= balance.keys(), f"balance lacks {wanted - balance.keys()}")
    losses = ("dropped_events", "dropped_threads", "dropped_side_values", "unfollowed_mounts",
              "resynchronised", "skipped_records")
    lost = {name: balance[name] for name in losses if balance.get(name)}
    if not test.corrects_positions:
        lost |= {name: balance[name] for name in ("positions_corrected",) if balance[name]}
    test.check(dropped or not lost, f"the balance counts losses: {lost}")


def check_tree(test, views):
    """Every node: cum is base plus the children's cum, the recursion level is what stands above;
    its calls are in the thread's row and in the flat view."""
    calls = Counter()
    for thread in views["tree"]["threads"]:
        in_thread = 0
        for node, method, above in nodes_of(thread["root"]):
            sums = Counter(node["base"])
            for child in node["children"]:
                plus(sums, child["cum"])
            if not test.check(+sums == +Counter(node["cum"]), f"cum is not base plus children: {method}"):
                return
            if node["kind"] in ("exact", "logical"):
                test.check(node["recursion"] == above,
                           f"{method}: recursion {node['recursion']}, {above} stand above")
                calls[method] += node["calls"]
                in_thread += node["calls"]
        if "calls" in thread:
            test.check(thread["calls"] == in_thread,
                       f"thread {thread['name']!r}: {thread['calls']} calls, its nodes {in_thread}")
    flat = {(m["class"], m["method"], m["signature"]): recorded(m)
            for m in views["flat"]["methods"]}
    flat = {m: n for m, n in flat.items() if n}
    different = {m for m in flat.keys() | calls.keys() if flat.get(m, 0) != calls[m]}
    test.check(not different,
               f"flat and tree differ in the calls of {sorted(different, key=str)[:5]}")


def recorded(row):
    """The calls of a row of the flat view that are in trees."""
    return row["calls"] - row.get("counted", {}).get("calls", 0)


def is_in_no_tree(row):
    return "counted" in row and not recorded(row) and not row["samples"] and not any(row["cum"].values())


def check_sums(test, views):
    rows = sum(t["calls"] for t in views["threads"]["threads"])
    flat = sum(recorded(m) for m in views["flat"]["methods"])
    test.check(rows == flat, f"threads have {rows} calls, the flat view {flat}")


def check_callers(test, views):
    """The four rules of a stanza, for every method; and the stanzas are the flat view's methods."""
    for stanza in views["callers"]["methods"]:
        self, parents, children = stanza["self"], stanza["parents"], stanza["children"]
        name = f"{self['class']}.{self['method']}{self['signature']}"
        above_base, above_cum, below_cum = Counter(), Counter(), Counter()
        for parent in parents:
            plus(above_base, parent["base"])
            plus(above_cum, parent["cum"])
        for child in children:
            plus(below_cum, child["cum"])
        rest = Counter(self["cum"])
        rest.subtract(self["base"])
        test.check(sum(p["calls"] for p in parents) == self["calls"],
                   f"callers: calls of the parents of {name}")
        test.check(+above_base == +Counter(self["base"]), f"callers: base of the parents of {name}")
        test.check(+above_cum == +Counter(self["cum"]), f"callers: cum of the parents of {name}")
        test.check(+below_cum == +rest, f"callers: cum of the children of {name}")
    stanzas = Counter((s["self"]["class"], s["self"]["method"], s["self"]["signature"],
                       s["self"]["calls"]) for s in views["callers"]["methods"]
                      if s["self"]["class"])  # not the threads and gaps, which are no methods
    flat = Counter((m["class"], m["method"], m["signature"], recorded(m))
                   for m in views["flat"]["methods"] if m["class"] and not is_in_no_tree(m))
    test.check(stanzas == flat,
               f"callers and flat differ: {list((stanzas - flat) + (flat - stanzas))[:5]}")


# ---- a test is a process ----

def main(body):
    """Runs body(test) with the options of the command line; what it adds to test.failures fails."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--jdk", required=True)
    parser.add_argument("--agent", required=True, help="libtreadle.so")
    parser.add_argument("--treadle", required=True, help="the command line tool")
    parser.add_argument("--classes", required=True, help="class path of javatest")
    parser.add_argument("--libraries", required=True, help="folder of javatest's JNI libraries")
    parser.add_argument("--events", default="jvmti")
    parser.add_argument("program", nargs="?", type=Path, help="for run_program.py: a .java file")
    options = parser.parse_args()
    release = (Path(options.jdk) / "release").read_text()
    options.major = int(re.search(r'^JAVA_VERSION="(\d+)', release, re.M)[1])

    status = []
    # Trees are deep: Python's JSON reader recurses.
    sys.setrecursionlimit(1_000_000)
    threading.stack_size(512 << 20)
    worker = threading.Thread(target=lambda: status.append(run_in_scratch(body, options)))
    worker.start()
    worker.join()
    sys.exit(status[0] if status else 1)


def run_in_scratch(body, options):
    scratch = Path(tempfile.mkdtemp(prefix="treadle-test-"))
    test = Test(options, scratch)
    try:
        body(test, options.program) if options.program else body(test)
    except Skip as reason:
        print(f"SKIP: {reason}")
        if not test.failures:
            return SKIPPED
    except SystemExit as e:
        test.failures.append(str(e))
    finally:
        if os.environ.get("TREADLE_KEEP"):
            print(f"kept {scratch}")
        else:
            shutil.rmtree(scratch, ignore_errors=True)
    for failure in test.failures[:20]:
        print(f"FAIL: {failure}")
    if len(test.failures) > 20:
        print(f"and {len(test.failures) - 20} more")
    return 1 if test.failures else 0
