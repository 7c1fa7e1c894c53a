"""A billion calls over ten million distinct calling contexts, within a small ledger: whether time is linear in the calls,
memory flat, and each method's calls right to the last. The program is generated: seven levels of ten methods each, a path
a number of seven digits, which come in a drawn order; how often each method is called is worked out on paper. A run without
the agent and one with every call recorded; every JDK. See tests/README.md."""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import machine
from led_program import LedProgram

LEVELS, BASE = 7, 10
PATHS = BASE ** LEVELS
CONTEXTS = sum(BASE ** level for level in range(1, LEVELS + 1))
# x -> (FACTOR x + STEP) mod PATHS reaches every path: Hull and Dobell, Random number generators, SIAM Review 4 (1962).
FACTOR, STEP = 3_141_581, 2_718_281
MARKS_MOST = 10


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jdk", action="append", required=True)
    parser.add_argument("--agent", required=True)
    parser.add_argument("--treadle", required=True)
    parser.add_argument("--classes", help="not used")
    parser.add_argument("--max-mem", default="32M")
    parser.add_argument("--calls", type=int, default=1_000_000_000)
    options = parser.parse_args()
    rounds = -(-options.calls // (PATHS * LEVELS))
    print(f"{machine.facts()}; {rounds * PATHS * LEVELS:,} calls, {CONTEXTS:,} contexts, max-mem={options.max_mem}")
    for jdk in options.jdk:
        with tempfile.TemporaryDirectory(prefix="treadle-bench-") as scratch:
            one_jdk(options, Path(jdk), Path(scratch), rounds)


def one_jdk(options, jdk, scratch, rounds):
    source = scratch / "ManyContexts.java"
    source.write_text(program())
    subprocess.run([jdk / "bin/javac", "-d", scratch, source], check=True)
    agent = (f"-agentpath:{options.agent}=overhead=any,sample=none,include=ManyContexts.*,max-mem={options.max_mem},"
             f"file={scratch}/x.ledger,live-dir={scratch}")
    print(f"\nJDK {machine.jdk_version(jdk)}")
    without = marks(jdk, scratch, [], rounds)
    print_marks("without", without)
    hooked = marks(jdk, scratch, [agent], rounds)
    print_marks("with", hooked)
    print_calls(options, scratch, rounds)


def program():
    methods = []
    for level in range(LEVELS):
        cases = "".join(f" case {d}: m{level + 1}{d}(path / {BASE}); break;" for d in range(BASE))
        body = f"switch (path % {BASE}) {{{cases} }}" if level + 1 < LEVELS else "sum = 31 * sum + 1;"
        methods += [f"    static void m{level}{d}(int path) {{ {body} }}" for d in range(BASE)]
    first = "".join(f" case {d}: m0{d}(path / {BASE}); break;" for d in range(BASE))
    return f"""import java.util.Scanner;
public class ManyContexts {{
    static int sum;
{chr(10).join(methods)}
    static void walk(long rounds) {{
        long path = 0;
        for (long i = 0; i < rounds * {PATHS}L; i++) {{
            path = ({FACTOR}L * path + {STEP}L) % {PATHS}L;
            below((int) path);
        }}
    }}
    static void below(int path) {{ switch (path % {BASE}) {{{first} }} }}
    public static void main(String[] args) {{
        for (Scanner in = new Scanner(System.in); in.hasNextLine();) {{
            long began = System.nanoTime();
            walk(Long.parseLong(in.nextLine()));
            System.out.println(System.nanoTime() - began);
        }}
    }}
}}
"""


def marks(jdk, scratch, agent, rounds):
    """Of each part of the calls: its seconds, and resident memory and ledger at its end."""
    parts = parts_of(rounds)
    led = LedProgram([jdk / "bin/java", "-Xmx64m", *agent, "-cp", scratch, "ManyContexts"])
    rows = []
    for _ in range(parts):
        seconds = int(led.ask(str(rounds // parts))) / 1e9
        rows.append((seconds, led.resident_bytes(), sum(path.stat().st_blocks * 512 for path in scratch.glob("*.live"))))
    led.end()
    return rows


def parts_of(rounds):
    """The most equal parts."""
    return max(parts for parts in range(1, MARKS_MOST + 1) if rounds % parts == 0)


def print_marks(what, rows):
    print(f"  {what}, equal parts of the calls; in all {sum(seconds for seconds, _, _ in rows):.1f} s")
    print(f"    {'time':8}" + "".join(f"{seconds:9.1f} s  " for seconds, _, _ in rows))
    print(f"    {'RSS':8}" + "".join(f"{rss / 2**20:8.1f} MiB" for _, rss, _ in rows))
    if any(ledger for _, _, ledger in rows):
        print(f"    {'ledger':8}" + "".join(f"{ledger / 2**20:8.1f} MiB" for _, _, ledger in rows), flush=True)


def print_calls(options, scratch, rounds):
    def view(name, *more):
        command = [options.treadle, "report", scratch / "x.ledger", "--view", name, "--json", *more]
        return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)

    calls = {m["method"]: m["calls"] for m in view("flat")["methods"]}
    expected = {f"m{level}{d}": rounds * PATHS // BASE for level in range(LEVELS) for d in range(BASE)}
    expected |= {"below": rounds * PATHS, "walk": parts_of(rounds), "main": 1}
    wrong = {name: calls.get(name) for name, count in expected.items() if calls.get(name) != count}
    main_row = next(t for t in view("tree", "--top", "1")["threads"] if t["name"] == "main")
    print(f"  methods with exactly their calls: {len(expected) - len(wrong)} of {len(expected)}"
          + (f"; wrong: {wrong}" if wrong else "")
          + f"; calls not recorded: {view('threads')['balance']['dropped_events']}"
          + f"; no folded context had more than {main_row.get('folded_most_cpu_ns', 0) / 1e6:.3f} ms")


if __name__ == "__main__":
    main()
