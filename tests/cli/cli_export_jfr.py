"""treadle export --format jfr: opened by the `jfr` command and by a program on jdk.jfr.consumer, of every JDK
that is here; counts and shares are worked out from the drawings in make_ledger."""
import glob
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import bench

HERE = os.path.dirname(os.path.abspath(__file__))
JAVA, NATIVE = "jdk.ExecutionSample", "jdk.NativeMethodSample"
MAIN, WORK, FIB = (f"demo.Main.{name} -1 -1 JIT compiled" for name in (
    "main([Ljava/lang/String;)V", "work()V", "fib(I)J"))
THREAD = "treadle.(thread)()V -1 -1 Native"

# A sample each 100 us of CPU time.
PLAIN = {
    (JAVA, "main", MAIN): 2000,
    (JAVA, "main", FIB, MAIN): 3000,
    (JAVA, "main", FIB, FIB, MAIN): 5000,
    (JAVA, "worker-1", WORK): 23500,
    (JAVA, "worker-1", FIB, WORK): 2000,
    (NATIVE, "main", THREAD): 1000,
    (NATIVE, "worker-1", "treadle.(between Java threads)()V -1 -1 Native"): 500,
    (NATIVE, "GC Thread#0", THREAD): 10000,
    (NATIVE, "helper", THREAD): 3000,
}
PUT = "java.util.HashMap.put(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object; -1 -1 JIT compiled"
LOOP = "demo.Inner.loop(I)V -1 -1 Interpreted"
SPIN = "libdemo.so.demo::Engine::spin(int)()V -1 -1 Native"
# Of ten samples on top of Inner.loop four were at 4, five at 5 (line 11), one at 8 (line 12).
SAMPLED = {
    (JAVA, "main", MAIN.replace("-1 -1", "11 4")): 100,
    (JAVA, "main", PUT, MAIN): 300,
    (NATIVE, "main", SPIN, PUT, MAIN): 400,
    (NATIVE, "main", "[kernel].vfs_read()V -1 -1 Native", PUT, MAIN): 200,
    (JAVA, "main", WORK.replace("-1 -1", "11 4"), MAIN): 500,
    (JAVA, "main", LOOP.replace("-1 -1", "11 4"), WORK, MAIN): 400,
    (JAVA, "main", LOOP.replace("-1 -1", "11 5"), WORK, MAIN): 500,
    (JAVA, "main", LOOP.replace("-1 -1", "12 8"), WORK, MAIN): 100,
    (NATIVE, "main", SPIN, LOOP, WORK, MAIN): 400,
    (NATIVE, "main", "[jvm].call_stub()V -1 -1 Native", LOOP, WORK, MAIN): 100,
    (JAVA, "worker", WORK): 500,
    (NATIVE, "GC Thread#0", THREAD): 500,
    (NATIVE, "GC Thread#0", "libjvm.so.libjvm.so+0x8a3f10()V -1 -1 Native"): 2500,
}


def jdks():
    """By major version, from 17 on."""
    found = {}
    for release in glob.glob("/usr/lib/jvm/*/release"):
        folder = os.path.dirname(os.path.realpath(release))
        with open(release, encoding="utf-8") as file:
            version = re.search(r'JAVA_VERSION="(\d+)', file.read())
        if version and int(version[1]) >= 17 and os.access(f"{folder}/bin/jfr", os.X_OK):
            found[int(version[1])] = folder
    return found


