"""Frames of treadle.h in programs without a JVM, that run with libtreadle-native.so: nodes of the exact tree, among the
functions of the program. The trees are those that stand in the head of tests/preload/logical_tree.c."""
import json
import pathlib
import subprocess
import sys
import time
import unittest

import bench
import cli_chains
import cli_native
from cli_native import INSTRUMENTED, leaf

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLAIN = ["-g", "-D_GNU_SOURCE", "-pthread"]
HEADER = f"-I{ROOT}"
LEVELS = range(12, -1, -1)


def nested(names, calls=1):
    tree = {}
    for name in reversed(names):
        tree = {name: (calls, tree)}
    return tree


WITH_FUNCTIONS = {"main": (1, {
    "serve": (3, {"[request GET]": (3, {
        "parse": (3, {"[token 1]": leaf(3), "[token -2]": leaf(3)}),
        "store": (3, {"[write]": (3, {"flush": leaf(3)})})})}),
    "jumps": (2, {"[outer]": (2, {"leaves": (2, {"[inner]": (2, {"jump": leaf(2)})}), "[after]": leaf(2)})}),
    "marks": (1, {"[marked]": (1, {"climbs": (14, {f"[level {level}]": leaf(1) for level in LEVELS})}),
                  "[unmarked]": leaf(1)}),
    "recurses": (5, {"[again]": leaf(5)}),
    "forgets": (4, {"[forgotten]": leaf(4)}),
    "[found]": leaf(1),
    "[held]": (1, {"closes": leaf(1)}),
    "signals": (1, {"[raised]": (1, {"on_signal": (2, {"[in handler]": leaf(2)})})}),
    "fork_child": (1, {"[forking]": leaf(1)}),
    "begins": (1, nested(["[chain one]", "[chain two]"])),
    "start_all": leaf(1),
})}

WITHOUT = {
    "[request GET]": (3, {"[token 1]": leaf(3), "[token -2]": leaf(3), "[write]": leaf(3)}),
    "[outer]": (2, {"[inner]": leaf(2), "[after]": leaf(2)}),
    "[marked]": (1, nested([f"[level {level}]" for level in LEVELS])),
    "[unmarked]": leaf(1),
    "[again]": leaf(5),
    "[forgotten]": leaf(4),
    "[found]": leaf(1),
    "[held]": leaf(1),
    "[raised]": (1, {"[in handler]": leaf(2)}),
    "[forking]": leaf(1),
    "[chain one]": (1, {"[chain two]": leaf(1)}),
}


IN_CHILD = {"[in child]": leaf(1000)}


def workers(with_functions):
    """By name of the thread."""
    trees = {}
    for number in range(1, 4):
        frames = {f"[job {number}]": (10 * number, {"step": leaf(20 * number)} if with_functions else {}),
                  **nested(["[open]", "[open too]"])}
        trees[f"worker-{number}"] = {"work": (1, frames)} if with_functions else frames
    return trees


class Logical(cli_native.Native):
    def calls(self, node):
        """Logical frames as the program's head has them."""
        found = {}
        for child in node["children"]:
            if child["kind"] == "logical":
                name = f"[{' '.join(filter(None, (child['identifier'], child['parameter'])))}]"
            elif child["kind"] == "exact" and child["calls"]:
                name = child["method"]
            else:
                continue
            self.assertNotIn(name, found)
            found[name] = (child["calls"], self.calls(child))
        return found

    def logical_tree(self, *flags):
        return self.compile("logical_tree.c", *flags, HEADER)

    def find(self, node, identifier):
        if node.get("identifier") == identifier:
            return node
        return next(filter(None, (self.find(child, identifier) for child in node["children"])), None)


