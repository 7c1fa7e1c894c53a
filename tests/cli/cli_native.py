"""treadle run with programs that have no JVM: libtreadle-native.so. The programs are compiled by the tests, as users
compile theirs; the trees are those that stand in their heads (tests/preload)."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
import unittest

import bench

SOURCES = pathlib.Path(__file__).resolve().parents[1] / "preload"
LIBRARY = os.environ.get("NATIVE_LIBRARY", "")
INSTRUMENTED = ["-O1", "-g", "-fno-inline", "-finstrument-functions", "-D_GNU_SOURCE", "-pthread"]
OWN_ROWS = ("treadle", "(threads after their last look)")


class Native(bench.Bench):
    def setUp(self):
        super().setUp()
        if not os.path.exists(LIBRARY):
            self.skipTest("libtreadle-native.so is not built here")

    def compile(self, source, *flags, name=None, compiler="cc"):
        if not shutil.which(compiler):
            self.skipTest(f"no {compiler}")
        program = self.path(name or pathlib.Path(source).stem)
        subprocess.run([compiler, *flags, str(SOURCES / source), "-o", program, "-ldl"], check=True)
        return program

    def profile(self, *command, options=("--exact",), status=0, child=False, **env):
        """Its standard output; and the ledger's name, which is that of the only one that is new. child: it forks one,
        whose ledger self.child is."""
        before = set(self.ledgers())
        env = {"TREADLE_PRELOAD": LIBRARY, **env}
        done = subprocess.run([bench.TREADLE, "run", *options, "--", *command], cwd=self.folder, text=True,
                              capture_output=True, check=False, timeout=100, env=self.environment(**env))
        self.assertEqual(done.returncode, status, done.stderr)
        self.complaints = done.stderr
        new = sorted(set(self.ledgers()) - before)
        if child:
            self.assertEqual(len(new), 2, new)
            # The parent waits for its child.
            new.sort(key=lambda name: -self.json("report", name)["process"]["wall_ns"])
            self.child = new.pop()
        return done.stdout, new[0] if len(new) == 1 else new

    def ledgers(self):
        return [name for name in os.listdir(self.folder) if name.endswith(".ledger")]

    def threads(self, ledger):
        view = self.json("report", ledger, "--view", "tree")
        return [thread for thread in view["threads"] if thread["name"] not in OWN_ROWS]

    def calls(self, node):
        """A tree as the programs' heads draw it: {function: (calls, {…})}, exact nodes only."""
        return {child["method"]: (child["calls"], self.calls(child)) for child in node["children"]
                if child["kind"] == "exact" and child["calls"]}

    def tree(self, ledger, name):
        threads = [thread for thread in self.threads(ledger) if thread["name"] == name]
        self.assertEqual(len(threads), 1, [thread["name"] for thread in self.threads(ledger)])
        return self.calls(threads[0]["root"])


def leaf(calls):
    return (calls, {})


KNOWN = {"main": (1, {
    "twice": (2, {"leaf": leaf(6)}),
    "deep": (7, {"leaf": leaf(1)}),
    "jumps": (1, {"thrower": (5, {"inner": leaf(5)}), "after": (5, {"leaf": leaf(5)})}),
    "loops": (1, {"restarts": leaf(4)}),
    "ways": (1, {"left_by_function": (1, {"comparing": leaf(1)}), "after_sort": leaf(1)}),
    "deeper": (1, {"thrower": (1, {"inner": leaf(1)}), "comparing_well": leaf(1)}),
})}


