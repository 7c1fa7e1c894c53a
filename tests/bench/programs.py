"""What recording every call costs real programs, with the default filter: time, peak memory, start-up of a JVM, and the
hooked methods that the time goes to. Runs with and without take turns; medians; every JDK. See
tests/README.md."""

import argparse
import json
import statistics
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import machine
from measured_run import run

JARS = Path("/usr/share/java")
CLASSES_GENERATED = 400
ROWS_OF_TABLE = 4000


@dataclass
class Program:
    name: str
    package: str  # of Debian
    needs: Path
    prepare: object  # (scratch, jdk) -> arguments of java
    samples: dict = field(default_factory=dict)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jdk", action="append", required=True)
    parser.add_argument("--agent", required=True)
    parser.add_argument("--treadle", required=True)
    parser.add_argument("--classes", required=True, help="where CallCost and Hello are")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--starts", type=int, default=41)
    options = parser.parse_args()
    print(f"{machine.facts()}; "
          f"medians of {options.rounds} runs, of {options.starts} for hello, world")
    for jdk in options.jdk:
        with tempfile.TemporaryDirectory(prefix="treadle-bench-") as scratch:
            one_jdk(options, Path(jdk), Path(scratch))


def one_jdk(options, jdk, scratch):
    agent = f"-agentpath:{options.agent}=overhead=any,file={scratch}/x.ledger,live-dir={scratch}"
    call_ns = cost_of_call(options, jdk, agent)
    print(f"\nJDK {machine.jdk_version(jdk)}; a hooked call costs {call_ns:.1f} ns here (CallCost)")
    print(f"  {'':8}{'without':>10}{'with':>10}{'ratio':>8}{'RSS without':>13}{'with':>10}{'ratio':>8}"
          f"{'calls':>14}{'hooks, est.':>13}")
    print_start_up(options, jdk, agent)
    for program in programs():
        if not program.needs.exists():
            print(f"  {program.name:8}left out: {program.needs} is missing (apt install {program.package})")
            continue
        measure(options, jdk, agent, program, scratch)
        print_program(options, program, call_ns, scratch)


def cost_of_call(options, jdk, agent):
    done = subprocess.run([jdk / "bin/java", agent, "-cp", options.classes, "CallCost"],
                          capture_output=True, text=True, check=True)
    return float(done.stdout)


def print_start_up(options, jdk, agent):
    with_agent, without = [], []
    command = ["-cp", options.classes, "Hello"]
    for _ in range(options.starts):
        without.append(run([jdk / "bin/java", *command], options.classes))
        with_agent.append(run([jdk / "bin/java", agent, *command], options.classes))
    times = [statistics.median(took.seconds for took in samples) for samples in (without, with_agent)]
    sizes = [statistics.median(took.peak_bytes for took in samples) for samples in (without, with_agent)]
    print(f"  {'hello':8}{times[0] * 1e3:7.1f} ms{times[1] * 1e3:7.1f} ms{times[1] / times[0]:8.2f}"
          f"{mib(sizes[0]):>13}{mib(sizes[1]):>10}{sizes[1] / sizes[0]:8.2f}"
          f"   starts {(times[1] - times[0]) * 1e3:.1f} ms later (goal: at most 30)")


def mib(size):
    return f"{size / 2**20:.0f} MiB"


def measure(options, jdk, agent, program, scratch):
    arguments = program.prepare(scratch, jdk)
    program.samples = {False: [], True: []}
    for _ in range(options.rounds):
        for with_agent, samples in program.samples.items():
            command = [jdk / "bin/java", *([agent] if with_agent else []), *arguments]
            samples.append(run(command, scratch))


def print_program(options, program, call_ns, scratch):
    times = [statistics.median(took.seconds for took in program.samples[w]) for w in (False, True)]
    sizes = [statistics.median(took.peak_bytes for took in program.samples[w]) for w in (False, True)]
    methods = flat(options.treadle, scratch / "x.ledger")
    calls = sum(m["calls"] for m in methods)
    print(f"  {program.name:8}{times[0]:8.2f} s{times[1]:8.2f} s{times[1] / times[0]:8.2f}"
          f"{mib(sizes[0]):>13}{mib(sizes[1]):>10}{sizes[1] / sizes[0]:8.2f}"
          f"{calls:14,}{calls * call_ns / 1e9:11.2f} s")
    hottest = sorted(methods, key=lambda m: -m["calls"])[:5]
    for method in hottest:
        print(f"  {'':10}{method['calls'] * call_ns / 1e9:6.2f} s{method['calls']:14,}  "
              f"{method['class']}.{method['method']}")


