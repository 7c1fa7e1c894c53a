"""Programs that fork children which execute nothing, with libtreadle-native.so: each child has a ledger of its own. What
each process did it says itself (tests/preload/forking.c)."""
import os
import pathlib
import subprocess
import unittest

import bench
import cli_native
from cli_native import INSTRUMENTED, leaf

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROLES = {"exits", "_exits", "returns", "starts", "forks", "grandchild", "of-thread", "burns", "killed", "fails", "executes",
         "at-once", "parent"}


class Forks(cli_native.Native):
    def calls(self, node):
        """Frames of treadle.h have brackets."""
        return {f"[{child['identifier']}]" if child["kind"] == "logical" else child["method"]:
                (child["calls"], self.calls(child)) for child in node["children"]
                if child["kind"] in ("exact", "logical") and child["calls"]}

    def forking(self, *arguments, options):
        """The lines that the processes said."""
        program = self.compile("forking.c", *INSTRUMENTED, f"-I{ROOT}")
        said, _ = self.profile(program, *arguments, options=(*options, "-O", f"live-dir={self.live}"))
        return said.splitlines()

    def methods(self, node):
        return {node["method"]}.union(*map(self.methods, node["children"]))

    def main_tree(self, ledger, pid):
        found = [thread for thread in self.json("report", ledger, "--view", "tree")["threads"] if pid in thread["tids"]]
        self.assertEqual(len(found), 1, found)
        return self.calls(found[0]["root"])

    def live_ledger(self, pid):
        found = [name for name in os.listdir(self.live) if name.startswith(f"treadle-{pid}-") and name.endswith(".live")]
        self.assertEqual(len(found), 1, (pid, os.listdir(self.live)))
        return os.path.join(self.live, found[0])

    def ledger(self, role, pid):
        return self.live_ledger(pid) if role in ("killed", "executes") else f"treadle-{pid}.ledger"

    def check_book(self, ledger, pid):
        view = self.json("report", ledger)
        self.assertEqual(view["process"]["pid"], pid)
        self.assertIn("forking", view["process"]["command"])
        self.assertEqual(view["balance"]["dropped_events"], 0)
        self.assertIn("nothing lost", self.treadle("report", ledger))
        return view

    def test_each_child_has_a_ledger_of_its_own(self):
        said = {}
        for line in self.forking("workers", options=("--exact",)):
            role, *numbers = line.split()
            said[role] = tuple(map(int, numbers))
        self.assertEqual(set(said), ROLES)
        for role, (pid, steps, jobs, cpu_ns) in said.items():
            if role in ("parent", "at-once"):
                continue
            ledger = self.ledger(role, pid)
            expected = {"work": (1, {"step": leaf(steps), "[job]": (jobs, {"[inside]": leaf(jobs)})})}
            if role == "starts":
                expected["start"] = leaf(1)
            elif role == "forks":
                expected["exits"] = leaf(1)
            self.assertEqual(self.main_tree(ledger, pid), expected, role)
            view = self.check_book(ledger, pid)
            rows = {thread["name"] for thread in view["threads"]}
            self.assertEqual(rows - set(cli_native.OWN_ROWS), {"forking", "helper"} if role == "starts" else {"forking"}, role)
            self.assertEqual(sum(thread["name"] == "forking" for thread in view["threads"]), 1, role)
            if role == "starts":
                self.assertEqual(self.tree(ledger, "helper"), {"help": (1, {"step": leaf(50)})})
            if role not in ("killed", "executes"):
                self.assertLess(abs(view["balance"]["difference_ppm"]), 5000, role)
                self.assertGreaterEqual(view["process"]["cpu_ns"], cpu_ns, role)
                self.assertLess(view["process"]["cpu_ns"], cpu_ns + 50_000_000, role)
        self.check_parent(*said["parent"])
        # What is forked to execute a program leaves nothing; the programs have ledgers of their own.
        self.assertEqual({name for name in self.ledgers() if "forking" in
                          self.json("report", name)["process"]["command"]},
                         {f"treadle-{pid}.ledger" for role, (pid, *_) in said.items()
                          if role not in ("killed", "executes", "at-once")})
        self.assertFalse([name for name in os.listdir(self.live) if name.startswith(f"treadle-{said['at-once'][0]}-")])
        merged = [f"treadle-{said[role][0]}.ledger" for role in ("exits", "returns", "parent")]
        self.treadle("merge", *merged, "-o", "all.ledger")
        flat = {method["method"]: method["calls"] for method in self.json("report", "all.ledger", "--view", "flat")["methods"]}
        self.assertEqual(flat["step"], sum(said[role][1] for role in ("exits", "returns", "parent")))

    def check_parent(self, pid, steps, _jobs, _cpu_ns):
        ledger = f"treadle-{pid}.ledger"
        view = self.check_book(ledger, pid)
        self.assertLess(abs(view["balance"]["difference_ppm"]), 5000)
        flat = {method["method"]: method["calls"] for method in self.json("report", ledger, "--view", "flat")["methods"]}
        self.assertEqual((flat["step"], flat["work"], flat["main"]), (steps, 1, 1))
        self.assertNotIn("help", flat)
        main = self.main_tree(ledger, pid)["main"][1]
        self.assertEqual(main["work"], (1, {"step": leaf(500), "[job]": (50, {"[inside]": leaf(50)})}))

    def test_samples_are_taken_in_a_child(self):
        for options in (("-O", "interval=5ms"), ("-O", "interval=5ms", "-O", "sample-clock=perf")):
            for line in self.forking("workers", options=options):
                role, pid, *_ = line.split()
                if role != "burns":
                    continue
                view = self.json("report", f"treadle-{pid}.ledger", "--view", "tree")
                thread = next(thread for thread in view["threads"] if int(pid) in thread["tids"])
                self.assertGreater(thread["root"]["cum"]["samples"], 20)
                self.assertLess(thread["root"]["cum"]["samples"], 90)
                self.assertTrue({"fork_burner", "burn"} <= self.methods(thread["root"]))
                self.assertIn("nothing lost", self.treadle("report", f"treadle-{pid}.ledger"))

    def test_a_name_without_the_id(self):
        """The snapshot of a child does not take its parent's name."""
        self.forking("workers", options=("--exact", "-o", "one.ledger"))
        names = [name for name in self.ledgers() if name.startswith("one")]
        self.assertIn("one.ledger", names)
        self.assertEqual(len(names), len(ROLES - {"killed", "executes", "at-once"}))

    def test_no_fork_waits_for_ever(self):
        for options in (("--exact",), ("-O", "interval=1ms")):
            said = self.forking("storm", "30", options=options)
            self.assertEqual(said, ["30 0"])

    def test_forks_in_handlers_that_interrupt_hooks(self):
        said = self.forking("handlers", "60", options=("--exact",))
        self.assertRegex(said[-1], r"^\d+ 0$")
        for line in said[:-1]:
            _, pid, steps, *_ = line.split()
            flat = {method["method"]: method["calls"] for method in
                    self.json("report", f"treadle-{pid}.ledger", "--view", "flat")["methods"]}
            self.assertIn(int(steps) - flat["step"], (0, 1), line)

    def test_forks_that_call_no_handlers(self):
        """Their children write nothing into the parent's ledger, and have none."""
        said = self.forking("unheard", options=("--exact",))
        pids = {line.split()[0]: line.split()[1] for line in said}
        self.assertEqual(set(pids), {"_Fork", "clone", "grandchild", "parent"})
        self.assertEqual(self.ledgers(), [f"treadle-{pids['parent']}.ledger"])
        self.assertEqual(os.listdir(self.live), [])
        self.assertEqual(self.complaints.count("is not profiled"), 2, self.complaints)
        ledger = self.ledgers()[0]
        view = self.check_book(ledger, int(pids["parent"]))
        self.assertLess(abs(view["balance"]["difference_ppm"]), 5000)
        self.assertEqual({thread["name"] for thread in view["threads"]} - set(cli_native.OWN_ROWS), {"forking"})
        flat = {method["method"]: method["calls"] for method in self.json("report", ledger, "--view", "flat")["methods"]}
        self.assertEqual({name: flat[name] for name in ("step", "work", "job", "inside")},
                         {"step": 3500, "work": 3, "job": 350, "inside": 350})
        self.assertFalse({"help", "start", "exits"} & set(flat))

    def test_a_child_that_has_no_processor_before_it_executes(self):
        said = self.forking("queued", options=("--exact",))[-1].split()
        if said[0] == "no":
            self.skipTest("this kernel does not tell the time in the run queue")
        self.assertEqual(said[0], "queued")
        self.assertFalse([name for name in os.listdir(self.live) if name.startswith(f"treadle-{said[1]}-")])

    def test_what_needs_a_single_thread(self):
        """A parent and its child do what they can do without the profiler, and are profiled before and after."""
        program = self.compile("namespaces.c", *INSTRUMENTED)
        alone = subprocess.run([program], capture_output=True, text=True, check=True).stdout
        if "child leaves 0" not in alone:
            self.skipTest("no namespaces of users here")
        said, ledger = self.profile(program, child=True)
        self.assertEqual(said, alone)
        self.assertEqual(self.complaints, "")
        self.assertEqual(self.tree(self.child, "namespaces"), {"leaves": (1, {"step": leaf(300)})})
        self.assertEqual(self.tree(ledger, "namespaces"), {"main": (1, {
            "leaves": (1, {"step": leaf(300)}), "starts": leaf(1)})})
        self.assertEqual(self.tree(ledger, "helper"), {"help": (1, {"step": leaf(50)})})
        for name in (ledger, self.child):
            self.assertIn("nothing lost", self.treadle("report", name))
            self.assertLess(abs(self.json("report", name)["balance"]["difference_ppm"]), 5000)


if __name__ == "__main__":
    unittest.TestCase.maxDiff = None
    bench.SECONDS = 280
    bench.main()
