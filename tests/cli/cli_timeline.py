"""treadle timeline of a file of events: drawn here octet by octet as native/timeline/timeline_format.h describes it;
the slices and arrows are worked out by hand, and read by field number as Perfetto's description of traces has them."""
import json
import os
import random
import struct
import subprocess

import bench
import perfetto_decoded
from perfetto_trace import Trace

THREAD, WAIT, WAITED, LOCK, CALL, GC, ON, OFF, PREEMPTED = range(1, 10)
MONITOR, OBJECT_WAIT, PARK, SLEEP, IO = range(5)
BLOCK_MONITOR, BLOCK_PARK = 1, 2
PLATFORM, VIRTUAL, VM = 1, 2, 4
MS = 1_000_000
BEGAN = 1_000_000 * MS
LEDGER_BEGAN = 5000 * MS
LANES_AT, EVENTS_AT = 4096, 8192
CHUNK, CELL, THREADS, THREAD_BYTES, KIND_AT, JAVA_ID_AT = 4096, 64, 3, 768, 20, 32


def first_reason():
    """Of enum ledger_metric, whose order is the format's."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../native/ledger/ledger_nodes.h")
    with open(path, encoding="utf-8") as file:
        names = file.read().split("enum ledger_metric {")[1].split("};")[0]
    words = [line.split(",")[0].split("=")[0].strip() for line in names.splitlines()]
    words = [word for word in words if word.startswith("METRIC_")]
    at = words.index("METRIC_MONITOR_WAIT")
    assert words[at:at + 5] == ["METRIC_MONITOR_WAIT", "METRIC_OBJECT_WAIT", "METRIC_PARK", "METRIC_SLEEP",
                                "METRIC_IO_WAIT"]
    return at


REASON = first_reason()


class Drawing:
    """Times are in ms from the timeline's begin; a thread is (java id, tid, kind)."""

    def __init__(self, lanes=1, lane_events=256):
        self.lanes, self.lane_events = lanes, lane_events
        self.events = [[] for _ in range(lanes)]
        self.unseen = 0  # returns that were not timed, in each lane

    def add(self, kind, at, thread, reason=0, payload=b"", lane=0):
        java_id, tid, thread_kind = thread
        self.events[lane].append(struct.pack("<QQiBBH", BEGAN + int(at * MS), java_id, tid, kind, thread_kind, reason)
                                 + payload.ljust(32, b"\0"))

    def name(self, at, thread, name):
        self.add(THREAD, at, thread, payload=name.encode()[:32])

    def wait(self, begin, end, thread, reason, lock=None, owner=(0, 0, 0)):
        """lock: (identity, kind); end None: it goes on."""
        self.add(WAIT, begin, thread, REASON + reason)
        if lock:
            self.add(LOCK, begin, thread, payload=struct.pack("<IIIiQ", 0, *lock, owner[1], owner[0]))
        if end is not None:
            self.add(WAITED, end, thread, REASON + reason)

    def call(self, begin, end, thread):
        self.add(CALL, end, thread, payload=struct.pack("<QQI", int((end - begin) * MS), LEDGER_BEGAN + int(end * MS), 7))

    def run(self, begin, end, tid, processor, preempted=False):
        if begin is not None:
            self.add(ON, begin, (0, tid, 0), processor)
        if end is not None:
            self.add(PREEMPTED if preempted else OFF, end, (0, tid, 0), processor)

    def octets(self, ended=100, pid=77):
        header = struct.pack("<8sIIIIiIQQQQQQQBB", b"TRDTIME\0", 1, 0x01020304, self.lanes, self.lane_events, pid, 1, 5,
                             BEGAN, LEDGER_BEGAN, BEGAN + int(ended * MS), BEGAN + 2**50, MS, 0, 1, 1)
        lanes, slots = b"", b""
        for events in self.events:
            ring = [b"\0" * 64] * self.lane_events
            for number, event in enumerate(events):
                ring[number % self.lane_events] = struct.pack("<Q", 2 * (number + 1)) + event
            lanes += struct.pack("<QQQ", len(events), 0, self.unseen).ljust(64, b"\0")
            slots += b"".join(ring)
        return (header.ljust(LANES_AT, b"\0") + lanes.ljust(EVENTS_AT - LANES_AT, b"\0")) + slots