class Trees(Logical):
    def check_trees(self, main, with_functions, *flags):
        _, ledger = self.profile(self.logical_tree(*flags), child=True)
        self.assertEqual(self.tree(ledger, "logical_tree"), main, flags)
        self.assertEqual(self.tree(self.child, "logical_tree"), IN_CHILD, flags)
        for name, expected in workers(with_functions).items():
            self.assertEqual(self.tree(ledger, name), expected, flags)
        self.assertIn("nothing lost", self.treadle("report", ledger))
        return ledger

    def test_frames_nest_with_functions(self):
        for flags in (["-O0"], ["-O2", "-fomit-frame-pointer"]):
            self.check_trees(WITH_FUNCTIONS, True, *INSTRUMENTED, *flags)

    def test_functions_that_are_inlined_share_a_frame(self):
        instrumented = [flag for flag in INSTRUMENTED if flag != "-fno-inline"]
        self.check_trees(WITH_FUNCTIONS, True, *instrumented, "-O2", "-DEITHER=static inline __attribute__((always_inline))")

    def test_frames_without_functions(self):
        for flags in (["-O0"], ["-O2"]):
            self.check_trees(WITHOUT, False, *PLAIN, *flags)

    def test_the_activity_view(self):
        ledger = self.check_trees(WITH_FUNCTIONS, True, *INSTRUMENTED)
        view = self.json("report", ledger, "--view", "activity")

        def flat(nodes):
            for node in nodes:
                yield node
                yield from flat(node["children"])

        self.assertEqual({name: calls for (name, calls) in (
            (f"{node['identifier']} {node['parameter'] or ''}".strip(), node["calls"])
            for node in flat(view["activity"]))},
            {"request GET": 3, "token 1": 3, "token -2": 3, "write": 3, "outer": 2, "inner": 2, "after": 2, "marked": 1,
             **{f"level {level}": 1 for level in LEVELS}, "unmarked": 1, "again": 5, "forgotten": 4, "found": 1,
             "held": 1, "raised": 1, "in handler": 2, "forking": 1, "chain one": 1, "chain two": 1,
             **{f"job {number}": 10 * number for number in range(1, 4)}, "open": 3, "open too": 3})
        self.assertFalse(any(view["stack_losses"].values()), view["stack_losses"])
        self.treadle("html", ledger, "-o", "page.html")
        self.assertIn(b"in handler", b"".join(self.blocks("page.html").values()))

    def test_parts_of_chains(self):
        """The frame that is adopted inside a part of the same chain is none."""
        for flags in ([*INSTRUMENTED, "-O2"], [*PLAIN, "-O2"]):
            _, ledger = self.profile(self.logical_tree(*flags), child=True)
            chains = self.json("report", ledger, "--view", "chains")["chains"]
            self.assertEqual([[(part["path"], part["thread"], part["end_seen"]) for part in chain["parts"]]
                              for chain in chains], [[(["chain (one)"], "logical_tree", True)]])

    def test_handlers_that_interrupt_hooks_and_themselves(self):
        """What a handler calls and pushes is recorded, or counted as lost, and leaves the stack as it was."""
        program = self.compile("reentrant.c", *INSTRUMENTED, HEADER)
        of_handlers = ("on_signal", "[in handler]", "in_handler")
        for how in ("below", "above"):
            said, ledger = self.profile(program, how)
            steps, events = map(int, said.split())
            tree = self.tree(ledger, "stormy")
            found = dict.fromkeys(of_handlers, 0)

            def without_handlers(below):
                kept = {}
                for name, (calls, node) in below.items():
                    if name in found:
                        found[name] += calls
                        self.assertEqual(without_handlers(node), {})
                    else:
                        kept[name] = (calls, without_handlers(node))
                return kept

            self.assertEqual(without_handlers(tree), {"run": (1, {
                "storm": (1, {"step": leaf(steps), "[frame]": (steps, {"inside": leaf(steps)})}),
                "after": (1, {"[last]": leaf(1)})})}, how)
            dropped = self.json("report", ledger)["balance"]["dropped_events"]
            self.assertEqual(sum(found.values()) + dropped, events, (how, found, dropped))
            self.assertGreater(dropped, 0, how)
            print(how, found, dropped)

    def test_recursion_is_kept_apart_where_asked(self):
        _, ledger = self.profile(self.logical_tree(*PLAIN, "-O1"), options=("--exact", "--recursion", "all"), child=True)
        tree = self.tree(ledger, "logical_tree")
        self.assertEqual(tree["[again]"], nested(["[again]"] * 5)["[again]"])
        # Nothing says that the function returned: each is pushed at the same place.
        self.assertEqual(tree["[forgotten]"], nested(["[forgotten]"] * 4)["[forgotten]"])

    def test_too_many_parameters_are_folded_and_counted(self):
        program = self.logical_tree(*PLAIN, "-O1")
        _, ledger = self.profile(program, "many", "1500")
        self.assertEqual(self.tree(ledger, "logical_tree"), {
            **{f"[batch {number}]": leaf(1) for number in range(1000)}, "[batch (other)]": leaf(500)})
        losses = self.json("report", ledger, "--view", "activity")["stack_losses"]
        self.assertEqual({name: count for name, count in losses.items() if count}, {"other_parameters": 500})

    def test_long_texts_are_cut_and_counted(self):
        program = self.logical_tree(*PLAIN, "-O1")
        _, ledger = self.profile(program, "long")
        self.assertEqual(self.tree(ledger, "logical_tree"),
                         {f"[{'i' * 60} {'p' * 32}]": leaf(2), f"[{'i' * 59} {'p' * 31}]": leaf(1), "[(other)]": leaf(1)})
        losses = self.json("report", ledger, "--view", "activity")["stack_losses"]
        self.assertEqual({name: count for name, count in losses.items() if count},
                         {"cut_parameters": 3, "cut_identifiers": 2, "lost_identifiers": 1})

    def test_frames_that_are_too_deep_are_counted(self):
        program = self.logical_tree(*PLAIN, "-O1")
        _, ledger = self.profile(program, "deep", "300000")
        self.assertEqual(self.tree(ledger, "logical_tree"), {"[down]": leaf(262144), "[up]": leaf(1)})
        losses = self.json("report", ledger, "--view", "activity")["stack_losses"]
        self.assertEqual({name: count for name, count in losses.items() if count}, {"lost_frames": 300000 - 262144})

    def test_what_threads_consume_is_charged_to_frames(self):
        for flags, options in ((INSTRUMENTED, ("--exact",)), (PLAIN, ("-O", "interval=5ms"))):
            program = self.logical_tree(*flags, "-O1")
            said, ledger = self.profile(program, "shares", options=options)
            outer_ns, inner_ns, faults, switches = map(int, said.split())
            root = next(thread for thread in self.threads(ledger) if thread["name"] == "logical_tree")["root"]
            outer, inner, touch, nap = (self.find(root, name) for name in ("outer", "inner", "touch", "nap"))
            # What is sampled below a frame has its share of the frame's time.
            own = {node["identifier"]: node["cum"]["cpu_ns"] for node in (inner, outer)}
            self.assertLess(abs(own["inner"] - inner_ns), 0.01 * inner_ns, flags)
            self.assertLess(abs(own["outer"] - inner_ns - outer_ns), 0.01 * (inner_ns + outer_ns), flags)
            self.assertIn("inner", [child.get("identifier") for child in outer["children"]])
            self.assertGreaterEqual(faults, 500)
            self.assertIn(touch["cum"]["minor_faults"] - faults, range(50))  # the hooks and the reading have some
            self.assertIn(nap["cum"]["voluntary_switches"] - switches, (0, 1))
            self.assertGreaterEqual(nap["cum"]["wall_ns"], 30 * 1_000_000)
            self.assertIn("nothing lost", self.treadle("report", ledger))
            if options == ("--exact",):
                continue
            kinds = {child["kind"] for child in inner["children"]}
            self.assertIn("native", kinds)
            self.assertLessEqual(kinds, {"native", "kernel", "not_sampled"})  # the first 20 ms
            self.assertTrue("spin_until" in str(inner["children"]))
            # One each 5 ms of CPU time, but for the first 20 ms and for ticks that came late.
            self.assertGreater(inner["cum"]["samples"], inner_ns / 5e6 / 3)
            self.assertLess(inner["cum"]["samples"], inner_ns / 5e6 * 1.5)


