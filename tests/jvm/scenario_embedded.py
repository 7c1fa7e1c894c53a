"""A program that runs with libtreadle-native.so and makes a JVM with the agent: from there on the agent alone profiles,
and has the frames that the program pushes with treadle.h."""
import subprocess
from pathlib import Path

import harness
from logical_trees import pushes

ROOT = Path(__file__).resolve().parents[2]


def logical(node):
    return [child for child in node["children"] if child["kind"] == "logical"]


def below_of(node):
    return [child["identifier"] for child in logical(node)]


def embedded(test):
    program = test.scratch / "embedding"
    subprocess.run(["cc", "-D_GNU_SOURCE", "-pthread", "-O1", f"-I{ROOT}", f"-I{test.jdk}/include",
                    f"-I{test.jdk}/include/linux", str(ROOT / "tests/preload/embedding.c"), "-o", str(program), "-ldl"],
                   check=True)
    library = test.agent.parent.parent / "native" / "libtreadle-native.so"
    done = test.run([program, test.jdk / "lib/server/libjvm.so", test.agent_option(sample="none")],
                    {"LD_PRELOAD": str(library), "TREADLE_NATIVE": f"overhead=any,live-dir={test.scratch}"})
    test.check(done.status == 0, f"{done}")
    found = pushes(test.checked_report(dropped=True)["tree"])
    test.check(found == {"request": 5, "inner": 5, "marked": 3, "last": 1}, f"pushes {found}")
    below = {child["identifier"]: below_of(child) for thread in test.report("tree")["threads"]
             for child in logical(thread["root"])}
    test.check(below == {"request": ["inner"], "marked": [], "last": []}, f"below each: {below}")
    left = [path.name for path in test.scratch.iterdir() if path.name.endswith((".live", ".ledger"))]
    test.check(left == [test.ledger.name], f"ledgers: {left}")


if __name__ == "__main__":
    harness.main(embedded)
