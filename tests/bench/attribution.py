"""Where the CPU time of a program goes that runs with the agent: by group of threads and by image, beside runs
without it. Each sample of perf's clock (perf record -e cpu-clock) is one tick of CPU time; so the figures are those of
the kernel's own timer and not what the agent says of itself. Variants take turns; means, each with its standard error,
and the difference to the first variant. The program is any command that starts one JVM or more: it finds the JDK by
PATH, JAVA_HOME, JAVA and JAVACMD, and the agent by JAVA_TOOL_OPTIONS. See tests/README.md."""

import argparse
import collections
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import machine

TICKS_A_SECOND = 1999
GROUPS = ["Java threads", "C1", "C2", "collector", "VM, others", "treadle thread"]
JVM_THREADS = re.compile(r"(VM |Signal Dispatch|Service Thread|Monitor Deflati|Sweeper|Attach Listener|"
                         r"Notification Th|JFR |DestroyJavaVM|StringDedup)")
SHELLS = {"bash", "sh", "dash", "env", "expr", "dirname", "basename", "readlink", "sed", "grep", "uname", "perf",
          "perf-exec", "cat", "ls", "rm", "mkdir", "tty", "stty"}


def main():
    options = arguments()
    variants = [named(text) for text in options.variant or ["none=", "default=+", "plan=+plan=PLAN"]]
    print(f"{machine.facts()}; JDK {machine.jdk_version(options.jdk)}; {options.rounds} rounds of "
          f"{' '.join(options.command)}")
    ticks = {name: [] for name, _ in variants}
    with tempfile.TemporaryDirectory(prefix="treadle-bench-") as scratch:
        make_plan(options, variants, Path(scratch))
        for number in range(options.rounds):
            order = variants[number % len(variants):] + variants[:number % len(variants)]
            for name, java_options in order:
                ticks[name].append(one_run(options, java_options, Path(scratch)))
    print_table("", ticks, lambda group, _: group, GROUPS)
    images = sorted({image for runs in ticks.values() for run in runs for _, image in run},
                    key=lambda image: -sum(run[key] for runs in ticks.values() for run in runs for key in run
                                           if key[1] == image))
    print_table("\nby image", ticks, lambda _, image: image, images[:8])
    print_table("\nimage libtreadle.so, by thread", ticks,
                lambda group, image: group if image == "libtreadle.so" else None, GROUPS)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jdk", type=Path, required=True)
    parser.add_argument("--agent", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--variant", action="append", metavar="NAME=JAVA_OPTIONS",
                        help="+TEXT stands for the agent with TEXT as its options; PLAN in it for the ledger of a first "
                             "run; the default is none=, default=+ and plan=+plan=PLAN")
    parser.add_argument("command", nargs="+", help="of the program, behind --")
    return parser.parse_args()


def named(text):
    name, equals, java_options = text.partition("=")
    if not equals:
        sys.exit(f"--variant {text}: NAME=JAVA_OPTIONS is expected")
    return name, java_options


def make_plan(options, variants, scratch):
    if any("PLAN" in java_options for _, java_options in variants):
        one_run(options, "+", scratch)
        (scratch / "x.ledger").rename(scratch / "the.plan")


def one_run(options, java_options, scratch):
    """{(group of threads, image): seconds of CPU}"""
    data = scratch / "perf.data"
    command = ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(TICKS_A_SECOND), "-o", data, "--",
               *options.command]
    java = options.jdk / "bin/java"
    environment = {**os.environ, "JAVA_HOME": str(options.jdk), "JAVA": str(java), "JAVACMD": str(java),
                   "PATH": f"{options.jdk / 'bin'}:{os.environ['PATH']}",
                   "JAVA_TOOL_OPTIONS": " ".join(java_option(word, options, scratch) for word in java_options.split())}
    done = subprocess.run([str(word) for word in command], env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        sys.exit(f"{' '.join(options.command)}: status {done.returncode}\n{done.stdout[-2000:].decode()}")
    return seconds_of(data)


def java_option(word, options, scratch):
    if not word.startswith("+"):
        return word
    text = word[1:].replace("PLAN", str(scratch / "the.plan"))
    return f"-agentpath:{options.agent.resolve()}=file={scratch}/x.ledger{',' if text else ''}{text}"


def seconds_of(data):
    command = ["perf", "script", "-i", data, "-F", "comm,ip,sym,dso"]
    lines = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout
    seconds = collections.Counter()
    for line in lines.splitlines():
        match = re.match(r"\s*(.*?)\s+[0-9a-f]+ (.*) \((.*)\)$", line)
        if match and match[1] not in SHELLS:
            seconds[group_of(match[1]), image_of(match[3])] += 1 / TICKS_A_SECOND
    return seconds


def group_of(thread):
    if thread.startswith(("C1 Compiler", "C2 Compiler")):
        return thread[:2]
    if thread.startswith("treadle"):
        return "treadle thread"
    if thread.startswith(("GC Thread", "G1 ", "Parallel GC")):
        return "collector"
    return "VM, others" if JVM_THREADS.match(thread) else "Java threads"


def image_of(path):
    if re.match(r"/tmp/perf-|//anon|\[anon|anon_inode|.*\(deleted\)", path):
        return "generated code"
    return "kernel" if path.startswith("[") else Path(path).name


def print_table(title, ticks, key_of, keys):
    names = list(ticks)
    print(f"{title:28}" + "".join(f"{name:>24}" for name in names))
    for key in [*keys, None]:
        rows = {name: [sum(value for pair, value in run.items() if key_of(*pair) is not None and
                           (key is None or key_of(*pair) == key)) for run in ticks[name]] for name in names}
        if max(map(statistics.fmean, rows.values())) < 0.0005:
            continue
        print(f"  {key or 'in all':26}" + "".join(cell(rows[name], rows[names[0]], name == names[0])
                                                    for name in names))


def cell(values, first, is_first):
    mean, base = statistics.fmean(values), statistics.fmean(first)
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0
    difference = "" if is_first else f"{(mean - base) * 1e3:+6.0f}"
    return f"{mean * 1e3:8.0f} ±{error * 1e3:4.0f} ms{difference:>7} "


if __name__ == "__main__":
    main()
