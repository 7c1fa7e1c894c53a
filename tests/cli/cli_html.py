"""treadle html: where the page goes, what it refuses. What the page shows: tests/html."""
import json
import os
import re
import stat
import subprocess
import unittest

import bench


class Html(bench.Bench):
    def setUp(self):
        super().setUp()
        self.make("plain")
        complaint = self.treadle_fails_without_page()
        if complaint:
            self.skipTest(complaint)

    def treadle_fails_without_page(self):
        """What a treadle that was built without npm says, in one line; "" of any other."""
        try:
            self.treadle("html", "-o", "probe.html")
        except AssertionError:
            complaint = self.treadle("html", status=1)
            self.assertRegex(complaint, r"^treadle: this treadle was built without the page of "
                                        r"`treadle html`: .*\bnpm\b.*\n$")
            return complaint.strip()
        os.unlink(self.path("probe.html"))
        return ""

    def refused(self, *arguments):
        before = set(os.listdir(self.folder))
        complaint = self.treadle("html", *arguments, status=1)
        self.assertRegex(complaint, r"^treadle: [^\n]*\n$")
        self.assertEqual(set(os.listdir(self.folder)), before)
        return complaint

    def test_where_it_goes(self):
        self.assertEqual(self.treadle("html"), "plain.html\n")
        self.assertEqual(self.treadle("html", "plain.ledger", "-o", "x.html"), "x.html\n")
        os.mkdir(self.path("sub"))
        os.rename(self.path("plain.ledger"), self.path("sub/noname"))
        self.assertEqual(self.treadle("html", "sub/noname"), "noname.html\n")
        page = self.treadle("html", "sub/noname", "--output=-")
        for name in "plain.html", "x.html", "noname.html":
            with open(self.path(name), encoding="utf-8") as file:
                text = file.read()
            self.assertTrue(text.startswith("<!doctype html>") and text.endswith("</html>\n"))
            self.assertEqual(stat.S_IMODE(os.stat(self.path(name)).st_mode), 0o600)
        self.assertEqual(page, text)
        self.assertEqual(self.treadle("html", "sub/noname"), "noname.html\n")  # once more, over it

    def test_live(self):
        self.make("live", "tmp/treadle-%d-0123456789abcdef.live" % os.getpid(), os.getpid())
        self.assertEqual(self.treadle("html", str(os.getpid())), f"treadle-{os.getpid()}.html\n")

    def test_blocks(self):
        """The numbers of the drawing, octet by octet where that says more than a browser does."""
        self.treadle("html", "-t", "main")
        blocks = self.blocks("plain.html")
        self.assertEqual(blocks["thread-order"], bytes([0]))
        self.assertEqual(blocks["trees"], bytes([0, 5]))
        methods = json.loads(blocks["methods"])
        names = [full for _, full, _, _ in methods]
        nodes = blocks["nodes"]  # mark, levels up, method
        self.assertEqual([(nodes[i], nodes[i + 1], names[nodes[i + 2]]) for i in range(0, len(nodes), 3)],
                         [(0, 0, "(thread)"), (1, 0, "demo.Main.main"), (1, 0, "demo.Main.fib"),
                          (1, 0, "demo.Main.fib"), (1, 2, "demo.Main.work")])
        self.assertEqual(blocks["column-calls"], bytes([1, 1, 0, 10, 0, 90, 0, 2]))
        self.assertEqual(blocks["column-minor_faults"], bytes([3, 33]))
        self.assertIn(["demo.Main", "demo.Main.main", "([Ljava/lang/String;)V", "Demo.java"], methods)
        threads = json.loads(blocks["threads"])
        self.assertEqual([thread["name"] for thread in threads["threads"]], ["main"])
        self.assertEqual(threads["balance"]["kernel_cpu_ns"], 5_000_000_100)
        self.assertIn(b"Balance", blocks["facts"])

    def test_refused(self):
        for output in ([], ["-o", "-"]):
            self.assertIn("plain.ledger: no thread's name matches 'x*'; there are 'worker-1', 'main', ",
                          self.refused("--thread", "x*", *output))
        self.assertIn("none.ledger: cannot be opened: No such file", self.refused("none.ledger"))
        self.assertIn("none/x.html: cannot be written: No such file", self.refused("-o", "none/x.html"))
        self.assertIn("plain.ledger: is the ledger itself", self.refused("-o", "plain.ledger"))
        self.assertIn("tmp: is no regular file", self.refused("-o", "tmp"))
        self.assertIn("there is no process 999999999", self.refused("999999999"))
        os.unlink(self.path("plain.ledger"))
        self.assertIn("no *.ledger in the working folder", self.refused())

    def moments(self, *numbers):
        for number in numbers:
            self.make("moment", name=f"m{number}.ledger", number=number)
        return [f"m{number}.ledger" for number in numbers]

    def test_snapshots_in_any_order(self):
        """The page is that of the last moment, whichever comes last on the command line."""
        self.moments(1, 2, 3)
        self.assertEqual(self.treadle("html", "m3.ledger", "m1.ledger", "m2.ledger"), "m3.html\n")
        blocks = self.blocks("m3.html")
        self.assertEqual([(m["ledger"], m["asof_ns"]) for m in json.loads(blocks["moments"])["moments"]],
                         [("m1.ledger", 10**10), ("m2.ledger", 2 * 10**10), ("m3.ledger", 3 * 10**10)])
        # Nodes: main, Main.main, three times pool thread and work, late and its work, short-#, the collector.
        self.assertEqual(blocks["moment-0-calls"], bytes([3, 10, 1, 20, 1, 30]))
        self.assertEqual(blocks["moment-1-calls"], bytes([3, 20, 1, 40, 1, 60, 1, 50]))
        self.treadle("html", "m3.ledger")
        self.assertNotIn("moments", self.blocks("m3.html"))

    def test_snapshots_of_one_process_only(self):
        first, second = self.moments(1, 2)
        self.assertIn("plain.ledger: is of another run than m1.ledger; a heat map needs snapshots of one process",
                      self.refused(first, "plain.ledger"))
        self.assertIn("none.ledger: cannot be opened", self.refused(first, "none.ledger"))
        self.assertIn("m1.ledger: is the ledger itself", self.refused(second, first, "-o", first))
        self.make("orphan", number=77)
        self.assertIn("m1.ledger: is of process 4242, orphan.ledger of process 77",
                      self.refused("orphan.ledger", first))
        done = self.run_treadle("html", first, first, "-o", "x.html")
        self.assertEqual((done.returncode, done.stderr.decode()),
                         (0, "treadle: m1.ledger: is of the same moment as m1.ledger; left out\n"))
        self.assertNotIn("moments", self.blocks("x.html"))

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full here")
    def test_full_disk(self):
        self.assertIn("no regular file", self.refused("-o", "/dev/full"))
        with open("/dev/full", "wb") as full:
            done = subprocess.run([bench.TREADLE, "html", "-o", "-"], cwd=self.folder, check=False,
                                  stdout=full, stderr=subprocess.PIPE, env=self.environment())
        self.assertEqual((done.returncode, done.stderr),
                         (1, b"treadle: standard output: cannot be written: No space left on device\n"))

    def test_bad_usage(self):
        self.assertIn("unrecognized option", self.treadle("html", "--json", status=2))


if __name__ == "__main__":
    bench.main()
