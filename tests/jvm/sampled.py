"""What samples put into the trees: stacks, sums over them, and the checks that every sampled ledger must
pass."""

import math
from collections import Counter
from fnmatch import fnmatchcase

FAILED_PPM = 20_000  # of the samples taken
LONGER = (1, 2, 4)  # a measurement, and the next ones if something is off
FAILED_ANYWAY = 5  # walks that may fail however few the samples are: a start has moments that nobody can walk from


def name_of(node):
    """pkg.Class.method of Java, function [image] of native code, [kernel]."""
    if node.get("mark") == "K":
        return "[kernel]"
    if node["kind"] == "native":
        return f"{node['method']} [{node['class']}]"
    return f"{node['class']}.{node['method']}"


def stacks(tree, thread="*", key=name_of):
    """(key of each frame, outermost first; samples) of each node with samples, of the threads whose names
    match."""
    found = []
    for row in tree["threads"]:
        if not fnmatchcase(row["name"], thread):
            continue
        path = []
        below = [(row["root"], 0)]
        while below:
            node, depth = below.pop()
            del path[depth:]
            path.append(key(node))
            if node["samples"]:
                found.append((tuple(path[1:]), node["samples"]))
            below += [(child, depth + 1) for child in node["children"]]
    return found


def count(found, condition=lambda path: True):
    """Samples whose stacks are so."""
    return sum(samples for path, samples in found if condition(path))


def by_method(found):
    """Samples of each name with all that it called; a recursive one counts once."""
    sums = Counter()
    for path, samples in found:
        for name in set(path):
            sums[name] += samples
    return sums


def follow(path, *wanted):
    """True if these frames stand in the stack in that order, others between them or not; `a > b`: b right
    below a. Each is a glob."""
    at = 0
    for chain in wanted:
        links = chain.split(" > ")
        while not matches(path[at:at + len(links)], links):
            at += 1
            if at + len(links) > len(path):
                return False
        at += len(links)
    return True


def matches(path, links):
    return len(path) == len(links) and all(fnmatchcase(have, want) for have, want in zip(path, links))


def error_of_share(share, samples, sigmas=1.96):
    """How far from the truth the share of so many samples may be."""
    return sigmas * math.sqrt(max(share * (1 - share), 1 / samples) / samples)


def check_unless_chance(test, measure):
    """measure(longer) takes that many times as long, and checks what samples may be off in with test.check_likely().
    What is off each time fails the test: one measurement is off by chance, or because a host took the processor away
    while one method ran, or because a busy machine's compilers came late; the next, longer one is not."""
    always = None
    for longer in LONGER:
        test.off = {}
        try:
            measure(longer)
        finally:
            off, test.off = test.off, None
        always = {key: told for key, told in off.items() if always is None or key in always}
        if not always or test.failures:
            break
        print("off:", *always.values(), sep="\n")
    test.failures += always.values()


def check_books(test, views, what="", failed_ppm=FAILED_PPM):
    """Each sample is somewhere, few stacks were not walked to their end, and what nodes were charged is what
    their thread consumed; what the balance says of the samples."""
    told = views["threads"]["balance"]["samples"]
    in_nodes = 0
    for thread in views["tree"]["threads"]:
        in_nodes += count(stacks({"threads": [thread]}))
        cum = thread["root"]["cum"]["cpu_ns"]
        test.check(cum == thread["cpu_ns"],
                   f"{what}: the nodes of {thread['name']} have {cum} ns, the thread {thread['cpu_ns']}")
    lost = told["dropped"] + told["homeless"]
    test.check(in_nodes + lost == told["taken"],
               f"{what}: {in_nodes} samples in nodes and {lost} lost of {told['taken']}")
    failed = failures(told)
    test.check_likely(are_few(failed, told["taken"], failed_ppm), f"{what}: failed walks",
                      f"{what}: {failed} of {told['taken']} walks failed: {reasons(told)}")
    return told


def are_few(failed, taken, failed_ppm=FAILED_PPM):
    return failed <= FAILED_ANYWAY + failed_ppm * taken / 1_000_000


def failures(told):
    """Walks that went wrong. A stack deeper than a sample is not one."""
    return sum(number for reason, number in told["failed_walks"].items() if reason != "too_deep")


def reasons(told):
    return {reason: number for reason, number in told["failed_walks"].items() if number}