def flat(treadle, ledger):
    command = [treadle, "report", ledger, "--view", "flat", "--json"]
    report = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return [m for m in report["methods"] if m["class"]]


# ---- the programs ----

def programs():
    return [Program("javac", "openjdk-17-jdk-headless", Path("/"), prepare_javac),
            Program("ecj", "ecj", JARS / "eclipse-jdt-core.jar", prepare_ecj),
            Program("jython", "jython", JARS / "jython.jar", prepare_jython),
            Program("fop", "fop", JARS / "fop.jar", prepare_fop)]


def prepare_javac(scratch, _):
    return ["-m", "jdk.compiler/com.sun.tools.javac.Main", "-nowarn", "-proc:none", "-d", scratch / "javac-out",
            *sorted(generated(scratch).glob("*.java"))]


def prepare_ecj(scratch, _):
    jars = ":".join(str(j) for j in sorted(JARS.glob("eclipse-*.jar")))
    return ["-cp", jars, "org.eclipse.jdt.internal.compiler.batch.Main", "-nowarn", "-proc:none",
            "--release", "11", "-d", scratch / "ecj-out", generated(scratch)]


def generated(scratch):
    """A folder of sources, the same on every machine."""
    folder = scratch / "generated"
    folder.mkdir(exist_ok=True)
    for i in range(CLASSES_GENERATED):
        (folder / f"C{i}.java").write_text(generated_class(i))
    return folder


def generated_class(i):
    other = (i * 7 + 1) % CLASSES_GENERATED
    methods = "".join(f"""
    public <T extends Comparable<T>> List<T> sorted{k}(Collection<? extends T> in, int limit) {{
        List<T> out = new ArrayList<>(in);
        Collections.sort(out);
        Map<Integer, T> groups = new TreeMap<>();
        for (T one : out) {{
            groups.put(one.hashCode() % {k + 2}, one);
        }}
        for (Map.Entry<Integer, T> entry : groups.entrySet()) {{
            switch (entry.getKey() & 3) {{
                case 0: out.add(entry.getValue()); break;
                case 1: out.remove(entry.getValue()); break;
                default: if (other != null && other.count > limit) out.clear();
            }}
        }}
        return out;
    }}""" for k in range(12))
    return f"""import java.util.*;
public class C{i} {{
    int count = {i};
    C{other} other;{methods}
}}
"""


def prepare_jython(scratch, _):
    script = scratch / "script.py"
    script.write_text("""
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

words = {}
for i in range(200000):
    word = 'w%d' % (i * 7919 % 5003)
    words[word] = words.get(word, 0) + 1
print(fib(24), len(words), sum(words.values()), sorted(words.items())[:3])
""")
    return ["-Dpython.cachedir.skip=true", "-jar", JARS / "jython.jar", script]


def prepare_fop(scratch, _):
    rows = "".join(
        f"<fo:table-row><fo:table-cell><fo:block>{i}</fo:block></fo:table-cell>"
        f"<fo:table-cell><fo:block>row number {i}, and some words to be set in lines</fo:block></fo:table-cell>"
        "</fo:table-row>" for i in range(ROWS_OF_TABLE))
    document = scratch / "table.fo"
    document.write_text(f"""<fo:root xmlns:fo="http://www.w3.org/1999/XSL/Format"><fo:layout-master-set>
<fo:simple-page-master master-name="a4" page-height="29.7cm" page-width="21cm" margin="2cm"><fo:region-body/>
</fo:simple-page-master></fo:layout-master-set><fo:page-sequence master-reference="a4">
<fo:flow flow-name="xsl-region-body"><fo:table table-layout="fixed" width="100%"><fo:table-column column-width="3cm"/>
<fo:table-column column-width="12cm"/><fo:table-body>{rows}</fo:table-body></fo:table></fo:flow>
</fo:page-sequence></fo:root>""")
    jars = ":".join(str(j) for j in sorted(JARS.glob("*.jar")))
    return ["-Djava.awt.headless=true", "-cp", jars, "org.apache.fop.cli.Main", "-q", document,
            scratch / "table.pdf"]


if __name__ == "__main__":
    main()
