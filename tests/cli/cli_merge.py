"""treadle merge: what goes in comes out, in any order, and nothing half-made is left."""
import itertools
import os
import pty
import re
import shutil
import stat
import struct
import subprocess

import bench

MS = 1_000_000
PREFIX = re.compile(r"^\[pid ([0-9]+) ([^] ]*)( #[0-9]+)?\] ")
KINDS = ("plain", "family", "virtual", "paused", "pool", "losses", "last_moments")


def numbers(row):
    """What is known of a thread but its name."""
    return {key: value for key, value in row.items() if key != "thread"}


def plain_name(name):
    return PREFIX.sub("", name)


class Merge(bench.Bench):
    def setUp(self):
        super().setUp()
        for kind in KINDS:
            self.make(kind)

    def merge(self, *arguments, notes=False):
        """Its standard error."""
        done = subprocess.run([bench.TREADLE, "merge", *arguments], cwd=self.folder,
                              capture_output=True, text=True, env=self.environment(), timeout=60,
                              check=True)
        if not notes:
            self.assertEqual(done.stderr, "")
        return done.stderr

    def rows(self, ledger):
        return self.csv("report", ledger)

    def test_every_thread_keeps_its_numbers(self):
        for order in itertools.permutations(("plain", "pool", "losses")):
            self.merge("-o", "all.ledger", *(f"{kind}.ledger" for kind in order))
            expected = [(row["thread"], numbers(row))
                        for kind in order for row in self.rows(f"{kind}.ledger")]
            merged = [(plain_name(row["thread"]), numbers(row)) for row in self.rows("all.ledger")]
            self.assertCountEqual(merged, expected)

    def test_balance_is_the_sum(self):
        kinds = ("plain", "family", "losses", "last_moments")
        balances = [self.json("report", f"{kind}.ledger")["balance"] for kind in kinds]
        self.merge("-o", "all.ledger", *(f"{kind}.ledger" for kind in kinds), notes=True)
        balance = self.json("report", "all.ledger")["balance"]
        for key in ("kernel_cpu_ns", "charged_cpu_ns", "charged_java_ns", "charged_vm_ns",
                    "charged_native_ns", "last_moments_ns", "dropped_events", "dropped_threads",
                    "resynchronised", "positions_corrected"):
            self.assertEqual(balance[key], sum(one[key] for one in balances), key)
        self.assertEqual(balance["skipped_records"], 0)

    def test_one_ledger_is_the_same_but_for_names(self):
        for kind in KINDS:
            self.merge("-o", "one.ledger", f"{kind}.ledger")
            for view in ("threads", "spawn", "tree", "flat", "callers"):
                for form in ("--json", "--csv"):
                    before = self.treadle("report", f"{kind}.ledger", "--view", view, form)
                    after = self.treadle("report", "one.ledger", "--view", view, form)
                    self.assertEqual(after.replace("[pid 4242 demo.Main] ", ""), before,
                                     f"{kind} {view}")

    def test_methods_are_shared(self):
        self.make("plain", "again.ledger")
        self.merge("-o", "all.ledger", "plain.ledger", "again.ledger")
        alone = {(m["class"], m["method"], m["signature"]): m
                 for m in self.json("report", "plain.ledger", "--view", "flat")["methods"]}
        merged = self.json("report", "all.ledger", "--view", "flat")["methods"]
        self.assertEqual(len(merged), len(alone))
        for method in merged:
            one = alone[method["class"], method["method"], method["signature"]]
            self.assertEqual(method["calls"], 2 * one["calls"])
            for key, value in one["cum"].items():
                self.assertEqual(method["cum"][key], 2 * value)

    def test_samples_are_still_held_against_exact_calls(self):
        """outer has 1 of 4 s, but was on the stack in 200 of 400 samples; that may be in a process to which the
        agent came later, where frames may lack their nodes: merged, too, and whatever the other ledgers are."""
        self.make("tallied")
        self.make("tallied", "attached.ledger", 1)
        check = ("--check", "4294967295")
        fault = "demo.Main.outer has 25.00 % of its CPU, but was on the stack for 50.00 % of that of its 400 samples"
        self.assertIn(f"thread 'main': {fault}", self.treadle("report", "tallied.ledger", *check, status=1))
        self.treadle("report", "attached.ledger", *check)
        for others in (["plain"], ["attached"], ["plain", "attached"]):
            self.merge("-o", "all.ledger", *(f"{kind}.ledger" for kind in others), "tallied.ledger", notes=True)
            said = self.treadle("report", "all.ledger", *check, status=1)
            self.assertRegex(said, rf"thread '\[pid 4242 demo\.Main( #\d)?\] main': {re.escape(fault)}")
        self.merge("-o", "all.ledger", "attached.ledger", "plain.ledger", notes=True)
        self.treadle("report", "all.ledger", *check)

    def test_samples_without_a_tally_are_a_loss(self):
        self.make("tallied")
        self.merge("-o", "all.ledger", "tallied.ledger", "tallied.ledger", "plain.ledger", notes=True)
        lost = "samples for which `report --check` does not know all methods"
        self.assertEqual(self.treadle("report", "tallied.ledger", "-v", "tree").splitlines()[0], f"lost      5 {lost}")
        self.assertEqual(self.treadle("report", "all.ledger", "-v", "tree").splitlines()[0], f"lost      10 {lost}")
        self.assertEqual(self.json("report", "all.ledger")["balance"]["lost_tallies"], 10)

    def test_names_tell_the_process(self):
        self.merge("-o", "all.ledger", "plain.ledger", "losses.ledger")
        names = {row["thread"] for row in self.rows("all.ledger")}
        self.assertIn("[pid 4242 demo.Main] worker-1", names)
        self.assertIn("[pid 4242 demo.Main #2] worker-1", names)
        self.assertEqual({PREFIX.match(name).groups() for name in names},
                         {("4242", "demo.Main", None), ("4242", "demo.Main", " #2")})
        threads = self.json("report", "all.ledger")["threads"]
        self.assertEqual({t["parent"] for t in threads if t["name"].endswith("worker-1")},
                         {"[pid 4242 demo.Main] main", "[pid 4242 demo.Main #2] main"})
        self.assertIn("process     several, the first started", self.treadle("report", "all.ledger"))
        self.assertEqual(self.json("report", "all.ledger")["process"]["pid"], 0)

    def test_merged_ledgers_are_ledgers(self):
        self.merge("-o", "two.ledger", "plain.ledger", "pool.ledger")
        self.merge("-o", "three.ledger", "two.ledger", "losses.ledger")
        self.merge("-o", "all.ledger", "plain.ledger", "pool.ledger", "losses.ledger")
        self.assertCountEqual([numbers(row) for row in self.rows("three.ledger")],
                              [numbers(row) for row in self.rows("all.ledger")])
        changes = re.findall(r'"change":(-?\d+)', self.treadle(
            "diff", "all.ledger", "all.ledger", "--json", "--view", "tree"))
        self.assertEqual(set(changes), {"0"})

    def test_processes_of_one_application_fold(self):
        self.make("orphan", "x.ledger", 999_999_998)
        self.make("orphan", "y.ledger", 999_999_999)
        self.merge("-o", "all.ledger", "x.ledger", "y.ledger")
        rows = {row["thread"]: row for row in self.csv("report", "all.ledger", "--fold")}
        self.assertEqual(rows["[pid # demo.Main] main"]["cpu_ns"], str(2200 * MS))
        self.assertEqual(rows["[pid # demo.Main] main"]["count"], "2")

    def test_what_is_not_known_of_all_is_told(self):
        notes = self.merge("-o", "all.ledger", "plain.ledger", "family.ledger", notes=True)
        self.assertRegex(notes, r"^treadle: metrics that not all of the ledgers have, 0 for the others: user, .*"
                                r"run_queue_delay\n$")
        self.make("kernel_total", "unknown.ledger", 0)
        notes = self.merge("-o", "all.ledger", "plain.ledger", "unknown.ledger", notes=True)
        self.assertEqual(notes, "treadle: unknown.ledger: the kernel's total of this process is not "
                                "known, so the merged ledger has none\n")
        self.assertEqual(self.json("report", "all.ledger")["balance"]["kernel_cpu_ns"], 0)

    def test_twice_the_same_process_is_told(self):
        self.make("live", "x.ledger", os.getpid())
        self.make("live", "y.ledger", os.getpid())
        notes = self.merge("-o", "all.ledger", "x.ledger", "y.ledger", notes=True)
        self.assertIn(f"treadle: x.ledger, y.ledger: both of process {os.getpid()}: what they have "
                      "in common counts twice\n", notes)

    def test_orphans_too(self):
        self.make("orphan", number=999_999_999)
        self.merge("-o", "all.ledger", "orphan.ledger", "plain.ledger")
        report = self.json("report", "all.ledger")
        self.assertEqual(report["process"]["ledger"], "closed")
        self.assertEqual(report["balance"]["charged_cpu_ns"], 2 * 5000 * MS)

    def test_the_file(self):
        self.assertEqual(self.treadle("merge", "plain.ledger"), "treadle-merged.ledger\n")
        self.assertEqual(os.stat(self.path("treadle-merged.ledger")).st_mode & 0o777, 0o600)
        before = set(os.listdir(self.folder))
        with open(self.path("treadle-merged.ledger"), "rb") as old:
            self.merge("plain.ledger", "pool.ledger")
            self.assertEqual(set(os.listdir(self.folder)), before)
            self.assertEqual(len(self.rows("treadle-merged.ledger")), 17)
            self.assertNotEqual(os.fstat(old.fileno()).st_ino,
                                os.stat(self.path("treadle-merged.ledger")).st_ino)

    def test_never_over_a_ledger(self):
        os.symlink("plain.ledger", self.path("link"))
        self.treadle("merge", "pool.ledger")
        for arguments in (["-o", "plain.ledger", "plain.ledger"], ["-o", "link", "pool.ledger", "plain.ledger"],
                          ["-o", "./plain.ledger", "pool.ledger", "link"],
                          ["plain.ledger", "treadle-merged.ledger"]):
            contents = self.contents()
            complaint = self.refused(*arguments)
            self.assertRegex(complaint, r"^treadle: .*: is the ledger itself; name another one with --output\n$")
            self.assertEqual(self.contents(), contents)

    def contents(self):
        found = {}
        for name in os.listdir(self.folder):
            if name.endswith(".ledger"):
                with open(self.path(name), "rb") as file:
                    found[name] = file.read()
        return found

    def test_standard_output(self):
        self.merge("-o", "all.ledger", "plain.ledger", "pool.ledger")
        files = set(os.listdir(self.folder))
        done = self.run_treadle("merge", "-o", "-", "plain.ledger", "pool.ledger")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(done.stdout, self.contents()["all.ledger"])
        self.assertEqual(set(os.listdir(self.folder)), files)
        with open("/dev/full", "wb") as full:
            done = subprocess.run([bench.TREADLE, "merge", "-o", "-", "plain.ledger"], cwd=self.folder, check=False,
                                  stdout=full, stderr=subprocess.PIPE, env=self.environment())
        self.assertEqual((done.returncode, done.stderr), (
            1, b"treadle: standard output: cannot be written: No space left on device\n"))
        master, terminal = pty.openpty()
        with open(master, "rb", buffering=0), open(terminal, "wb", buffering=0) as screen:
            done = subprocess.run([bench.TREADLE, "merge", "-o", "-", "plain.ledger"], cwd=self.folder, check=False,
                                  stdout=screen, stderr=subprocess.PIPE, env=self.environment())
        self.assertEqual((done.returncode, done.stderr), (
            1, b"treadle: a ledger is binary, nothing for a terminal: name a file with --output\n"))

    def refused(self, *arguments, status=1):
        before = set(os.listdir(self.folder))
        complaint = self.treadle("merge", *arguments, status=status)
        self.assertEqual(complaint.count("\n"), 1, complaint)
        self.assertEqual(set(os.listdir(self.folder)), before)
        return complaint

    def test_refused(self):
        self.assertIn("none.ledger: cannot be opened", self.refused("plain.ledger", "none.ledger"))
        self.assertIn("no/out.ledger: cannot be written: No such file",
                      self.refused("-o", "no/out.ledger", "plain.ledger"))
        self.assertIn("tmp: cannot be written: ", self.refused("-o", "tmp", "plain.ledger"))
        # As root a file would take the place of /dev/null; here of a pipe.
        os.mkfifo(self.path("pipe"))
        self.assertIn("pipe: cannot be written: Operation not supported", self.refused("-o", "pipe", "plain.ledger"))
        self.assertTrue(stat.S_ISFIFO(os.stat(self.path("pipe")).st_mode))
        self.assertIn("no ledgers to merge", self.treadle("merge", status=2))
        with open(self.path("pool.ledger"), "r+b") as ledger:
            ledger.seek(8)
            ledger.write(struct.pack("=I", 99))
        self.assertIn("pool.ledger: byte 8: ", self.refused("plain.ledger", "pool.ledger"))

    def test_damage_is_told(self):
        with open(self.path("family.ledger"), "r+b") as ledger:
            ledger.seek(-4096, 2)
            ledger.write(b"x" * 4096)
        expected = self.rows("family.ledger")
        notes = self.merge("-o", "all.ledger", "family.ledger", notes=True)
        self.assertRegex(notes, r"^treadle: family\.ledger: 1 record unreadable and left out, the "
                                r"first at byte \d+: .*\n$")
        self.assertEqual([numbers(row) for row in self.rows("all.ledger")],
                         [numbers(row) for row in expected])

    def test_deep_trees(self):
        self.make("deep", number=20000)
        self.merge("-o", "all.ledger", "deep.ledger", "deep.ledger")
        for row in self.rows("all.ledger"):
            self.assertEqual((row["calls"], row["cpu_ns"]), ("20000", str(20000 * 1000)))

    def test_a_full_disk(self):
        if os.geteuid() != 0 or not shutil.which("unshare"):
            self.skipTest("needs root and unshare(1)")
        os.mkdir(self.path("disk"))
        script = ("mount -t tmpfs -o size=8k none disk || exit 77; "
                  "\"$1\" merge -o disk/all.ledger plain.ledger family.ledger; "
                  "echo \"$?\" $(ls -A disk)")
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", bench.TREADLE],
                              cwd=self.folder, capture_output=True, text=True,
                              env=self.environment(), check=False)
        if done.returncode:
            self.skipTest(f"no file system to be had: {done.stderr}")
        self.assertEqual(done.stdout, "1\n")
        self.assertEqual(done.stderr, "treadle: disk/all.ledger: cannot be written: "
                                      "No space left on device\n")


if __name__ == "__main__":
    bench.main()
