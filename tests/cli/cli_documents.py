"""The manual and the completion know every command, option and name that `treadle` knows."""
import os
import re
import subprocess

import bench

TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools")


def read(*parts):
    with open(os.path.join(TOOLS, *parts), encoding="utf-8") as file:
        return file.read()


class Documents(bench.Bench):
    def commands(self):
        return re.findall(r"(?m)^  ([a-z]+) +\S", self.treadle("--help"))

    def options(self, command):
        found = set(re.findall(r"--([a-z][a-z-]*)", self.treadle(command, "--help")))
        self.assertLess({"help", "version"}, found)
        return found - {"help", "usage", "version"}

    def complete(self, *words):
        script = ("source \"$1\"; shift; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _treadle;"
                  "printf '%s\\n' \"${COMPREPLY[@]}\"")
        done = subprocess.run(
            ["bash", "-c", script, "bash", os.path.join(TOOLS, "completion", "treadle"), *words],
            cwd=self.folder, env=self.environment(), capture_output=True, text=True, check=True)
        return set(done.stdout.split("\n")) - {""}

    def metrics(self):
        complaint = self.treadle("report", "x", "--metric", "qqqqqqqqqqqq", status=2)
        return set(complaint[complaint.index("there are ") + 10:].strip().split(", "))

    def test_manual(self):
        manual = read("man", "treadle.1")
        for command in self.commands():
            self.assertIn(f"Xr treadle-{command} 1", manual)
            page = read("man", f"treadle-{command}.1")
            for option in self.options(command):
                self.assertRegex(page, rf" -{option}\b", f"treadle {command}")

    def test_agent_options(self):
        with open(os.path.join(TOOLS, "..", "agent", "option_values.c"), encoding="utf-8") as file:
            table = set(re.findall(r'\{"([a-z-]+)", (?:option_value__)?read_', file.read()))
        self.assertLess({"file", "overhead"}, table)
        page = read("man", "treadle-agent.7")
        for option in table - {"answer"}:  # between `treadle attach` and the agent
            self.assertTrue(re.search(rf"(?m)^\.It Cm (.*, )?{option}(=.*)?$", page), option)

    def test_manual_renders(self):
        for name in ("treadle.1", "treadle-agent.7", *(f"treadle-{c}.1" for c in self.commands())):
            page = os.path.join(TOOLS, "man", name)
            try:
                done = subprocess.run(["man", "--warnings", "-l", page], text=True, check=False,
                                      capture_output=True, env=self.environment(MANPAGER="cat"))
            except FileNotFoundError:
                self.skipTest("no man here")
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_metrics(self):
        page = read("man", "treadle-report.1")
        for metric in self.metrics():
            self.assertRegex(page, rf"\b{metric}\b")
        self.assertEqual(self.complete("treadle", "report", "--metric", ""), self.metrics())

    def test_completion(self):
        self.assertEqual(self.complete("treadle", ""),
                         {*self.commands(), "--help", "--version"})
        for command in self.commands():
            self.assertLessEqual({f"--{option}" for option in self.options(command)},
                                 self.complete("treadle", command, "--"), command)
        self.assertEqual(self.complete("treadle", "report", "--view", "t"), {"threads", "tree"})
        self.assertEqual(self.complete("treadle", "report", "--view", "=", "f"), {"flat"})
        self.make("plain")
        self.make("live", "tmp/treadle-77-0123456789abcdef.live", os.getpid())
        self.assertLessEqual({"plain.ledger", "77"}, self.complete("treadle", "report", ""))


if __name__ == "__main__":
    bench.main()
