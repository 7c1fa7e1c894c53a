"""treadle top without a screen: intervals of a process that burns a processor, as lines and as JSON."""
import json
import subprocess

import bench
import spinning

LAG_NS = 10_000_000  # from outside, the clock of a thread that runs lags by up to a tick


class Top(spinning.Spinning):
    def kernel_ns(self):
        with open(f"/proc/{self.pid}/task/{self.pid}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[0])

    def intervals(self, *arguments):
        lines = self.treadle("top", self.pid, "--json", *arguments).splitlines()
        return [json.loads(line, parse_float=self.fail) for line in lines]

    def busy_intervals(self, *arguments):
        """In which it got a processor, as it does in longer ones on a busy machine; and its CPU before them."""
        for seconds in ("0.1", "1", "10"):
            before = self.kernel_ns()
            intervals = self.intervals(*arguments, "--interval", seconds)
            if sum(row["cpu_ns"] for interval in intervals for row in interval["threads"] if row["name"] == "spinner"):
                break
        return intervals, before

    def test_intervals_add_up_to_the_kernel_s_clock(self):
        intervals, before = self.busy_intervals("--count", "4")
        consumed = self.kernel_ns() - before
        self.assertEqual(len(intervals), 4)
        self.assertTrue(all(a["process"]["to_ns"] == b["process"]["from_ns"]
                            for a, b in zip(intervals, intervals[1:])))
        rows = [row for interval in intervals for row in interval["threads"]
                if row["name"] == "spinner"]
        self.assertEqual(len(rows), 4)
        self.assertGreater(sum(row["cpu_ns"] for row in rows), 0)
        self.assertLessEqual(sum(row["cpu_ns"] for row in rows), consumed + LAG_NS)
        for interval in intervals:
            process, balance = interval["process"], interval["balance"]
            self.assertEqual(process["to_ns"] - process["from_ns"], process["interval_ns"])
            self.assertGreater(process["interval_ns"], 0)  # after one that was late the next one is shorter
            self.assertEqual(balance["charged_cpu_ns"],
                             sum(row["cpu_ns"] for row in interval["threads"]))
            self.assertEqual(balance["kernel_cpu_ns"], process["cpu_ns"])
            self.assertEqual(balance["cut_rows"], 0)
            self.assertEqual(balance["dropped_events"], 0)
        for row in rows:
            self.assertLessEqual(row["cpu_permille"], 1000)
            self.assertEqual(row["calls"], 0)

    def test_once(self):
        (interval,), _ = self.busy_intervals("--once")
        self.assertEqual(interval["process"]["pid"], self.process.pid)
        self.assertEqual(interval["process"]["command"], "demo.Main --rounds 3")
        first, path = interval["threads"][0], interval["hot_path"]
        self.assertEqual((first["name"], path["thread"]), ("spinner", "spinner"))
        # What it has not booked belongs to the method that it was in at last.
        self.assertEqual([(step["method"], step["cum_cpu_ns"], step["base_cpu_ns"])
                          for step in path["steps"]],
                         [("(thread)", first["cpu_ns"], 0), ("run", first["cpu_ns"], 0),
                          ("spin", first["cpu_ns"], first["cpu_ns"])])

    def test_lines(self):
        text = self.treadle("top", self.name, "--once", "-i", "0.1", "--sort", "name")
        self.assertRegex(text, rf"(?m)^process {self.pid}  demo\.Main --rounds 3  in \S+ \S+$")
        self.assertRegex(text, r"(?m)^CPU \d+\.\d %, user .*, system .*; \d+ threads, "
                               r"0 began, 0 ended$")
        self.assertRegex(text, r"(?m)^balance: kernel .*, charged .*; nothing lost; 0 calls/s$")
        titles = text.splitlines()[4].split()
        self.assertEqual(titles, ["THREAD", "KIND", "CPU", "TIME", "WAITING", "CALLS/S",
                                  "SWITCH/S", "FAULTS/S", "DELAY"])
        rows = text.split("\n\n")[1].splitlines()[1:]
        names = [row[:row.index("  ")] for row in rows]
        self.assertEqual(names, sorted(names))
        self.assertIn("worker-1", names)
        narrow = self.treadle("top", self.pid, "--once", "-i", "0.1", env={"COLUMNS": "80"})
        self.assertLessEqual(max(map(len, narrow.splitlines())), 80)
        for title in ("CPU", "TIME", "WAITING", "CALLS/S", "SWITCH/S", "DELAY"):
            self.assertIn(title, narrow)

    def test_what_threads_wait_for(self):
        self.make("live_waits", self.name, self.process.pid)
        interval, = self.intervals("--once", "-i", "0.1")
        lock = "java.util.concurrent.locks.ReentrantLock$NonfairSync"
        waits = {row["name"]: row["waits_for"] for row in interval["threads"] if row["kind"] != "native"}
        self.assertEqual(waits, {
            "taker": {"reason": "monitor", "lock": "com.app.Queue", "blocker": "main"},
            "parker": {"reason": "park", "lock": lock, "blocker": None},
            "sleeper": {"reason": "sleep", "lock": None, "blocker": None},
            "request": {"reason": "unmounted", "lock": None, "blocker": None}, "main": None})
        text = self.treadle("top", self.pid, "--once", "-i", "0.1")
        self.assertRegex(text, r"(?m) WAITS FOR$")
        self.assertRegex(text, r"(?m)^taker .* monitor Queue of main$")
        self.assertRegex(text, r"(?m)^parker .* park ReentrantLock\$NonfairSync$")
        self.assertRegex(text, r"(?m)^request +virtual .* unmounted$")
        narrow = self.treadle("top", self.pid, "--once", "-i", "0.1", env={"COLUMNS": "80"})
        self.assertNotIn("WAITS FOR", narrow)

    def test_chosen_threads(self):
        interval, = self.intervals("--once", "-i", "0.1", "--thread", "work*")
        self.assertEqual([row["name"] for row in interval["threads"]], ["worker-1"])

    def test_a_filter_that_matches_nothing(self):
        for form in (["--once"], ["--count", "3"]):
            done = self.run_treadle("top", self.pid, *form, "-i", "0.1", "-t", "nobody")
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr.decode(), r"^treadle: \S+: no thread's name matches 'nobody'; there are 'worker-1', "
                                                   r".*\n$")
            self.assertNotIn(b"THREAD", done.stdout)
        done = self.run_treadle("top", self.pid, "--once", "--json", "-i", "0.1", "-t", "nobody")
        self.assertEqual(done.returncode, 1)
        interval = json.loads(done.stdout)
        self.assertEqual(interval["threads"], [])
        self.assertEqual(interval["hot_path"], {"thread": None, "steps": []})
        self.assertIn(b"no thread's name matches 'nobody'", done.stderr)

    def test_a_name_may_be_any_part_of_one(self):
        for glob in ("orke", "*orke*", "worker*"):
            interval, = self.intervals("--once", "-i", "0.1", "-t", glob)
            self.assertTrue(interval["threads"], glob)
            self.assertTrue(all("orke" in thread["name"] for thread in interval["threads"]))

    def test_a_stopped_one_says_so(self):
        self.make("stopped", self.name, self.process.pid)
        text = self.treadle("top", self.pid, "--once", "-i", "0.1")
        self.assertIn("demo.Main --rounds 3 (profiling is stopped)", text)
        self.assertEqual(self.intervals("--once", "-i", "0.1")[0]["process"]["profiled_ns"], 0)

    def top_of_one_that_ends(self, *arguments):
        """It ends after the first interval: the exit status, and what is told."""
        with subprocess.Popen([bench.TREADLE, "top", self.pid, "--json", "-i", "0.1", *arguments],
                              cwd=self.folder, env=self.environment(), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as top:
            json.loads(top.stdout.readline())
            self.process.kill()
            self.process.wait()
            _, complaint = top.communicate(timeout=60)
        return top.returncode, complaint

    def test_the_process_ends(self):
        self.assertEqual(self.top_of_one_that_ends(), (0, f"treadle: process {self.pid} has ended\n"))

    def test_the_process_ends_too_early(self):
        self.assertEqual(self.top_of_one_that_ends("-n", "1000"), (1, f"treadle: process {self.pid} has ended\n"))

    def test_what_cannot_be_shown(self):
        def refused(*arguments, status=1):
            complaint = self.treadle("top", *arguments, status=status)
            self.assertEqual(complaint.count("\n"), 1, complaint)
            return complaint
        self.make("plain")
        self.make("orphan", number=4_194_999)
        self.assertIn("is a snapshot, which does not change; to show it: treadle report "
                      "plain.ledger", refused("plain.ledger"))
        self.assertIn("process 4194999 has ended; to show its ledger: treadle report "
                      "orphan.ledger", refused("orphan.ledger"))
        self.assertIn("none.live: cannot be opened", refused("none.live"))
        self.assertIn("there is no process 99999999999999999999", refused("99999999999999999999"))
        self.assertIn("did you mean 'waiting'", refused("--sort", "wating", status=2))
        for wrong in ("0", "0.05", "-1", "x", "1s", "1.", ".5", "3601", "1e3", "", "99999"):
            self.assertIn(f"--interval '{wrong}'", refused("--interval", wrong, status=2))
        for wrong in ("0", "-1", "x", "1.5", ""):
            self.assertIn(f"--count '{wrong}'", refused("--count", wrong, status=2))
        self.assertIn("not both", self.treadle("top", "--once", "-n", "2", status=2))
        self.assertIn("not more", self.treadle("top", "1", "2", status=2))

    def test_which_process(self):
        """Other JVMs may run on this machine: then a PID has to be named."""
        other = subprocess.Popen(["sleep", "300"])
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        self.make("live", f"tmp/treadle-{other.pid}-0123456789abcdef.live", other.pid)
        complaint = self.treadle("top", "--once", "-i", "0.1", status=1)
        self.assertEqual(complaint.count("\n"), 1, complaint)
        self.assertIn("which process? there are ", complaint)
        self.assertRegex(complaint, r"\d+ \(\S")


if __name__ == "__main__":
    bench.main()
