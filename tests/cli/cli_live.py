"""Ledgers of processes that run, and of those that were killed; and the list of them all."""
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys

import bench

STATE, CHUNKS_USED = 24, 28  # in the header
CLOSED = 2
CHUNK_MAGIC, STRINGS, METHODS = 0x4B4E4843, 1, 2
METHOD_SYMBOL = 8
GONE = 4_194_999  # beyond the largest pid


class Live(bench.Bench):
    def setUp(self):
        super().setUp()
        self.process = subprocess.Popen(["sleep", "300"])
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.kill)
        self.pid = self.process.pid

    def make_live(self):
        return self.make("live", f"tmp/treadle-{self.pid}-0123456789abcdef.live", self.pid)

    def make_orphan(self):
        return self.make("orphan", f"tmp/treadle-{GONE}-0123456789abcdef.live", GONE)

    def entries(self):
        """By path, those of this test: other JVMs may run on this machine."""
        return {entry["path"]: entry for entry in self.json("list")["ledgers"]
                if self.folder in entry["path"] or "/" not in entry["path"]}

    def test_report_by_pid(self):
        self.make_live()
        text = self.treadle("report", str(self.pid))
        self.assertIn(f"process     {self.pid}, started 2023-11-14 22:13:19, ", text)
        self.assertNotIn("orphan", text)
        self.assertEqual(self.json("report", str(self.pid))["process"]["pid"], self.pid)

    def test_orphan(self):
        name = self.make_orphan()
        for source in (name, str(GONE)):
            text = self.treadle("report", source)
            self.assertIn("orphan: its process ended without closing it; charged up to 10.00 s",
                          text)
        self.assertEqual(self.json("report", name)["process"]["ledger"], "orphan")

    def test_list(self):
        self.make_live()
        self.make_orphan()
        self.make("plain")
        with open(self.path("bad.ledger"), "wb") as file:
            file.write(b"junk")
        entries = self.entries()
        live = os.path.join(self.live, f"treadle-{self.pid}-0123456789abcdef.live")
        orphan = os.path.join(self.live, f"treadle-{GONE}-0123456789abcdef.live")
        self.assertEqual(set(entries), {live, orphan, "plain.ledger", "bad.ledger"})
        self.assertEqual({path: entry["state"] for path, entry in entries.items()},
                         {live: "live", orphan: "orphan", "plain.ledger": "snapshot",
                          "bad.ledger": "unreadable"})
        self.assertEqual(entries[live]["pid"], self.pid)
        self.assertEqual(entries[live]["threads"], 4)
        self.assertEqual(entries[live]["command"], "demo.Main --rounds 3")
        self.assertGreater(entries[live]["bytes"], 4096)
        self.assertIn("not a ledger", entries["bad.ledger"]["error"])
        done = self.run_treadle("list")
        text = done.stdout.decode("utf-8")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr.decode("utf-8"), r"^treadle: bad\.ledger: .*not a ledger.*\n$")
        self.assertRegex(text, r"(?m)^COMMAND +PID +STATE +STARTED +SIZE +THREADS +PATH$")
        self.assertRegex(text, rf"(?m)^demo\.Main --rounds 3 +{self.pid} +live +"
                               rf"2023-11-14 22:13:19 +\S+ KiB +4 +{live}$")
        self.assertNotIn("not a ledger", text)
        self.assertRegex(text, r"(?m)^ +unreadable +\S+ +\S+ +bad.ledger$")

    def test_snapshots_of_a_jvm_that_works_elsewhere(self):
        elsewhere = self.path("elsewhere")
        os.mkdir(elsewhere)
        with subprocess.Popen(["sleep", "300"], cwd=elsewhere) as process:
            try:
                self.make("live", f"tmp/treadle-{process.pid}-0123456789abcdef.live", process.pid)
                self.make("plain", "elsewhere/far.ledger")
                self.make("plain", "near.ledger")
                paths = sorted(p for p in self.entries() if p.endswith(".ledger"))
            finally:
                process.kill()
        self.assertEqual(paths, sorted([os.path.join(os.path.realpath(elsewhere), "far.ledger"), "near.ledger"]))

    def test_merged_ledgers_say_so_where_a_pid_would_be(self):
        self.make("plain")
        self.make("diffa")
        self.treadle("merge", "-o", "both.ledger", "plain.ledger", "diffa.ledger")
        self.assertRegex(self.treadle("list"), r"(?m) merged +snapshot .* both\.ledger$")

    def test_names_that_are_none_are_left_alone(self):
        for name in ("treadle-x-1.live", "treadle-12.live", "treadle--5-1.live", "other.live"):
            with open(os.path.join(self.live, name), "wb"):
                pass
        os.symlink("/etc/passwd", os.path.join(self.live, f"treadle-{self.pid}-1.live"))
        self.assertEqual(self.entries(), {})
        self.assertIn("has no ledger", self.treadle("report", str(self.pid), status=1))

    def test_nothing_to_list(self):
        self.treadle("list")
        self.assertIn("x: cannot be opened: No such file", self.treadle("list", "x", status=1))
        self.assertIn("tmp: is a folder, expected a ledger file", self.treadle("list", "tmp", status=1))

    def test_what_is_named_is_listed_alone(self):
        self.make("plain")
        self.make("plain", "other.ledger")
        self.assertEqual([entry["path"] for entry in self.json("list", "other.ledger")["ledgers"]],
                         ["other.ledger"])

    def test_next_to_nothing_takes_next_to_no_memory(self):
        """300 MB are said to be in use, and 4 KiB are there."""
        name = self.make_orphan()
        with open(self.path(name), "r+b") as file:
            file.seek(CHUNKS_USED)
            file.write(struct.pack("=I", 75_000))
            file.truncate(75_000 * 4096)
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        for command in (["list"], ["report", name], ["html", name], ["export", "-f", "csv", name]):
            done = self.run_treadle(*command)
            self.assertIn("bytes in use, in a file that takes ", done.stderr.decode(), command)
        after = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        self.assertLess(after, max(before, 100_000))  # KiB

    def test_overlapping_strings_take_no_memory(self):
        """A ledger of 260 KB whose every cell of a run claims to begin a string up to the run's end or as long as a string
        may be, with methods that name them all: 400 MB of text if each were one. The same if all methods, or functions,
        name one long string."""
        chunks, cells = 32, 64
        for longest, is_one, flags in ((1 << 31, False, 0), (65535, False, 0), (65535, True, 0),
                                       (65535, True, METHOD_SYMBOL)):
            name = self.make("plain")
            with open(self.path(name), "r+b") as file:
                used, = struct.unpack_from("=I", file.read(4096), CHUNKS_USED)
                strings = bytearray(chunks * 4096)
                struct.pack_into("=4I", strings, 0, CHUNK_MAGIC, STRINGS, chunks, chunks * cells)
                for cell in range(1, chunks * cells):
                    struct.pack_into("=3I", strings, cell * 64, min(longest, (chunks * cells - cell) * 64 - 12), 0, 0)
                ref = used * cells + 1
                methods = bytearray()
                for _ in range(chunks):
                    chunk = bytearray(4096)
                    struct.pack_into("=4I", chunk, 0, CHUNK_MAGIC, METHODS, 1, cells)
                    for cell in range(1, cells):
                        struct.pack_into("=Q6I", chunk, cell * 64, ref, ref, ref, ref, 0, 0, flags)
                        ref += not is_one
                    methods += chunk
                file.seek(used * 4096)
                file.write(strings + methods)
                file.seek(CHUNKS_USED)
                file.write(struct.pack("=I", used + 2 * chunks))
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
            for command in (["report", "-v", "flat", name], ["html", name], ["export", "-f", "csv", name],
                            ["merge", "-o", "merged", name]):
                done = self.run_treadle(*command)
                self.assertEqual(done.returncode, 0, done.stderr.decode())
            after = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
            self.assertLess(after, max(before, 100_000))  # KiB
            skipped = self.json("report", name)["balance"]["skipped_records"]
            self.assertEqual(skipped > 5000, not is_one, skipped)

    def test_orphans_are_removed_and_nothing_else(self):
        """Named, for those of other JVMs on this machine are none of this test's."""
        orphan, live, plain = self.make_orphan(), self.make_live(), self.make("plain")
        done = self.run_treadle("list", "--remove", live, orphan, plain)
        self.assertEqual((done.returncode, done.stdout.decode()), (1, f"{orphan}\n"))
        self.assertEqual(done.stderr.decode(), "".join(f"treadle: {name}: not removed: it is no orphan of yours\n"
                                                       for name in (live, plain)))
        self.assertEqual([os.path.exists(self.path(name)) for name in (live, orphan, plain)],
                         [True, False, True])

    def test_all_orphans_are_removed_whoever_reads(self):
        orphan = self.make_orphan()
        names = [f"treadle-{GONE}-{i:0100}.live" for i in range(100)]
        for name in names:
            shutil.copy(self.path(orphan), self.path(name))
        reader, writer = os.pipe()
        os.close(reader)
        with open(writer, "wb", buffering=0) as nobody:
            done = subprocess.run([bench.TREADLE, "list", "--remove", *names], cwd=self.folder, env=self.environment(),
                                  stdout=nobody, stderr=subprocess.PIPE, check=False, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (-signal.SIGPIPE, b""))
        self.assertEqual([name for name in names if os.path.exists(self.path(name))], [])

    def test_timelines_of_the_dead_are_removed(self):
        """A timeline whose ledger is gone; that of a live ledger stays, and what is none."""
        names = alone, of_live, junk = "treadle-9-a.timeline", self.make_live()[:-5] + ".timeline", "b.timeline"
        for name in names:
            with open(self.path(name), "wb") as file:
                file.write((b"" if name == junk else b"TRDTIME\0") + bytes(9000))
        alone_in_a_live_folder = os.path.join(self.live, alone)
        shutil.copy(self.path(alone), alone_in_a_live_folder)
        entry = self.entries()[alone_in_a_live_folder]
        self.assertEqual((entry["state"], entry["pid"], entry["threads"], entry["uid"]),
                         ("timeline", 9, 0, os.geteuid()))
        self.assertGreaterEqual(entry["bytes"], 9008)
        self.assertRegex(self.treadle("list"), rf"(?m)^ +9 +timeline +\S+ KiB +{alone_in_a_live_folder}$")
        self.assertNotIn(os.path.join(self.folder, of_live), self.entries())
        done = self.run_treadle("list", "--remove", *names)
        self.assertEqual((done.returncode, done.stdout.decode()), (1, f"{alone}\n"))
        self.assertEqual([os.path.exists(self.path(name)) for name in names], [False, True, True])

    def test_files_of_others_are_named_and_not_opened(self):
        name = self.make_orphan()
        if os.geteuid():
            self.skipTest("takes root: a file of another user")
        os.chown(self.path(name), 65534, 65534)
        path = os.path.join(self.folder, name)
        entry = self.entries()[path]
        self.assertEqual((entry["state"], entry["uid"], entry["threads"], entry["pid"]),
                         ("foreign", 65534, 0, GONE))
        self.assertIn("not opened)", self.treadle("list"))
        self.assertEqual(self.json("list", name)["ledgers"][0]["state"], "orphan")
        with open(path, "wb") as file:
            file.write(b"junk")
        self.assertEqual(self.run_treadle("list").stderr, b"")

    def test_root_opens_no_timeline_of_others(self):
        if os.geteuid():
            self.skipTest("takes root: a file of another user")
        path = os.path.join(self.live, "treadle-9-a.timeline")
        with open(path, "wb") as file:
            file.write(b"TRDTIME\0" + bytes(9000))
        self.assertIn(path, self.files_opened("list"))
        os.chown(path, 65534, 65534)
        self.assertNotIn(path, self.files_opened("list"))
        self.assertNotIn(path, self.files_opened("list", "--remove", path, status=1))
        self.assertTrue(os.path.exists(path))

    def test_root_lists_named_ledgers_of_others_with_their_rights(self):
        """Several owners in one list: each file is read by a process with its owner's rights."""
        if os.geteuid():
            self.skipTest("takes root: files of other users")
        names = [self.make("plain", f"{uid}.ledger") for uid in (0, 65534, 65533)]
        for name in names:
            os.chown(self.path(name), int(name.split(".")[0]), -1)
            os.chmod(self.path(name), 0o600)
        self.assertEqual([(entry["path"], entry["state"], entry["threads"], entry["command"])
                          for entry in self.json("list", *names)["ledgers"]],
                         [(name, "snapshot", 4, "demo.Main --rounds 3") for name in names])
        user, readers = {}, set()
        for process, call in self.traced("pread64,setresuid", "list", *names):
            changed = re.match(r"setresuid\((\d+), ", call)
            read = re.match(r"pread64\(\d+<.*/(\d+)\.ledger>", call)
            if changed:
                user[process] = changed[1]
            if read:
                readers.add((read[1], user.get(process, "0")))
        self.assertEqual(readers, {("0", "0"), ("65534", "65534"), ("65533", "65533")})

    def traced(self, calls, *arguments, status=0):
        """The system calls of `treadle`, each with its process's id."""
        if not shutil.which("strace"):
            self.skipTest("takes strace")
        done = subprocess.run(["strace", "-f", "-qq", "-y", "-s", "4096", "-o", self.path("calls"), "-e", f"trace={calls}",
                               bench.TREADLE, *arguments], cwd=self.folder, capture_output=True, check=False,
                              env=self.environment(ASAN_OPTIONS="detect_leaks=0"))  # which takes ptrace, too
        self.assertEqual(done.returncode, status, done.stderr.decode())
        with open(self.path("calls"), encoding="utf-8") as lines:
            return [line.split(None, 1) for line in lines]

    def files_opened(self, *arguments, status=0):
        return {found[1] for _, call in self.traced("open,openat", *arguments, status=status)
                if (found := re.match(r'open(?:at)?\(.*?"([^"]*)"', call))}

    def test_top_names_processes_of_others_and_opens_nothing(self):
        if os.geteuid():
            self.skipTest("takes root: a process of another user")
        self.make_live()
        with subprocess.Popen(["sleep", "300"], user=65534, group=65534) as process:
            try:
                name = self.path(f"tmp/treadle-{process.pid}-0123456789abcdef.live")
                with open(name, "wb") as file:
                    file.write(b"junk")
                os.chown(name, 65534, 65534)
                complaint = self.treadle("top", status=1)
            finally:
                process.kill()
        self.assertIn("which process? there are ", complaint)
        if "and more" not in complaint:  # so many other JVMs run on this machine
            self.assertIn(f"{process.pid} (of user 65534)", complaint)
            self.assertIn(f"{self.pid} (demo.Main --rounds 3)", complaint)

    def test_what_is_no_file_is_an_error_at_once(self):
        os.mkfifo(self.path("fifo.ledger"))
        for name in ("fifo.ledger", "/dev/null", "."):
            for command in (["report", name], ["html", name], ["merge", "-o", "x", name],
                            ["list", name]):
                done = self.run_treadle(*command)
                self.assertIn("expected a ledger file", done.stderr.decode(), command)
        os.mkfifo(os.path.join(self.live, f"treadle-{self.pid}-1.live"))
        for command in ("dump", "top", "status", "report"):
            self.assertEqual(self.run_treadle(command, str(self.pid)).returncode, 1)

    def test_root_gives_up_its_rights(self):
        """What it reads of another user's JVM it reads as that user, who may not write here. A leak checker
        cannot look into a process that gave up its rights."""
        env = {"ASAN_OPTIONS": "detect_leaks=0"}
        if os.geteuid():
            self.skipTest("takes root: a process of another user")
        os.chmod(self.folder, 0o755)
        with subprocess.Popen(["sleep", "300"], user=65534, group=65534) as process:
            try:
                name = self.make("live", f"tmp/treadle-{process.pid}-0123456789abcdef.live", process.pid)
                os.chown(self.path(name), 65534, 65534)
                pid = str(process.pid)
                self.assertIn(f"process     {pid}, started", self.treadle("report", pid, env=env))
                for command in (["html", pid, "-o", "x.html"], ["export", pid, "-f", "csv", "-o", "x.csv"]):
                    self.assertIn("is read with that user's rights", self.treadle(*command, status=1, env=env))
                self.treadle("dump", pid)  # only the copy is made as the user
                self.assertEqual(os.stat(self.path(f"treadle-{pid}.ledger")).st_uid, 0)
                self.treadle("export", f"treadle-{pid}.ledger", "-f", "csv", "-o", "x.csv")
                self.says_that_it_is_closed(name)
                for command in (["html", pid, "-o", "x.html"], ["export", name, "-f", "csv", "-o", "y.csv"]):
                    self.assertIn("is read with that user's rights", self.treadle(*command, status=1, env=env))
            finally:
                process.kill()

    def test_root_that_cannot_become_another_user(self):
        if os.geteuid() or not shutil.which("setpriv"):
            self.skipTest("takes root: a process of another user; and setpriv")
        drop = ["setpriv", "--bounding-set=-setuid,-setgid", "--inh-caps=-setuid,-setgid"]
        with subprocess.Popen(["sleep", "300"], user=65534, group=65534) as process:
            try:
                name = self.make("live", f"tmp/treadle-{process.pid}-0123456789abcdef.live", process.pid)
                os.chown(self.path(name), 65534, 65534)
                for command in ("dump", "status", "report"):
                    done = subprocess.run([*drop, bench.TREADLE, command, str(process.pid)], cwd=self.folder, check=False,
                                          env=self.environment(), capture_output=True, text=True, timeout=60)
                    self.assertEqual((done.returncode, done.stdout), (1, ""), command)
                    self.assertRegex(done.stderr, r"^treadle: .*: root's rights cannot be given up: Operation not "
                                                  r"permitted; another user's file is not read with them, [^\n]*\n$")
            finally:
                process.kill()

    def test_root_reads_a_snapshot_of_another_user_as_that_user(self):
        """Whose the file is decides, whatever it is called and says: here, a closed ledger under any name."""
        env = {"ASAN_OPTIONS": "detect_leaks=0"}
        if os.geteuid():
            self.skipTest("takes root: a file of another user")
        theirs, mine = self.make("plain", "theirs"), self.make("plain", "mine")
        os.chmod(self.folder, 0o755)
        os.chmod(self.path(mine), 0o600)
        os.chown(self.path(theirs), 65534, 65534)
        self.assertEqual(self.treadle("report", theirs, env=env), self.treadle("report", mine))
        for command in (["html", theirs, "-o", "x.html"], ["export", theirs, "-f", "csv", "-o", "x.csv"],
                        ["diff", mine, theirs, "--html", "x.html"], ["merge", mine, theirs, "-o", "both.ledger"]):
            self.assertIn("cannot be written: Permission denied", self.treadle(*command, status=1, env=env), command)
        for command in (["diff", theirs, mine], ["merge", theirs, mine, "-o", "both.ledger"],
                        ["report", theirs, "--since", mine]):
            self.assertIn("mine: cannot be opened: Permission denied; root's rights were given up, since another user's "
                          "file was read before", self.treadle(*command, status=1, env=env), command)
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith(("x.", "both"))], [])

    def test_root_reads_files_of_several_users_as_copies(self):
        env = {"ASAN_OPTIONS": "detect_leaks=0"}
        if os.geteuid():
            self.skipTest("takes root: files of other users")
        os.chmod(self.folder, 0o755)
        names = [self.make("plain", f"{uid}.ledger") for uid in (65534, 65533)]
        copies = [shutil.copy(self.path(name), self.path(f"copy-of-{name}")) for name in names]
        for name in names:
            os.chown(self.path(name), int(name.split(".")[0]), -1)
            os.chmod(self.path(name), 0o600)
        for command in (["merge", "-o", "both.ledger"], ["merge", "-o", "-"], ["diff"], ["html", "-o", "-"],
                        ["report", "-v", "chains"]):
            complaint = self.treadle(*command, *names, status=1, env=env)
            self.assertEqual(complaint, "treadle: 65533.ledger: cannot be opened: Permission denied; root's rights were "
                                        "given up, since another user's file was read before: files of several users are "
                                        "read together as copies that are root's own\n", command)
        for command in (["merge", "-o", "both.ledger"], ["diff"]):
            self.assertEqual(self.run_treadle(*command, *copies).returncode, 0, command)

    def test_what_a_process_maps_is_its_ledger_only_by_its_own_name(self):
        """A folder of the name is none, whoever maps what is in it."""
        program = ("import mmap, os, shutil, sys, time; name = sys.argv[1] % os.getpid(); os.makedirs(os.path.dirname(name), "
                   "exist_ok=True); shutil.copy(sys.argv[2], name); "
                   "mapped = mmap.mmap(os.open(name, os.O_RDWR), 0); print(flush=True); time.sleep(300)")
        self.make("plain")
        for name, status in (("treadle-%d-/e.live", 1), ("treadle-%d-x.live/y.live", 1), ("x/treadle-%d-x.live", 0)):
            with subprocess.Popen([sys.executable, "-c", program, self.path(name), self.path("plain.ledger")],
                                  stdout=subprocess.PIPE) as process:
                try:
                    process.stdout.readline()
                    done = self.run_treadle("report", str(process.pid))
                    self.assertEqual(done.returncode, status, (name, done.stderr.decode()))
                    if status:
                        self.assertIn(b"is not profiled", done.stderr)
                finally:
                    process.kill()

    def test_links_to_snapshots(self):
        """A link that is named is followed, one that a search finds if it and its file are the user's own."""
        os.mkdir(self.path("kept"))
        self.make("plain", "kept/plain")
        os.symlink("kept/plain", self.path("mine.ledger"))
        os.symlink("/dev/zero", self.path("device.ledger"))
        os.symlink("nowhere", self.path("nowhere.ledger"))
        shown = self.treadle("report", "kept/plain")
        self.assertEqual(set(self.entries()), {"mine.ledger"})
        self.assertEqual(self.treadle("report"), shown)
        self.assertEqual(self.treadle("report", "mine.ledger"), shown)
        self.assertIn("device.ledger: is not a regular file", self.treadle("report", "device.ledger", status=1))
        if os.geteuid():
            self.skipTest("takes root: links of other users")
        by_time = ("report", "kept/plain", "--since", "-0s")
        self.treadle(*by_time)
        os.chown(self.path("mine.ledger"), 65534, 65534, follow_symlinks=False)
        self.assertEqual(self.entries(), {})
        self.assertIn("no *.ledger in the working folder", self.treadle("report", status=1))
        self.assertIn("no snapshot of process 4242 lies beside", self.treadle(*by_time, status=1))
        for command in (["report", "mine.ledger"], ["list", "mine.ledger"], ["html", "mine.ledger"],
                        ["diff", "kept/plain", "mine.ledger"], ["merge", "-o", "x", "mine.ledger", "kept/plain"],
                        ["export", "-f", "csv", "mine.ledger"], ["report", "kept/plain", "--since", "mine.ledger"]):
            self.assertIn("mine.ledger: is a link that user 65534 made to a file of user 0, expected a ledger file",
                          self.run_treadle(*command).stderr.decode(), command)
        os.chown(self.path("mine.ledger"), 0, 0, follow_symlinks=False)
        os.chown(self.path("kept/plain"), 65534, 65534)
        self.assertEqual(self.entries(), {})
        self.assertIn("no *.ledger in the working folder", self.treadle("report", status=1))
        self.assertEqual(self.treadle("report", "mine.ledger", env={"ASAN_OPTIONS": "detect_leaks=0"}), shown)

    def says_that_it_is_closed(self, name):
        """The header is the other user's, too: what it says decides nothing."""
        with open(self.path(name), "r+b") as file:
            file.seek(STATE)
            file.write(struct.pack("=I", CLOSED))


if __name__ == "__main__":
    bench.main()
