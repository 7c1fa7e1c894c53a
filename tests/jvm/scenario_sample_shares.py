"""What samples say a method's share is, beside what is known of it: the program's own measurement, the exact tree
of the same run, and that of another one. To within the error of so many samples. And the books balance."""

import harness
import javac
import run_program
import sampled

EVENTS = ("jvmti", "instrument")

POINT = 0.01  # of what the program measured itself
SIGMAS = 4  # where many methods are compared at once
LEAST = 0.02  # of main's: what the thread used before that was not sampled from its beginning
MAIN = ("com.sun.tools.javac.Main", "main", "([Ljava/lang/String;)V")
LEDGER_PPM = 5000
JAVAC_FILES = ("StringJoiner", "Optional")


def shares(test):
    sampled.check_unless_chance(test, lambda longer: known(test))
    if test.events == "instrument":
        sampled.check_unless_chance(test, lambda longer: another_run(test))
        sampled.check_unless_chance(test, lambda longer: real_program(test))


def known(test):
    test.ledger.unlink(missing_ok=True)
    agent = test.agent_option(include="KnownShares.*", sample="cpu", interval="500us")
    traced = test.java("KnownShares", agent=agent)
    views = books(test, "KnownShares")
    main = main_thread(views["tree"])
    truth = run_program.expect_lines(traced.out, "share")
    by_samples = sampled.by_method(sampled.stacks({"threads": [main]}))
    exact = exact_cum(main)
    samples = sum(by_samples[name] for name in truth)
    for name, ns in truth.items():
        share = by_samples[name] / samples
        for what, is_, all_ in (("measured", ns, sum(truth.values())),
                                ("in the exact tree", exact[name], sum(exact[n] for n in truth))):
            told = f"{name}: {share:.4f} of {samples} samples, {is_ / all_:.4f} {what}"
            print(told)
            test.check_likely(abs(share - is_ / all_) <= POINT + sampled.error_of_share(is_ / all_, samples),
                              (name, what), told)


def another_run(test):
    """The sampled tree of a run without hooks, the exact tree of one without samples."""
    trees = []
    for how in ({"events": "none", "sample": "cpu", "interval": "500us"}, {"include": "KnownShares.*"}):
        test.ledger.unlink(missing_ok=True)
        test.java("KnownShares", agent=test.agent_option(**how))
        trees.append(main_thread(test.checked_report()["tree"]))
    by_samples = sampled.by_method(sampled.stacks({"threads": trees[:1]}))
    exact = exact_cum(trees[1])
    names = [f"KnownShares.{name}" for name in ("thirty", "twenty", "fifty")]
    samples = sum(by_samples[name] for name in names)
    for name in names:
        is_, share = exact[name] / sum(exact[n] for n in names), by_samples[name] / samples
        told = f"{name}: {share:.4f} of {samples} samples without hooks, {is_:.4f} in an exact tree"
        print(told)
        test.check_likely(abs(share - is_) <= POINT + sampled.error_of_share(is_, samples), name, told)


def real_program(test):
    test.ledger.unlink(missing_ok=True)
    javac.extract(test, JAVAC_FILES)
    # Without the smallest methods: their hooks would be most of what there is.
    done = javac.compile_late(test, "traced", JAVAC_FILES, agent=test.agent_option(
        include="com.sun.tools.javac.*", exclude="*.tree.*;*.util.*;*.code.Type*", sample="cpu", interval="500us"))
    test.check(done.status == 0, f"javac: {done.err}")
    views = books(test, "javac")
    main = main_thread(views["tree"])
    by_samples = sampled.by_method(sampled.stacks({"threads": [main]}, key=identity))
    exact = exact_cum(main, identity)
    cpu_ns, samples = exact[MAIN], by_samples[MAIN]
    compared, farthest = 0, 0
    for method, ns in exact.items():
        is_, share = ns / cpu_ns, by_samples[method] / samples
        if is_ < LEAST or is_ == 1:
            continue
        compared += 1
        sigma = sampled.error_of_share(is_, samples, 1)
        farthest = max(farthest, abs(share - is_) / sigma)
        test.check_likely(abs(share - is_) <= SIGMAS * sigma, method,
                          f"javac: {method}: {share:.4f} of {samples} samples, {is_:.4f} of the CPU: "
                          f"{abs(share - is_) / sigma:.1f} sigma")
    print(f"javac: {compared} methods above {LEAST}, {samples} samples, the farthest {farthest:.1f} sigma off")
    test.check(compared > 20, f"javac: only {compared} methods above {LEAST}")


def identity(node):
    return node["class"], node["method"], node["signature"]


def books(test, what):
    views = test.checked_report(views=("threads", "tree", "flat", "callers"))
    sampled.check_books(test, views, what)
    test.close_balance(views)
    done = test.text_report(test.ledger, "--check", LEDGER_PPM)
    test.check_likely(done.status == 0, "--check", f"{what}: report --check {LEDGER_PPM}: {done}")
    return views


def main_thread(tree):
    return max((thread for thread in tree["threads"] if thread["kind"] == "platform"),
               key=lambda thread: thread["cpu_ns"])


def exact_cum(thread, key=sampled.name_of):
    """CPU below each method's nodes; a recursive one counts once."""
    sums = {}
    for node, method, above in harness.nodes_of(thread["root"]):
        if node["kind"] == "exact" and not above:
            sums[key(node)] = sums.get(key(node), 0) + node["cum"]["cpu_ns"]
    return sums


if __name__ == "__main__":
    harness.main(shares)