class Trees(Native):
    def test_a_known_tree(self):
        for flags in (["-O0"], ["-O2", "-fomit-frame-pointer"]):
            program = self.compile("known_tree.c", *INSTRUMENTED, *flags)
            _, ledger = self.profile(program)
            self.assertEqual(self.tree(ledger, "known_tree"), KNOWN, flags)
            self.assertIn("nothing lost", self.treadle("report", ledger))
            os.remove(self.path(ledger))

    def test_every_end_keeps_the_ledger(self):
        program = self.compile("known_tree.c", *INSTRUMENTED)
        for end, status in (("_exit", 3), ("quick_exit", 4), ("close", 0)):
            _, ledger = self.profile(program, end, status=status)
            self.assertEqual(self.tree(ledger, "known_tree"), KNOWN, end)

    def test_a_process_ends_with_its_last_thread(self):
        program = self.compile("last_thread.c", *INSTRUMENTED)
        for options in (("--exact",), ("--sample=cpu",), ("--sample=none",)):
            with self.subTest(options):
                said, ledger = self.profile(program, options=options)
                self.assertEqual(said, "thread 0\nthread 3\nthread 6\nthread 9\nat exit\n")
                rows = [thread for thread in self.threads(ledger) if thread["name"] == "last_thread"]
                self.assertEqual(len(rows), 5)
                self.assertTrue(all(row["terminated"] for row in self.json("report", ledger)["threads"]
                                    if row["name"] == "last_thread"))

    def test_a_killed_process_keeps_its_live_ledger(self):
        program = self.compile("known_tree.c", *INSTRUMENTED)
        aborted = subprocess.run([program, "abort"], cwd=self.folder, check=False, capture_output=True,
                                 env=self.environment(LD_PRELOAD=LIBRARY,
                                                      TREADLE_NATIVE=f"overhead=any,live-dir={self.live}"))
        self.assertEqual(aborted.returncode, -signal.SIGABRT)
        live = [name for name in os.listdir(self.live) if name.endswith(".live")]
        self.assertEqual(len(live), 1)
        self.assertEqual(self.tree(os.path.join(self.live, live[0]), "known_tree"), KNOWN)

    def test_libraries_that_lie_where_others_lay(self):
        host = self.compile("reloading.c", *INSTRUMENTED)
        names, rounds = ("one", "three", "two"), 40  # more rounds than the table has entries for one place
        libraries = [self.compile("reloaded.c", *INSTRUMENTED, "-shared", "-fPIC", f"-DFUNCTION={name}",
                                  *(["-Wl,--build-id=none"] if name == "three" else []), name=f"{name}.so")
                     for name in names]
        places, ledger = self.profile(host, str(rounds), *libraries)
        self.assertEqual(places, "1\n", "the libraries do not lie at one place here")
        self.assertIn("nothing lost", self.treadle("report", ledger))
        self.assertEqual(sorted(self.called(ledger, *(f"{name}.so" for name in names))),
                         sorted((f"{name}.so", function, 2 * rounds) for name in names for function in (name, "used")))
        self.assertEqual(self.called(ledger, "[native]"), [])

        # Calls before the names are decided are lost, and counted; none has another one's name.
        _, ledger = self.profile(host, str(rounds), *libraries, options=("--exact", "--include", "three;two.so.used"))
        for image, function, calls in self.called(ledger):
            self.assertIn((image, function), (("three.so", "three"), ("two.so", "used")))
            self.assertLessEqual(calls, 2 * rounds)

    def called(self, ledger, *classes):
        flat = self.json("report", ledger, "--view", "flat")["methods"]
        return [(row["class"], row["method"], row["calls"]) for row in flat
                if row["calls"] and (not classes or row["class"] in classes)]

    def test_recursion_is_kept_apart_where_asked(self):
        program = self.compile("known_tree.c", *INSTRUMENTED)
        _, ledger = self.profile(program, options=("--exact", "--recursion", "all"))
        level, node = 0, self.tree(ledger, "known_tree")["main"][1]
        while "deep" in node:
            calls, node = node["deep"]
            self.assertEqual(calls, 1)
            level += 1
        self.assertEqual((level, node), (7, {"leaf": leaf(1)}))

    def test_include_and_exclude(self):
        program = self.compile("known_tree.c", *INSTRUMENTED)
        _, ledger = self.profile(program, options=("--exact", "--include", "known_tree.*", "--exclude", "deep;tw*"))
        expected = {"main": (1, {**KNOWN["main"][1], "leaf": leaf(7)})}
        for left_out in ("twice", "deep"):
            del expected["main"][1][left_out]
        self.assertEqual(self.tree(ledger, "known_tree"), expected)
        _, ledger = self.profile(program, options=("--exact", "--include", "leaf"))
        self.assertEqual(self.tree(ledger, "known_tree"), {"leaf": leaf(12)})

    def test_exceptions_and_handlers_of_signals(self):
        program = self.compile("exceptions.cpp", *INSTRUMENTED, compiler="c++")
        _, ledger = self.profile(program)
        functions = ("catches", "passes", "throws", "handles", "raises", "on_signal", "in_handler", "main")

        def plain(tree):  # whether the compiler's names are shown as they are or as C++ has them
            return {next(name for name in functions if name in found): (calls, plain(below))
                    for found, (calls, below) in tree.items()}

        self.assertEqual(plain(self.tree(ledger, "exceptions")), {"main": (1, {
            "catches": (3, {"passes": (3, {"throws": leaf(3)}), "handles": leaf(3)}),
            "raises": (1, {"on_signal": (2, {"in_handler": leaf(2)})}),
        })})

    def test_libraries_threads_at_the_end_and_a_fork(self):
        program = self.compile("host.c", *INSTRUMENTED)
        plugin = self.compile("plugin.c", *INSTRUMENTED, "-shared", "-fPIC", name="plugin.so")
        _, ledger = self.profile(program, plugin, child=True)
        self.assertEqual(self.tree(self.child, "host"), {"in_child": leaf(1)})
        self.assertEqual(self.tree(ledger, "host"), {"main": (1, {
            "load": (1, {"plugin_run": (1, {"plugin_part": leaf(7)})}), "fork_child": leaf(1)})})
        waiters = [thread for thread in self.threads(ledger) if thread["name"] == "waiter"]
        self.assertEqual([self.calls(thread["root"]) for thread in waiters],
                         [{"waiter": (1, {"wait_for_end": leaf(1)})}] * 2)
        self.assertFalse(any(thread["terminated"] for thread in waiters))
        self.assertEqual({thread["parent"] for thread in self.json("report", ledger)["threads"]
                          if thread["name"] == "waiter"}, {"host"})
        self.assertEqual(len(self.ledgers()), 2)


