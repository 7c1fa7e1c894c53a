"""Two hundred virtual threads at work, and the agent comes into the middle of it, or is there from the start: dumped
several times, stopped, started. The program's results are right, all that is profiled of what it counts is counted,
nothing else, and each in the tree where it was called; every report balances, and nothing is lost.

Frames that were open when profiling began (again) have nodes, without calls if nobody saw them begin, and what they
call stands below them. No exit is a surprise: `resynchronised` is 0 here as well, though HotSpot may not
tell the exit of a frame that was compiled when its virtual thread was mounted again, and `unfollowed_mounts` too, for
carriers are known from the start on, and there is room for all threads."""

from pathlib import Path

import expected as expectation
import harness
from running import running

EVENTS = ("jvmti", "instrument")
SOURCE = Path(__file__).parent / "virtual" / "Middle.java"
INCLUDE = "Middle.*;Middle$*.*"
EXCLUDE = "*$$Lambda*"

DUMPS = 3
LED = 10  # threads that make rounds when told
BALANCE_PPM, BALANCE_NS = 1000, 5_000_000
# While a dump is made the program goes on, and the one who makes it may have to wait for a processor between his
# looks. From outside, besides, the clock of a thread that runs lags by up to a tick.
INSIDE_NS, OUTSIDE_NS = 50_000_000, 200_000_000

ROUND = """
{n} Middle.round
  {n} Middle.guarded
    {n} Middle.leaf
  {n} Middle.naps
    {n} Middle.nap
    {n} Middle.leaf
  {n} Middle.catches
    {n} Middle.fails * 3
      {n} Middle.nap
  {n} Middle.leaf
"""


def middle(test):
    if test.major < 21:
        raise harness.Skip(f"JDK {test.major} has no virtual threads")
    test.compile("classes", SOURCE, flags=("-Xlint:all",))
    from_the_start(test)
    if test.events == "instrument":
        test.ledger.unlink()
        attached(test)


def from_the_start(test):
    agent = test.agent_option(include=INCLUDE, exclude=EXCLUDE)
    with running(test, "-cp", "classes", "Middle", agent=agent) as process:
        # One round is made before the first line is printed.
        story = Story(test, process, first_rounds=1)
        story.tell()
        story.end()


def attached(test):
    with running(test, "-cp", "classes", "Middle") as process:
        story = Story(test, process)
        story.rounds(3)
        story.count(7)
        process.attach("--include", INCLUDE, "--exclude", EXCLUDE)
        story.profiling = True
        story.tell()
        story.end()


