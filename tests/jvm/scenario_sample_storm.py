"""Samples every 100 us while code is compiled, thrown away and compiled anew, classes come and go, exceptions
fly and each of the collectors works: no crash, the results that there are without the agent, and next to no
stack that is not walked to its end. And while sampling is stopped and started.

TREADLE_STORM_SAMPLES=1000000 for a long version, which goes on until so many samples were taken."""

import os
from collections import Counter

import harness
import sampled
from running import NICE, running

SAMPLES = int(os.environ.get("TREADLE_STORM_SAMPLES", "0"))
ROUNDS = 2 if not SAMPLES else 150  # of the program
START_STOPS = 10 if not SAMPLES else 100
FEW = 500  # samples of which one or another may be anything
LOST_MOST = 20  # walks that may fail in so few
RUN_FAILED_PPM = 60_000  # of one run: a thread that is kept from running in the wrong place is seen there often
# The JVM's thread that takes attach requests waits in a function whose frame hangs on a register that nobody
# outside can read: of so few threads its samples are a good part.
WALL_FAILED_PPM = 100_000

JVM = (
    ("-XX:+UseSerialGC", "-Xmx64m"),
    ("-XX:+UseParallelGC", "-Xmx64m"),
    ("-XX:+UseG1GC", "-Xmx64m"),
    ("-XX:+UseZGC", "-Xmx128m"),
    ("-XX:+UseShenandoahGC", "-Xmx128m"),
    ("-XX:-UseCompressedOops", "-Xmx64m"),
    ("-XX:TieredStopAtLevel=1", "-Xmx64m"),
    ("-XX:-TieredCompilation", "-Xmx64m"),
    ("-Xint", "-Xmx64m"),
    ("-Xcomp", "-Xmx128m"),
)


class Totals:
    def __init__(self):
        self.taken = 0
        self.dropped = 0
        self.failed = Counter()

    def add(self, told):
        self.taken += told["taken"]
        self.dropped += told["dropped"]
        self.failed.update(sampled.reasons(told))

    def ppm(self):
        return sum(self.failed.values()) * 1e6 / max(1, self.taken)

    def __str__(self):
        return f"{self.taken} samples, {self.dropped} dropped, {self.ppm() / 1e4:.3f} % not walked: {dict(self.failed)}"


def storm(test):
    totals = Totals()
    flags = [flags for flags in JVM if is_known(test, flags)]
    while True:
        for some in flags:
            rounds = ROUNDS // 4 if "-Xint" in some or "-Xcomp" in some else ROUNDS
            likely(test, run, totals, some, "Storm", max(1, rounds))
        likely(test, run, totals, ("-Xmx64m",), "Everything")
        likely(test, run, totals, ("-Xmx64m",), "ManyClasses")
        if totals.taken >= SAMPLES or test.failures:
            break
    for mode in ("cpu", "wall"):
        likely(test, started_and_stopped, totals, mode)
    print(f"all: {totals}")
    test.check(totals.ppm() <= sampled.FAILED_PPM, f"of all walks {totals.ppm():.0f} ppm failed")


def likely(test, measure, *arguments):
    sampled.check_unless_chance(test, lambda _: measure(test, *arguments))


def is_known(test, flags):
    return test.java(*flags, "-version").status == 0


def run(test, totals, flags, *program):
    what = " ".join(map(str, flags + program))
    plain = test.java(*flags, *program)
    test.check(plain.status == 0, f"{what} without the agent: {plain}")
    test.ledger.unlink(missing_ok=True)
    agent = test.agent_option(events="none", sample="cpu", interval="100us")
    test.same_for_user(plain, test.java(*flags, *program, agent=agent), what)
    add_samples(test, totals, what)


def add_samples(test, totals, what, failed_ppm=RUN_FAILED_PPM):
    views = test.checked_report(views=("threads", "tree", "flat", "callers"))
    few = views["threads"]["balance"]["samples"]["taken"] < FEW
    told = sampled.check_books(test, views, what, 1_000_000 if few else failed_ppm)
    failed = sampled.failures(told)
    test.check_likely(not few or failed <= LOST_MOST + failed_ppm * FEW // 1_000_000, "few",
                      f"{what}: {failed} walks failed: {told}")
    print(f"{what}: {told['taken']} samples, {told['dropped']} dropped, {told['homeless']} homeless, "
          f"not walked {sampled.reasons(told)}")
    totals.add(told)


def started_and_stopped(test, totals, mode):
    test.ledger.unlink(missing_ok=True)
    with running(test, "-Xmx64m", "StartStop", prefix=NICE) as program:
        program.attach("-O", "events=none", sample=mode, interval="200us")
        for number in range(START_STOPS):
            test.check(program.ask("count 100") == "counted 14950", "wrong while it is sampled")
            program.done("stop")
            test.check(program.ask("count 100") == "counted 14950", "wrong while it is not")
            program.done("start", "--sample", mode, "--interval", f"{200 + 100 * (number % 2)}us")
        ended = program.end()
    test.check(ended.status == 0 and ended.out.endswith("wrong 0 failed []\n"), f"{ended}")
    add_samples(test, totals, f"started and stopped, sample={mode}",
                WALL_FAILED_PPM if mode == "wall" else RUN_FAILED_PPM)


if __name__ == "__main__":
    harness.main(storm)
