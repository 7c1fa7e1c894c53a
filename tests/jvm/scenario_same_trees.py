"""A real program in both event modes: javac, every method of its own. Calls of each method and of each
calling context are the same, and so are the classes that it writes.

javac iterates over maps whose keys have identity hashes: with hashCode=2 these are the same in every run.
What differs all the same between two runs with events=jvmti is left out, if it is little."""

import csv

import harness
import javac

FILES = ("StringJoiner",)
SAME_HASHES = ("-XX:+UnlockExperimentalVMOptions", "-XX:hashCode=2")
UNSTABLE_MOST = 0.01


def same_trees(test):
    javac.extract(test, FILES)
    flags = SAME_HASHES if test.java(*SAME_HASHES, "-version").status == 0 else ()
    plain = javac.compile_into(test, "plain", FILES, flags=flags)
    test.check(plain.status == 0, f"javac: {plain.err}")
    one, two, hooks = (Trace(test, plain, events, folder, flags)
                       for events, folder in (("jvmti", "one"), ("jvmti", "two"),
                                              ("instrument", "hooks")))
    compare(test, "method", one.methods, two.methods, hooks.methods)
    compare(test, "calling context", one.contexts, two.contexts, hooks.contexts)
    test.check(len(one.methods) > 1000, f"javac has more than {len(one.methods)} methods")
    test.check(len(one.contexts) > 50_000, f"only {len(one.contexts)} calling contexts")


class Trace:
    """One run of javac: calls by method, and by calling context as {its hash: (calls, what it is)}."""

    def __init__(self, test, plain, events, folder, flags):
        test.ledger.unlink(missing_ok=True)
        # Hidden classes, whose names are other ones in each run.
        agent = test.agent_option(events=events, include="com.sun.tools.javac.*", exclude="*$$*")
        traced = javac.compile_into(test, folder, FILES, agent=agent, flags=flags)
        test.same_for_user(plain, traced, f"events={events}")
        test.check(javac.classes_in(test, "plain") == javac.classes_in(test, folder),
                   f"events={events}: the classes differ")
        views = test.checked_report(views=("threads", "flat", "callers"))
        test.close_balance(views)
        self.methods = {}
        for m in views["flat"]["methods"]:
            name = f"{m['class']}.{m['method']}{m['signature']}"
            self.methods[name] = (m["calls"] + self.methods.get(name, (0,))[0], name)
        self.contexts = contexts(test)


def contexts(test):
    """From the lines of the tree view, each thread's by level: as JSON that would be gigabytes."""
    shown = test.text_report(test.ledger, "--view", "tree", "--csv")
    test.check(shown.status == 0 and not shown.err, f"tree as CSV: {shown.status} {shown.err}")
    lines = csv.reader(shown.out.splitlines())
    column = {name: i for i, name in enumerate(next(lines))}
    level, calls = column["level"], column["calls"]
    first, last = column["class"], column["signature"] + 1
    found, path = {}, []
    for line in lines:
        depth = int(line[level])
        del path[depth:]
        path.append(hash((path[-1] if path else line[0], *line[first:last])))
        if depth == 0:
            continue
        before = found.get(path[-1], (0,))[0]
        found[path[-1]] = (before + int(line[calls]), f"level {depth} {'.'.join(line[first:last])}")
    return found


def compare(test, what, one, two, hooks):
    every = one.keys() | two.keys() | hooks.keys()
    unstable = {key for key in every if one.get(key) != two.get(key)}
    test.check(len(unstable) <= UNSTABLE_MOST * len(every),
               f"{len(unstable)} of {len(every)} differ between two runs, as {what}: no comparison")
    different = [key for key in every - unstable if one.get(key) != hooks.get(key)]
    for key in different[:10]:
        test.check(False, f"{what} {(one.get(key) or hooks[key])[1]}: calls in events=jvmti "
                          f"{one.get(key, (None,))[0]}, instrument {hooks.get(key, (None,))[0]}")
    test.check(not different, f"{len(different)} of {len(every)} differ, as {what}")
    if unstable:
        print(f"left out, as {what}: {len(unstable)} of {len(every)}")


if __name__ == "__main__":
    harness.main(same_trees)
