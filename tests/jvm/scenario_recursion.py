"""Recursion folded: with recursion=1, 2 and 3 programs of known calls have the trees that were worked out on paper
here, in both event modes: direct and mutual recursion, through exceptions, and in virtual threads that park inside
of it. A line is a method with its calls and, if it stands for more than one level of recursion, these."""

import csv
from pathlib import Path

import harness

EVENTS = ("jvmti", "instrument")
SINKING = Path(__file__).parent / "virtual" / "Sinking.java"
THREADS = 100

EXPECTED = {
    ("SelfRecursion", 1): """
main 1
  fib 1973 0-14
""",
    ("SelfRecursion", 2): """
main 1
  fib 1
    fib 1972 1-14
""",
    ("SelfRecursion", 3): """
main 1
  fib 1
    fib 2
      fib 1970 2-14
""",
    # even(4), odd(3), even(2); main calls both.
    ("MutualRecursion", 1): """
main 1
  even 5 0-2
    odd 3 0-1
  odd 2 0-1
    even 2 0-1
""",
    ("MutualRecursion", 2): """
main 1
  even 2
    odd 2
      even 3 1-2
        odd 1
  odd 1
    even 1
      odd 1
        even 1
""",
    ("MutualRecursion", 3): """
main 1
  even 2
    odd 2
      even 2
        odd 1
          even 1
  odd 1
    even 1
      odd 1
        even 1
""",
    # dive(5) to dive(0), climb(4) to climb(0); after in dive(2), which caught, and in dive(3) to dive(5).
    ("Diving", 1): """
main 1
  dive 6 0-5
    after 4
    climb 5 0-4
""",
    ("Diving", 2): """
main 1
  dive 1
    after 1
    climb 1
      dive 5 1-5
        after 3
        climb 4 1-4
""",
    ("Diving", 3): """
main 1
  dive 1
    after 1
    climb 1
      dive 1
        after 1
        climb 1
          dive 4 2-5
            after 2
            climb 3 2-4
""",
}

# sink(3) to sink(0), rise(2) to rise(0); each sink pauses twice and has one leaf.
EXPECTED_SINKING = {
    1: """
sink 4 0-3
  leaf 4
  pause 8
  rise 3 0-2
""",
    2: """
sink 1
  leaf 1
  pause 2
  rise 1
    sink 3 1-3
      leaf 3
      pause 6
      rise 2 1-2
""",
}


def recursion(test):
    for (program, levels), expected in EXPECTED.items():
        check(test, program, levels, expected)
    if test.major >= 21:
        folder = test.scratch / "classes"
        test.compile(folder, SINKING)
        for levels, expected in EXPECTED_SINKING.items():
            check_sinking(test, folder, levels, expected)


def check(test, program, levels, expected):
    what = f"{program}, recursion={levels}"
    views = trace(test, program, levels, f"{program}.*")
    main = next(t for t in views["tree"]["threads"] if t["name"] == "main")
    test.check(drawn(main) == expected.strip(), f"{what}:\n{drawn(main)}\nnot{expected}")
    if (program, levels) == ("SelfRecursion", 2):
        check_marks(test)


def check_marks(test):
    """What the text says of a folded node, and CSV."""
    text = test.text_report(test.ledger, "--view", "tree").out
    test.check("SelfRecursion.fib [levels 1-14]\n" in text, text)
    test.check("levels of recursion kept apart: 2\n" in test.text_report(test.ledger).out, "the head of the report")
    rows = list(csv.DictReader(test.text_report(test.ledger, "--view", "tree", "--csv").out.splitlines()))
    have = [(row["recursion"], row["recursion_max"]) for row in rows if "fib" in row["method"]]
    test.check(have == [("0", "0"), ("1", "14")], f"CSV: {have}")


def check_sinking(test, folder, levels, expected):
    what = f"virtual threads, recursion={levels}"
    java = ["-cp", str(folder)]
    views = trace(test, "Sinking", levels, "Sinking.sink;Sinking.rise;Sinking.pause;Sinking.leaf", java)
    threads = [t for t in views["tree"]["threads"] if t["name"].startswith("sinks-")]
    test.check(len(threads) == THREADS, f"{what}: {len(threads)} threads")
    for thread in threads:
        if not test.check(drawn(thread) == expected.strip(),
                          f"{what}: {thread['name']}:\n{drawn(thread)}\nnot{expected}"):
            break


def trace(test, program, levels, include, flags=()):
    agent = test.agent_option(include=include, recursion=levels)
    plain = test.java(*flags, program)
    traced = test.java(*flags, program, agent=agent)
    test.same_for_user(plain, traced)
    return test.checked_report()


def drawn(thread):
    lines = []
    for child in thread["root"]["children"]:
        draw(child, 0, lines)
    return "\n".join(lines)


def draw(node, depth, lines):
    """Siblings by name."""
    if node["kind"] != "exact":
        return
    line = f"{'  ' * depth}{node['method']} {node['calls']}"
    if "recursion_max" in node:
        line += f" {node['recursion']}-{node['recursion_max']}"
    lines.append(line)
    for child in sorted(node["children"], key=lambda n: n["method"]):
        draw(child, depth + 1, lines)


if __name__ == "__main__":
    harness.main(recursion)
