"""C1 calls hooks, and C2 inlines them: by what the JVM says of its compilers. Hooks that C1 inlines make C1 slow."""

import re

import harness

SPEAKING = ("-Xbatch", "-XX:+UnlockDiagnosticVMOptions", "-XX:+PrintCompilation", "-XX:+PrintInlining")
COMPILATION = re.compile(r"^\s*\d+\s+\d+.*?\S::\S+ ")
HOOK = re.compile(r"@ \d+\s+java\.lang\.TreadleHooks::(enter|leave) \(\d+ bytes\)\s+(.*)")


def compiled_hooks(test):
    first = inlined(test, r" 3 +SelfRecursion::fib ")
    test.check(len(first) == 3, f"C1: {first}")
    for hook, said in first:
        test.check("uses too much stack" in said, f"C1: {hook}: {said}")
    second = inlined(test, r" SelfRecursion::fib ", "-Xcomp", "-XX:-TieredCompilation")
    test.check(len(second) == 3, f"C2: {second}")
    for hook, said in second:
        test.check(said.startswith("inline"), f"C2: {hook}: {said}")


def inlined(test, wanted, *flags):
    """Hooks of the first compilation of that method, and what the compiler said of each."""
    test.ledger.unlink(missing_ok=True)
    ran = test.java(*SPEAKING, *flags, "SelfRecursion", agent=test.agent_option(events="instrument"))
    test.check(ran.status == 0, f"{ran}")
    lines = ran.out.splitlines()
    begin = next((i for i, line in enumerate(lines) if COMPILATION.match(line) and re.search(wanted, line)), len(lines))
    end = next((i for i in range(begin + 1, len(lines)) if COMPILATION.match(lines[i])), len(lines))
    return [found.groups() for line in lines[begin:end] if (found := HOOK.search(line))]


if __name__ == "__main__":
    harness.main(compiled_hooks)