class Shares(Logical):
    """Samples of functions that nobody hears of, below logical frames."""

    def check_shares(self, heard, *flags):
        program = self.compile("logical_shares.c", *flags, HEADER)
        said, ledger = self.profile(program, "100", options=("-O", "interval=4ms"))
        own, parse, below_parse, below_scan, before, after = map(int, said.split())
        root = next(thread for thread in self.threads(ledger) if thread["name"] == "logical_shares")["root"]
        sort, scan, forgotten = (self.find(root, name) for name in ("sort", "scan", "forgotten"))
        self.assertEqual(self.named_children(sort), {"parse", "scan"}, flags)
        self.assertEqual(self.named_children(scan), {"compare"}, flags)
        self.assertIn(scan, sort["children"])
        parsing = self.child_of(sort, "parse")
        self.assertEqual(self.named_children(parsing), {"compare"}, flags)
        self.assertIsNone(self.find_method(scan, "fetches"))
        for name in ("main", "requests", "query", "_start"):
            self.assertNotIn(f'"{name}', json.dumps(sort), flags)
        # What samples share out has the error of a share of so many samples. The first 20 ms have none.
        total = own + parse + below_parse
        seen = self.cpu(sort) - self.cpu(scan) - self.not_sampled(sort)
        for found, ns in ((seen - self.cpu(parsing), own), (self.cpu(parsing), parse + below_parse),
                          (self.cpu(self.child_of(parsing, "compare")), below_parse)):
            share = ns / total
            error = 5 * (share * (1 - share) / (seen / 4_000_000)) ** 0.5
            self.assertLess(abs(found / seen - share), error, (found, seen, ns, total, flags))
        # All that the frame did was in one function.
        for node, ns in ((sort, total + below_scan), (scan, below_scan)):
            self.assertLess(abs(self.cpu(node) - ns), 0.02 * ns, flags)
        self.assertGreater(self.cpu(self.child_of(scan, "compare")) + self.not_sampled(scan), 0.95 * self.cpu(scan))
        self.assertLess(abs(self.cpu(forgotten) - after), 0.05 * after, flags)
        # A frame whose function has returned: the stack from the thread's first function, or the one that is heard.
        below = self.child_of(forgotten, "other") if heard else self.find_method(forgotten, "main")
        self.assertGreater(self.cpu(self.find_method(below, "compare")), 0.8 * self.cpu(forgotten), flags)
        outside = self.cpu(self.find_method(root, "other", but=forgotten))
        self.assertLess(abs(outside + self.not_sampled(root) - before), 0.1 * before, flags)
        return ledger, own, parse, below_parse, below_scan

    def cpu(self, node):
        return node["cum"]["cpu_ns"]

    def not_sampled(self, node):
        return sum(self.cpu(child) for child in node["children"] if child["kind"] == "not_sampled")

    def child_of(self, node, method):
        return next(child for child in node["children"] if child.get("method") == method)

    def find_method(self, node, method, but=None):
        if node.get("method") == method:
            return node
        children = (child for child in node["children"] if child is not but)
        return next(filter(None, (self.find_method(child, method, but) for child in children)), None)

    def named_children(self, node):
        """But for the clock and the kernel, which may be met anywhere, what no sample covers, and what a function does
        on its way to a push or pop."""
        names = {child.get("identifier") or child["method"] for child in node["children"]
                 if child["kind"] in ("logical", "exact", "native") and "treadle" not in (child.get("class") or "")}
        return {name for name in names if not any(part in name for part in
                                                 ("clock", "[", "logical_shares+", "fetches", "treadle"))}

    def test_functions_stand_below_the_frame_that_was_open(self):
        for heard, flags in ((False, [*PLAIN, "-O2"]), (False, [*PLAIN, "-O0"]), (True, [*INSTRUMENTED, "-O2"])):
            self.check_shares(heard, *flags)

    def test_other_views_and_exports(self):
        ledger, own, parse, below_parse, below_scan = self.check_shares(False, *PLAIN, "-O2", "-fomit-frame-pointer")
        total = own + parse + below_parse + below_scan
        rows = {row["method"]: row for row in self.json("report", ledger, "--view", "flat")["methods"]}
        self.assertLess(abs(self.cpu(rows["sort"]) - total), 0.02 * total)
        self.assertLess(self.cpu(rows["parse"]), 0.6 * total)
        callers = {row["self"]["method"]: row for row in self.json("report", ledger, "--view", "callers")["methods"]}
        self.assertEqual([parent["method"] for parent in callers["parse"]["parents"]], ["sort"])
        activity = self.json("report", ledger, "--view", "activity")["activity"]
        self.assertEqual([node["identifier"] for node in activity], ["sort", "forgotten"])
        self.assertEqual([node["identifier"] for node in activity[0]["children"]], ["scan"])
        lines = self.treadle("export", "--format", "collapsed", ledger).splitlines()
        self.assertTrue(any(";sort;parse" in line and "main" not in line for line in lines), lines[:5])
        self.assertTrue(any(";sort;scan (ORDERS);compare" in line for line in lines), lines[:5])