class Jfr(bench.Bench):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.jdks = jdks()
        if not cls.jdks:
            raise unittest.SkipTest("no JDK from 17 on under /usr/lib/jvm")
        cls.classes = tempfile.mkdtemp(prefix="treadle-cli-")
        cls.addClassCleanup(shutil.rmtree, cls.classes)
        subprocess.run([f"{cls.jdks[min(cls.jdks)]}/bin/javac", "-d", cls.classes,
                        os.path.join(HERE, "ReadRecording.java")], check=True)

    def export(self, kind, *arguments, number=0):
        self.make(kind, number=number)
        self.treadle("export", "-f", "jfr", "-o", f"{kind}.jfr", f"{kind}.ledger", *arguments)
        return self.path(f"{kind}.jfr")

    def run_jdk(self, jdk, program, *arguments):
        return subprocess.run([f"{jdk}/bin/{program}", *arguments], capture_output=True, check=True,
                              text=True, errors="replace", timeout=100).stdout

    def read(self, jdk, recording):
        """What the program on jdk.jfr.consumer finds: the ledger's line, and samples by what they are."""
        lines = self.run_jdk(jdk, "java", "-XX:TieredStopAtLevel=1", "-Dstdout.encoding=UTF-8",
                             "-cp", self.classes,
                             "ReadRecording", recording).split("\n")[:-1]
        samples, kinds = {}, set()
        for line in lines[1:]:
            count, event, thread, state, weight, *frames = line.split("\t")
            samples[event, thread, *frames] = int(count)
            kinds.add((state, int(weight)))
        return lines[0].split("\t"), samples, kinds

    def check(self, kind, expected, title="demo.Main --rounds 3"):
        recording = self.export(kind)
        total = sum(expected.values())
        for jdk in self.jdks.values():
            ledger, samples, kinds = self.read(jdk, recording)
            self.assertEqual(dict(sorted(samples.items())), dict(sorted(expected.items())))
            self.assertEqual(kinds, {("STATE_RUNNABLE", 100_000)})
            self.assertEqual(ledger, ["ledger", title, "cpu",
                                      "100000", str(total), str(total * 100_000)])
            summary = self.run_jdk(jdk, "jfr", "summary", recording)
            for event in (JAVA, NATIVE):
                count = sum(n for key, n in expected.items() if key[0] == event)
                self.assertRegex(summary, rf"(?m)^ {re.escape(event)} +{count} ")
        return recording

    def test_exact(self):
        self.check("plain", PLAIN)

    def test_sampled(self):
        recording = self.check("sampled", SAMPLED, "demo.Main --rounds 3 (lost: 3 samples dropped: there was no room "
                               "for them; lost: 2 samples of kernel threads that have no row)")
        for jdk in self.jdks.values():
            text = self.run_jdk(jdk, "jfr", "print", "--events", JAVA, recording)
            self.assertEqual(text.count("demo.Inner.loop(int) line: 11\n"), 900)

    def test_hot_methods(self):
        """Shares of the samples in Java."""
        newest = max(self.jdks)
        if newest < 21:
            self.skipTest("`jfr view` is there from JDK 21 on")
        text = self.run_jdk(self.jdks[newest], "jfr", "view", "--width", "120", "hot-methods", self.export("plain"))
        rows = re.findall(r"(?m)^(demo\S+) +([\d,]+) +([\d.]+)%", text)
        self.assertEqual(rows, [("demo.Main.work()", "23,500", "66.20"), ("demo.Main.fib(int)", "10,000", "28.17"),
                                ("demo.Main.main(String[])", "2,000", "5.63")])

    def test_moments_and_threads(self):
        """worker-1 began at 1 s and runs at 10 s: its samples are spread over that time."""
        recording = self.export("plain", "-t", "worker-1")
        text = self.run_jdk(self.jdks[max(self.jdks)], "jfr", "print", "--json", "--events", JAVA, recording)
        times = [float(second) for second in re.findall(r'"startTime": "\S+T22:13:(\d\d(?:\.\d+)?)', text)]
        self.assertEqual(len(times), 25_500)
        self.assertEqual(set(re.findall(r'"javaName": "([^"]*)"', text)), {"worker-1"})
        for tenth in range(10):
            begin = 21 + 0.9 * tenth
            count = sum(begin <= time < begin + 0.9 for time in times)
            self.assertAlmostEqual(count, 26_000 / 10, delta=501)

    def test_other_metrics(self):
        recording = self.export("plain", "--metric", "calls")
        text = self.run_jdk(self.jdks[min(self.jdks)], "jfr", "summary", recording)
        self.assertRegex(text, r"(?m)^ jdk.ExecutionSample +114 ")

    def test_what_names_and_trees_may_be(self):
        for kind, number in (("hostile", 0), ("deep", 3000), ("overflow", 0)):
            recording = self.export(kind, number=number)
            ledger, samples, _ = self.read(self.jdks[max(self.jdks)], recording)
            self.assertEqual(sum(samples.values()), int(ledger[4]), kind)


if __name__ == "__main__":
    bench.main()
