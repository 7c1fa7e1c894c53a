"""treadle html: where the page goes, what it refuses. What the page shows: tests/html."""
import json
import os
import re
import stat
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
        self.assertIn("no thread matches 'x*'", self.refused("--thread", "x*"))
        self.assertIn("no thread matches 'x*'", self.refused("--thread", "x*", "-o", "-"))
        self.assertIn("none.ledger: cannot be opened: No such file", self.refused("none.ledger"))
        self.assertIn("none/x.html: cannot be written: No such file", self.refused("-o", "none/x.html"))
        self.assertIn("plain.ledger: is the ledger itself", self.refused("-o", "plain.ledger"))
        self.assertIn("tmp: is no regular file", self.refused("-o", "tmp"))
        self.assertIn("process 999999999 has no ledger", self.refused("999999999"))
        os.unlink(self.path("plain.ledger"))
        self.assertIn("no *.ledger in the working folder", self.refused())

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full here")
    def test_full_disk(self):
        self.assertIn("no regular file", self.refused("-o", "/dev/full"))

    def test_bad_usage(self):
        self.assertIn("not more", self.treadle("html", "a", "b", status=2))
        self.assertIn("unrecognized option", self.treadle("html", "--json", status=2))


if __name__ == "__main__":
    bench.main()