class Watched(Logical):
    def test_a_sampler_sees_what_it_sees_without_a_profiler(self):
        """Parts of chains with the program's ids, and the frames of each stack; the profiler sees the same pushes."""
        source = self.path("caller.c")
        pathlib.Path(source).write_text(cli_chains.CALLER, encoding="utf-8")
        program = self.compile(source, *PLAIN, HEADER, name="caller")
        environment = self.environment(LD_PRELOAD=cli_native.LIBRARY, TREADLE_NATIVE="overhead=any")
        caller = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=self.folder,
                                  env=environment)
        self.addCleanup(caller.wait)
        self.addCleanup(caller.stdout.close)
        self.addCleanup(caller.kill)
        self.assertEqual(caller.stdout.readline(), "ready\n")
        sampling = subprocess.Popen([bench.TREADLE, "sample", str(caller.pid), "--every", "5ms", "-o", "sampled.ledger"],
                                    cwd=self.folder, stdout=subprocess.DEVNULL)
        self.addCleanup(sampling.wait)
        self.addCleanup(sampling.kill)
        self.await_watch(caller.pid)
        ids = []
        for _ in range(20):
            caller.stdin.write("go\n")
            caller.stdin.flush()
            ids.append(caller.stdout.readline().strip())
        caller.stdin.close()
        self.assertEqual((caller.wait(timeout=60), sampling.wait(timeout=60)), (0, 0))
        chains = self.json("report", "sampled.ledger", "--view", "chains")["chains"]
        self.assertEqual({chain["id"]: [(part["path"], part["end_seen"]) for part in chain["parts"]] for chain in chains},
                         {id_: [(["request (GET)"], True), (["serve"], True)] for id_ in ids})
        self.assertEqual(self.tree(f"treadle-{caller.pid}.ledger", "caller"),
                         {"[first]": leaf(1), "[request GET]": leaf(20), "[serve]": leaf(20)})

    def await_watch(self, pid):
        """The word `watch` in the segment's head says that somebody samples."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            found = list(pathlib.Path("/dev/shm").glob(f"treadle-{pid}-*.activity"))
            if found and int.from_bytes(found[0].read_bytes()[128:132], sys.byteorder):
                return
            time.sleep(0.01)
        self.fail("nobody watches")

    def test_frames_of_other_languages(self):
        script = self.path("pushes.py")
        pathlib.Path(script).write_text(f"""
import ctypes
library = ctypes.CDLL({cli_chains.LIBRARY!r})
library.treadle_activity_push.restype = ctypes.c_uint64
library.treadle_activity_pop_to.argtypes = [ctypes.c_uint64]
for i in range(5):
    mark = library.treadle_activity_push(b"query", b"ORDERS")
    library.treadle_activity_push_number(b"row", ctypes.c_int64(i % 2))
    library.treadle_activity_pop()
    library.treadle_activity_push(b"forgotten", None)
    library.treadle_activity_pop_to(mark)
""", encoding="utf-8")
        _, ledger = self.profile(sys.executable, script)
        name = self.json("report", ledger)["threads"]
        main = max(name, key=lambda thread: thread["calls"])["name"]
        self.assertEqual(self.tree(ledger, main), {
            "[query ORDERS]": (5, {"[row 0]": leaf(3), "[row 1]": leaf(2), "[forgotten]": leaf(5)})})


if __name__ == "__main__":
    unittest.TestCase.maxDiff = None
    bench.SECONDS = 280
    bench.main()