class Threads(Native):
    def test_short_threads_reuse_kernel_ids(self):
        count = 20000
        program = self.compile("threads.c", *INSTRUMENTED)
        said, ledger = self.profile(program, str(count))
        cpu_ns, ids = map(int, said.split())
        view = self.json("report", ledger)
        rows = [thread for thread in view["threads"] if thread["name"].startswith("worker-")]
        self.assertTrue(all(thread["name"] in {f"worker-{lane}" for lane in range(8)} | {"worker-#"} for thread in rows))
        self.assertTrue(all(thread["terminated"] for thread in rows))
        self.assertEqual(sum(thread["calls"] for thread in rows), count * 12)
        print(f"{ids} kernel ids for {count} threads, {len(rows)} rows")
        all_ns = sum(thread["cpu_ns"] for thread in view["threads"])
        self.assertLess(abs(view["balance"]["difference_ppm"]), 5000)
        self.assertLess(abs(view["process"]["cpu_ns"] - all_ns), 0.005 * view["process"]["cpu_ns"])
        # The program read its own clock right before its end.
        self.assertGreaterEqual(all_ns, cpu_ns * 0.995)
        self.assertEqual(view["balance"]["dropped_events"], 0)
        flat = {method["method"]: method["calls"] for method in self.json("report", ledger, "--view", "flat")["methods"]}
        self.assertEqual({name: flat[name] for name in ("work", "turn", "step")},
                         {"work": count, "turn": count, "step": 10 * count})

    def test_a_program_as_debian_has_it(self):
        text = self.path("text")
        with open(text, "w", encoding="utf-8") as file:
            for number in range(400_000):
                file.write(f"{number * 7919 % 1000003:x} {number * 104729 % 999983}\n")
        environment = {"LC_ALL": "C.UTF-8"}
        _, ledger = self.profile("sort", "--parallel=2", "-S", "64M", "-o", self.path("sorted"), text, options=(),
                                 **environment)
        view = self.json("report", ledger)
        self.assertLess(abs(view["balance"]["difference_ppm"]), 5000)
        named = [thread["name"] for thread in view["threads"]]
        self.assertGreaterEqual(named.count("sort"), 2, named)
        self.assertEqual({thread["parent"] for thread in view["threads"] if thread["name"] == "sort"}, {None, "sort"})
        self.assertIn("libc.so.6", json.dumps(self.json("report", ledger, "--view", "images")))
        seen = self.json("report", ledger, "--view", "tree")["threads"]

        samples = sum(child["cum"]["samples"] for thread in seen for child in thread["root"]["children"]
                      if child["kind"] == "native")
        # One each 10 ms of CPU time, but for the first 20 ms and for ticks that came late.
        cpu_ns = sum(thread["cpu_ns"] for thread in view["threads"] if thread["name"] == "sort")
        self.assertGreater(samples, cpu_ns / 10e6 / 3)
        self.assertLess(samples, cpu_ns / 10e6 * 1.5)