class Story:
    """What the program is told, and what must be reported of it."""

    def __init__(self, test, process, first_rounds=0):
        self.test = test
        self.process = process
        self.profiling = first_rounds > 0
        self.stands = first_rounds == 0  # those that are led stood on their stacks before there was a profile
        self.made = 1  # rounds of each of those that are led, profiled or not
        self.ordered = [first_rounds] if first_rounds else []  # profiled rounds, by order to make them
        self.started = 0
        self.counted = set()  # threads of one round

    def tell(self):
        self.rounds(20)
        self.count(20)
        self.dump("first")
        self.dump_inside("first-inside")
        self.process.done("stop")
        self.profiling = False
        self.rounds(5)
        self.count(10)
        self.dump("stopped")
        self.process.done("start")
        self.profiling = True
        self.count(20)
        self.rounds(20)
        self.dump("second")
        self.count(5)
        self.dump_inside("second-inside")
        self.count(5)
        # Once more at once: nobody has time to come by.
        self.process.done("stop")
        self.process.done("start")
        self.rounds(1)
        self.count(5)

    def end(self):
        state = self.process.ask("check")
        self.test.check(state.startswith("wrong 0 failed [] steps "), f"results: {state}")
        self.test.check(int(state.split()[-1]) > 0, f"one of its threads stands still: {state}")
        ended = self.process.end()
        self.test.check(ended.status == 0 and ended.out.endswith("wrong 0 failed []\n"), f"{ended}")
        self.check(self.test.checked_report(), "at the end", BALANCE_NS)
        self.test.check(not self.test.live_ledgers(), f"live ledgers stay: {self.test.live_ledgers()}")

    def rounds(self, count):
        self.made += count
        answer = self.process.ask(f"rounds {count}")
        self.test.check(answer == f"sum {11 * LED * self.made}", f"wrong: {answer}")
        if self.profiling:
            self.ordered.append(count)

    def count(self, count):
        answer = self.process.ask(f"count {count}")
        self.test.check(answer == f"sum {11 * count}", f"wrong: {answer}")
        if self.profiling:
            self.counted |= {f"counted-{i}" for i in range(self.started, self.started + count)}
        self.started += count

    def dump(self, name):
        self.check_dump(name, lambda path: self.process.done("dump", "-o", path), OUTSIDE_NS)

    def dump_inside(self, name):
        """By the agent, which sees every clock as it stands."""
        self.check_dump(name, lambda path: self.process.load(f"dump,file:{path}"), INSIDE_NS)

    def check_dump(self, name, dump, balance_ns):
        """Again if one is out of balance: then the one who read the clocks had to wait in the middle of it."""
        for number in range(DUMPS):
            path = self.test.scratch / f"{name}-{number}.ledger"
            dump(path)
            views = self.test.checked_report(path)
            if not out_of_balance(views["threads"]["balance"], balance_ns):
                break
        self.check(views, name, balance_ns)

    def check(self, views, when, balance_ns):
        balance = views["threads"]["balance"]
        off = out_of_balance(balance, balance_ns)
        self.test.check(not off, f"{when}: the balance is off by {off} ns: {balance}")
        self.check_trees(views["tree"]["threads"], when)
        self.check_rows(views["threads"]["threads"], when)

    def check_trees(self, threads, when):
        wanted = expectation.Expected("Middle", threads=[self.led(f"led-{i}") for i in range(LED)])
        wanted.threads += [counted(name) for name in self.counted]
        watched = [t for t in threads if t["name"].startswith(("led-", "counted-"))]
        want, have = expectation.compare(wanted, watched)
        self.test.check(want == have, f"{when}: trees differ: {difference(want, have)}")

    def led(self, name):
        thread = expectation.Thread(name, "virtual")
        calls = 0 if self.stands else 1
        grow(thread, f"{calls} Middle$Led.run\n  {calls} Middle$Led.down * 20")
        grow(thread, rounds(self.ordered), depth=2)
        return thread

    def check_rows(self, rows, when):
        mounts = [r["name"] for r in rows if r["kind"] == "virtual" and r["mounts"] < 1 and r["calls"]]
        self.test.check(not mounts, f"{when}: calls, but no mounts: {mounts[:5]}")
        parents = {r["name"]: r["parent"] for r in rows if r["name"] in self.counted}
        self.test.check(parents == dict.fromkeys(self.counted, "main"), f"{when}: parents {parents}")
        # One that was started before profiling was may have been mounted first after it.
        wrong = {(r["name"], r["parent"]) for r in rows if r["name"].startswith("child-")
                 and r["parent"] not in (None, r["name"].replace("child", "busy"))}
        self.test.check(not wrong, f"{when}: parents {wrong}")
        ended = {r["name"] for r in rows if r["terminated"]}
        self.test.check(self.counted <= ended, f"{when}: are over: {sorted(self.counted - ended)[:5]}")


def rounds(orders):
    return f"{len(orders)} Middle.rounds" + ROUND.format(n=sum(orders)).replace("\n", "\n  ").rstrip()


def counted(name):
    thread = expectation.Thread(name, "virtual")
    grow(thread, "1 Middle.lambda$startAll$0")
    grow(thread, rounds([1]), depth=1)
    return thread


def grow(thread, text, depth=0):
    """Adds a tree, as it stands in head comments, below the last node of that depth."""
    for line in text.splitlines():
        level = (len(line) - len(line.lstrip())) // 2
        expectation.add_node(thread, line.strip(), depth + level + 1)


def difference(want, have):
    missing = [line for line in want if line not in have]
    return f"{len(want)} lines, not {len(have)}; missing {missing[:5]}, {list(zip(want, have))[:3]}"


def out_of_balance(balance, least_ns):
    """By how much; 0: within what is allowed."""
    off = abs(balance["kernel_cpu_ns"] - balance["charged_cpu_ns"] + balance["last_moments_ns"])
    return off if off > max(least_ns, balance["kernel_cpu_ns"] * BALANCE_PPM // 1_000_000) else 0


if __name__ == "__main__":
    harness.main(middle)
