"""Recursion is folded among sampled frames as among exact nodes: with recursion=1 no sampled path has a method twice,
with recursion=all a path is as deep as the stack that was walked."""

import csv

import harness
import sampled

MS = 1500
FRAMES = 3001  # of even and odd
WALKED_LEAST = 500  # frames that a walk has of the deep stack at the least


def sampled_recursion(test):
    plain = test.java("Diver", MS)
    test.check(plain.out == f"{FRAMES - 1}\n", f"without the agent: {plain}")
    sampled.check_unless_chance(test, lambda longer: with_levels(test, "1", MS * longer))
    sampled.check_unless_chance(test, lambda longer: with_levels(test, "all", MS * longer))


def with_levels(test, levels, ms):
    test.ledger.unlink(missing_ok=True)
    test.java("Diver", ms, agent=test.agent_option(events="none", sample="cpu", interval="5ms", recursion=levels))
    done = test.text_report(test.ledger, "--view", "tree", "--csv", "--thread", "main")
    test.check(done.status == 0, f"{done}")
    at_work = [path for path in sampled_paths(done.out) if path[-1] == "Diver.work"]
    if not test.check_likely(at_work, "work", f"recursion={levels}: no sample of work"):
        return
    deepest = max(at_work, key=len)
    if levels == "1":
        test.check(len(set(deepest)) == len(deepest), f"recursion=1: {deepest}")
        test.check("recursion_max" in done.out and any(int(row["recursion_max"]) > int(row["recursion"])
                   for row in csv.DictReader(done.out.splitlines())), "recursion=1: no node says how deep")
    else:
        test.check(len(deepest) >= WALKED_LEAST, f"recursion=all: {len(deepest)} frames")


def sampled_paths(text):
    """Of the sampled Java frames with samples on top of them, or below."""
    path = []
    for row in csv.DictReader(text.splitlines()):
        del path[int(row["level"]):]
        path.append((row["kind"], f"{row['class']}.{row['method']}"))
        if int(row["cum_samples"]):
            names = [name for kind, name in path if kind == "sampled"]
            if names:
                yield names


if __name__ == "__main__":
    harness.main(sampled_recursion)