class Timeline(bench.Bench):
    def draw(self, octets, name="x.timeline"):
        with open(self.path(name), "wb") as file:
            file.write(octets)
        return name

    def timeline(self, drawing, **how):
        said = self.treadle("timeline", self.draw(drawing.octets(**how)), "-o", "out")
        return perfetto_decoded.read(self, self.path("out")), said

    def told(self, slices):
        return [(depth, name, category, (begin - BEGAN) / MS, (end - BEGAN) / MS)
                for depth, name, category, begin, end, _ in slices]

    def test_waits_and_calls(self):
        drawing, main, other = Drawing(), (1, 10, PLATFORM), (9, 11, VIRTUAL)
        drawing.name(1, main, "main")
        drawing.wait(1, 5, main, SLEEP)
        drawing.wait(7, 8, main, PARK)
        drawing.call(0.5, 9, main)
        drawing.call(6, 8.5, main)
        drawing.add(WAITED, 20, other, REASON + IO)
        drawing.wait(30, None, other, OBJECT_WAIT)
        drawing.add(GC, 50, (0, 12, VM), payload=struct.pack("<QI", 3 * MS, 0))
        trace, said = self.timeline(drawing)
        threads = trace.by_thread()
        self.assertEqual(set(threads), {"main", "VirtualThread[#9]", "thread 12"})
        self.assertEqual(self.told(threads["main"]), [
            (0, "(method not known)", "call", 0.5, 9), (1, "sleep", "wait", 1, 5),
            (1, "(method not known)", "call", 6, 8.5), (2, "park", "wait", 7, 8)])
        self.assertEqual(self.told(threads["VirtualThread[#9]"]),
                         [(0, "io", "wait", 0, 20), (0, "object wait", "wait", 30, 100)])
        self.assertEqual([s[5] for s in threads["VirtualThread[#9]"]],
                         [{"began before the timeline": 1}, {"goes on behind it": 1}])
        self.assertEqual(self.told(threads["thread 12"]), [(0, "garbage collection", "pause", 47, 50)])
        self.assertEqual(trace.tid_of(next(t for t in trace.tracks if trace.name_of(t) == "main")), 10)
        self.assertIn("timeline of 77, 100 ms: 3 threads, 7 slices", said)
        self.assertIn("4 waits, 0 arrows, 1 pauses of the collector, 2 calls of 1.00 ms or longer", said)
        self.assertIn("did not fit: 0 records of switches, 0 events of the agent", said)

    def test_who_lets_whom_go_on(self):
        """a has the lock until 10, b gets it then and c at 20; d parks for a lock of c, e for a queue of nobody."""
        drawing = Drawing()
        a, b, c, d, e = threads = [(i, 100 + i, PLATFORM) for i in range(1, 6)]
        for thread, name in zip(threads, "abcde"):
            drawing.name(1, thread, name)
        drawing.wait(2, 10, b, MONITOR, (55, BLOCK_MONITOR), a)
        drawing.wait(3, 20, c, MONITOR, (55, BLOCK_MONITOR), a)
        drawing.wait(30, 40, d, PARK, (66, BLOCK_PARK), c)
        drawing.wait(30, 41, e, PARK, (67, BLOCK_PARK))
        drawing.wait(50, None, a, MONITOR, (55, BLOCK_MONITOR), c)
        trace, said = self.timeline(drawing)
        self.assertEqual([(x, y, (at - BEGAN) / MS) for x, y, at in trace.drawn_arrows()],
                         [("a", "b", 10), ("b", "c", 20), ("c", "d", 40)])
        self.assertIn("3 arrows", said)
        waits = {name: slices[0][5] for name, slices in trace.by_thread().items() if slices}
        self.assertEqual(waits["c"], {"identity": 55, "owner": "a"})

    def test_switches(self):
        drawing = Drawing(lanes=2)
        drawing.name(1, (1, 10, PLATFORM), "main")
        drawing.run(None, 4, 10, 0)
        drawing.run(6, 8, 10, 1, preempted=True)
        drawing.run(8, 12, 11, 1)
        drawing.run(90, None, 11, 0)
        trace, said = self.timeline(drawing)
        self.assertEqual(self.told(trace.runs()["main"]), [(0, "running", "run", 0, 4), (0, "running", "run", 6, 8)])
        self.assertEqual([s[5] for s in trace.runs()["main"]],
                         [{"processor": 0, "began before the timeline": 1}, {"processor": 1, "preempted": 1}])
        self.assertEqual(self.told(trace.processors()[1]), [(0, "main", "run", 6, 8), (0, "thread 11", "run", 8, 12)])
        self.assertEqual(self.told(trace.processors()[0]), [(0, "main", "run", 0, 4), (0, "thread 11", "run", 90, 100)])
        self.assertIn("3 switches", said)

    def test_what_did_not_fit(self):
        """Sixteen of forty events are there; of the wait whose begin is gone nobody knows more."""
        drawing, main = Drawing(lane_events=16), (1, 10, PLATFORM)
        for i in range(19):
            drawing.wait(i, i + 0.5, main, SLEEP)
        drawing.add(WAITED, 30, (2, 11, PLATFORM), REASON + SLEEP)
        drawing.name(31, main, "main")
        trace, said = self.timeline(drawing)
        self.assertIn("24 events of the agent", said)
        self.assertIn("1 waits or runs are left out", said)
        self.assertEqual(self.told(trace.by_thread()["main"]), [(0, "sleep", "wait", i, i + 0.5) for i in range(12, 19)])

    def test_returns_that_were_not_timed(self):
        drawing = Drawing(lanes=4)
        self.assertNotIn("were not timed", self.timeline(drawing)[1])
        drawing.unseen = 3
        self.assertIn("  12 returns in threads beyond the first 1024 were not timed\n", self.timeline(drawing)[1])

    def test_memory_is_bounded(self):
        drawing = Drawing(lane_events=65536)
        for i in range(20000):
            drawing.wait(i / 1000, i / 1000 + 0.0005, (1, 10, PLATFORM), SLEEP)
        said = self.treadle("timeline", self.draw(drawing.octets()), "-o", "out", "--size", "1M")
        kept = 2**19 // 64
        self.assertIn(f"{40000 - kept} events of the agent", said)
        self.assertEqual(len(perfetto_decoded.read(self, self.path("out")).by_name()["thread 10"]), kept // 2)

    def test_names(self):
        drawing = Drawing()
        drawing.name(1, (1, 10, PLATFORM), "two\nlines\0and\x1b[31m")
        drawing.wait(1, 2, (1, 10, PLATFORM), SLEEP)
        self.assertEqual(list(self.timeline(drawing)[0].by_thread()), ["two\nlines"])

    def ledger_beside(self, change):
        """Of every thread but the first its kind is changed, and java_id is 1000 + its number. Returns how many."""
        with open(self.path(self.make("family", "x.ledger")), "rb") as file:
            octets = bytearray(file.read())
        count = 0
        for chunk in range(CHUNK, len(octets), CHUNK):
            magic, table, _, used = struct.unpack_from("<IIII", octets, chunk)
            if (magic, table) != (0x4b4e4843, THREADS):
                continue
            for at in range(chunk + CELL, chunk + used * CELL, THREAD_BYTES):
                struct.pack_into("<I", octets, at + KIND_AT, change if count else PLATFORM)
                struct.pack_into("<Q", octets, at + JAVA_ID_AT, 1000 + count)
                count += 1
        with open(self.path("x.ledger"), "wb") as file:
            file.write(octets)
        return count

    def test_kinds_in_the_ledger(self):
        """A thread of a kind that there is not is none: its name is not taken, and it owns nothing."""
        for kind in (200, 2**32 - 1, 0):
            count, drawing = self.ledger_beside(kind), Drawing()
            self.assertGreater(count, 2)
            for i in range(count):
                thread = (1000 + i, 10 + i, PLATFORM)
                drawing.wait(1, 2, thread, SLEEP)
                drawing.wait(3, 4, thread, MONITOR, (55, BLOCK_MONITOR), (1000 + (i + 1) % count, 0, 0))
            drawing.wait(5, 6, (1, 9, PLATFORM), MONITOR, (55, BLOCK_MONITOR), (1000 + count - 1, 0, 0))
            self.treadle("timeline", self.draw(drawing.octets()), "-o", "out", "--html", "page.html")
            names = set(Trace(self.path("out")).by_thread())
            self.assertEqual({f"thread {10 + i}" for i in range(1, count)} - names, set())
            self.assertNotIn("thread 10", names)
            about = json.loads(self.blocks("page.html")["about"])
            self.assertEqual({thread["kind"] for thread in about["threads"]}, {"platform"})

    def test_many_threads(self):
        """Neither threads of one tid nor owners that nobody knows make it take longer than there are events."""
        drawing, many = Drawing(lane_events=2**19), 250_000
        for i in range(many):
            drawing.wait(i / many, None, (1 + i, 10, PLATFORM), MONITOR, (55, BLOCK_MONITOR), (10**9 + i, 0, 0))
        said = self.treadle("timeline", self.draw(drawing.octets()), "-o", "out")
        self.assertIn(f"{many} waits", said)

    def test_bad_input(self):
        whole = Drawing().octets()
        for octets, complaint in ((b"", "the file ends inside the header"), (b"\x7fELF" + whole[4:], "not a timeline"),
                                  (whole[:9000], "byte 9000: the file ends"),
                                  (whole[:8] + b"\x09" + whole[9:], "timeline format 9"),
                                  (whole[:16] + b"\x03" + whole[17:], "3 lanes")):
            said = self.treadle("timeline", self.draw(octets), "-o", "out", status=1)
            self.assertIn(complaint, said)
            self.assertEqual(said.count("\n"), 1)
        self.assertFalse(os.path.exists(self.path("out")))
        self.assertIn("cannot be opened", self.treadle("timeline", "none.timeline", status=1))
        self.assertIn("999999", self.treadle("timeline", "999999999", status=1))
        self.assertIn("Is a directory", self.treadle("timeline", self.draw(whole), "-o", ".", status=1))

    def test_outputs_are_looked_at_first(self):
        """Nothing is recorded for a place that cannot be written to, and no program is started."""
        os.mkdir(self.path("folder"))
        usual = "timeline-77.perfetto-trace"
        os.mkdir(self.path(usual))
        for arguments, complaint in ((("-o", "none/x"), "none/x: cannot be written: No such file or directory"),
                                     (("-o", "folder"), "folder: cannot be written: Is a directory"),
                                     (("--html", "none/x"), "none/x: cannot be written: No such file or directory"),
                                     (("--html", "folder"), "folder: is no regular file"),
                                     (("-o", "x", "--html", "folder"), "folder: is no regular file")):
            for what in ((str(os.getpid()),), ("--", "touch", "ran")):
                said = self.treadle("timeline", *arguments, *what, status=1)
                self.assertIn(complaint, said)
                self.assertEqual(said.count("\n"), 1)
        name = self.draw(Drawing().octets())
        self.assertIn(f"{usual}: cannot be written: Is a directory", self.treadle("timeline", name, status=1))
        self.assertEqual(sorted(os.listdir(self.folder)), ["folder", usual, "tmp", name])

    def test_a_full_disk(self):
        script = ('mount -t tmpfs -o size=8k none disk || exit 77; "$TREADLE" timeline x.timeline -o disk/x; a=$?; '
                  '"$TREADLE" timeline x.timeline --html disk/x; echo $a $? $(ls disk)')
        os.mkdir(self.path("disk"))
        drawing = Drawing(lane_events=4096)
        for i in range(2000):
            drawing.wait(i / 100, i / 100 + 0.005, (i, 10, PLATFORM), SLEEP)
        self.draw(drawing.octets())
        done = subprocess.run(["unshare", "-m", "sh", "-c", script], cwd=self.folder, capture_output=True, check=False,
                              env=self.environment(TREADLE=bench.TREADLE), text=True)
        if done.returncode == 77 or "unshare" in done.stderr:
            self.skipTest("takes root: a small file system")
        self.assertEqual(done.stdout, "1 1\n", done.stderr)
        self.assertEqual(done.stderr, "treadle: disk/x: cannot be written: No space left on device\n" * 2)

    def test_standard_output(self):
        """The trace and nothing else."""
        drawing = Drawing()
        drawing.wait(1, 2, (1, 10, PLATFORM), SLEEP)
        name = self.draw(drawing.octets())
        self.treadle("timeline", name, "-o", "out")
        done = self.run_treadle("timeline", name, "-o", "-")
        with open(self.path("out"), "rb") as file:
            self.assertEqual(done.stdout, file.read())
        self.assertIn(b"timeline of 77, 100 ms", done.stderr)

    def test_root_reads_with_the_owner_s_rights(self):
        if os.geteuid():
            self.skipTest("takes root: a file of another user")
        drawing = Drawing()
        drawing.wait(1, 2, (1, 10, PLATFORM), SLEEP)
        name = self.draw(drawing.octets())
        os.chown(self.path(name), 65534, 65534)
        os.chmod(self.path(name), 0o600)
        said = self.treadle("timeline", name, "-o", "out", status=1)
        self.assertIn("out: cannot be written: Permission denied; what a JVM of another user writes is read with that "
                      "user's rights", said)
        self.assertFalse(os.path.exists(self.path("out")))
        self.assertEqual(self.run_treadle("timeline", name, "-o", "-").returncode, 0)
        os.chmod(self.folder, 0o711)
        os.mkdir(self.path("theirs"))
        os.chown(self.path("theirs"), 65534, 65534)
        self.treadle("timeline", name, "-o", "theirs/out")
        self.assertEqual(os.stat(self.path("theirs/out")).st_uid, 65534)

    def test_what_is_no_file_of_events(self):
        """An error at once: nobody writes to the FIFO, and the device has no end."""
        os.mkfifo(self.path("fifo.timeline"))
        os.symlink("/dev/zero", self.path("device.timeline"))
        os.mkdir(self.path("folder.timeline"))
        for name in ("fifo", "device", "folder"):
            said = self.treadle("timeline", f"{name}.timeline", "-o", "out", status=1)
            self.assertEqual(said, f"treadle: {name}.timeline: is not a regular file, expected a timeline\n")

    def test_bad_usage(self):
        for arguments in ((), ("1", "2"), ("--for", "0s", "1"), ("--for", "ten", "1"), ("--size", "1", "1"),
                          ("--calls", "1h", "1"), ("0",)):
            said = self.treadle("timeline", *arguments, status=2)
            self.assertIn("treadle timeline", said)

    def test_damaged_files(self):
        """Whatever stands in the file: a trace that can be read, or one line."""
        drawing = Drawing(lanes=2, lane_events=64)
        for i in range(30):
            thread = (1 + i % 4, 10 + i % 4, PLATFORM)
            drawing.name(i, thread, f"thread-{i % 4}")
            drawing.wait(i, i + 0.5, thread, MONITOR, (i % 3, BLOCK_MONITOR), (1 + (i + 1) % 4, 0, 0))
            drawing.run(i, i + 0.3, 10 + i % 4, i % 2)
            drawing.call(i - 0.2, i + 0.7, thread)
        whole, chance = drawing.octets(), random.Random(7)
        for _ in range(60):
            octets = bytearray(whole)
            for _ in range(chance.randrange(1, 200)):
                at = chance.choice((chance.randrange(120), chance.randrange(EVENTS_AT, len(octets)),
                                    LANES_AT + chance.randrange(32)))
                octets[at] = chance.choice((0, 1, 255, chance.randrange(256)))
            done = self.run_treadle("timeline", self.draw(bytes(octets)), "-o", "out")
            self.assertIn(done.returncode, (0, 1), done.stderr)
            if done.returncode == 0:
                Trace(self.path("out"))
            else:
                self.assertEqual(done.stderr.count(b"\n"), 1)


if __name__ == "__main__":
    bench.main()