class Processes(Native):
    def test_what_nothing_can_be_preloaded_into(self):
        program = self.compile("static.c", "-static")
        _, none = self.profile(program, status=1)
        self.assertEqual(none, [])
        self.assertEqual(len(self.complaints.splitlines()), 1)
        self.assertIn("statically linked", self.complaints)

    def test_a_limit_of_the_size_of_files_ends_no_program(self):
        done = subprocess.run(["sh", "-c", 'ulimit -f 8; exec "$0" run --best-effort -- echo hello', bench.TREADLE],
                              cwd=self.folder, check=False, capture_output=True, text=True,
                              env=self.environment(TREADLE_PRELOAD=LIBRARY))
        self.assertEqual((done.returncode, done.stdout), (0, "hello\n"), done.stderr)
        self.assertIn("File too large; not profiling", done.stderr)

    def test_exec_leaves_the_ledger_of_before(self):
        _, ledger = self.profile("sh", "-c", "exec sort /dev/null")
        self.assertIn("sort /dev/null", self.treadle("report", ledger))
        self.assertEqual(len(self.ledgers()), 1)

    def test_exec_is_the_program_s(self):
        """Arguments and environment arrive, and a call that fails changes nothing."""
        program = self.compile("replaced.c", *INSTRUMENTED)
        tell = self.path("tell")
        with open(tell, "w", encoding="utf-8") as script:
            script.write('#!/bin/sh\necho "$#,$1,$2,$X"\n')
        os.chmod(tell, 0o755)
        for way in ("execl", "execlp", "execle", "execv", "execvp", "execvpe", "execve"):
            said, _ = self.profile(program, way, tell)
            self.assertEqual(said, f"2,a,b c,{'1' if way.endswith('e') else ''}\n", way)
        _, ledger = self.profile(program, "none", tell)
        self.assertEqual(self.tree(ledger, "replaced"), {"main": leaf(1)})

    def test_jvms_only(self):
        _, none = self.profile("true", options=("--jvm-only",), status=1)
        self.assertEqual(none, [])
        self.assertIn("no JVM of true was profiled", self.complaints)

    def test_of_a_script_jvms_only(self):
        script = self.path("script")
        with open(script, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nsort /dev/null; exit 0\n")
        os.chmod(script, 0o755)
        for program in ([script], ["sh", script], ["/bin/bash", "-c", "sort /dev/null; exit 0"]):
            for options, count in (((), 0), (("--native",), 2)):
                for old in self.ledgers():
                    os.remove(self.path(old))
                done = subprocess.run([bench.TREADLE, "run", *options, "--", *program], cwd=self.folder, check=False,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                      env=self.environment(TREADLE_PRELOAD=None))
                self.assertEqual(len(self.ledgers()), count, f"{options} {program}: {done.stderr}")
                self.assertEqual(done.returncode, 0 if count else 1, f"{options} {program}: {done.stderr}")

    def test_a_wrong_option_is_named(self):
        _, none = self.profile("true", options=("-O", "intervall=1ms"), status=1)
        self.assertEqual(none, [])
        self.assertIn("did you mean interval?", self.complaints)

    def test_a_wrong_value_is_refused_as_the_agent_does(self):
        for option, told in (("overhead=2", "did you mean 2%? (0.0001% to 100%, or any)"),
                             ("interval=10", "did you mean 10ms? (100us to 1s)"),
                             ("recursion=40", "did you mean 16? (1 to 16, or all)"),
                             ("fold=nome", "did you mean none? (auto or none)"),
                             ("sample=wall", "did you mean cpu or none; wall is for JVMs?")):
            _, none = self.profile("true", options=("-O", option), status=1)
            self.assertEqual(none, [], option)
            self.assertIn(f"bad value '{option.split('=')[1]}'; {told}", self.complaints)

    def test_children_are_merged(self):
        _, ledgers = self.profile("sh", "-c", "sort /dev/null; true | sort -u; exit 0")
        self.assertGreaterEqual(len(ledgers), 3)
        self.treadle("merge", *ledgers, "-o", "all.ledger")
        names = [thread["name"] for thread in self.json("report", "all.ledger")["threads"]]
        self.assertEqual(sum(name.endswith(" sort") for name in names), 2, names)

    def test_a_running_program_can_be_looked_at(self):
        process = subprocess.Popen([bench.TREADLE, "run", "--best-effort", "--", "sleep", "60"], cwd=self.folder,
                                   stderr=subprocess.DEVNULL, env=self.environment(TREADLE_PRELOAD=LIBRARY))
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        for _ in range(400):
            done = self.run_treadle("report", str(process.pid))
            if b"command     sleep 60" in done.stdout:
                break
            time.sleep(0.05)
        self.assertIn("command     sleep 60", done.stdout.decode())
        self.assertIn("sleep 60", self.treadle("list"))


class Budget(Native):
    def test_functions_that_call_too_often_fall_silent(self):
        program = self.compile("threads.c", *INSTRUMENTED)
        _, ledger = self.profile(program, "20000", options=("--overhead", "0.01%"))
        flat = {method["method"]: method for method in self.json("report", ledger, "--view", "flat")["methods"]}
        self.assertLess(flat["step"]["calls"], 200_000)
        self.assertGreater(flat["step"]["calls"], 0)
        self.assertEqual(flat["main"]["calls"], 1)
        self.assertRegex(self.treadle("report", ledger, "--view", "flat"), r"≥[\d  ]+ .*step")


if __name__ == "__main__":
    unittest.TestCase.maxDiff = None
    bench.SECONDS = 280
    bench.main()
