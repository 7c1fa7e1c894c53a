"""Ledgers whose end is cut off: every command and every format says what is missing, on standard error and in
its output, and fails unless --partial says that this is known. The sizes are the test's own."""
import base64
import gzip
import json
import os
import re
import subprocess
import zlib

import bench

VIEWS = ("threads", "waits", "locks", "blockers", "spawn", "tree", "flat", "callers", "images", "procedures")
LEFT = 30_000  # bytes


class Partial(bench.Bench):
    def setUp(self):
        super().setUp()
        self.make("sampled", "whole.ledger")
        self.whole = os.path.getsize(self.path("whole.ledger"))
        with open(self.path("whole.ledger"), "rb") as whole, open(self.path("cut.ledger"), "wb") as cut:
            cut.write(whole.read(LEFT))
        share = 100 * (self.whole - LEFT) / self.whole
        self.missing = f"the file ends at byte {LEFT} of {self.whole}: {share:.1f} % of the ledger is missing"

    def output(self, *arguments):
        """Of a command that must fail, and must not with --partial; the same either way."""
        outputs = []
        for allowed, status in (([], 1), (["--partial"], 0)):
            done = self.run_treadle(*arguments, *allowed)
            advice = "" if allowed else "; --partial takes what is there"
            said = done.stderr.decode("utf-8").splitlines()
            self.assertIn(f"treadle: cut.ledger: {self.missing}{advice}", said)
            self.assertEqual(done.returncode, status, f"{arguments}: {said}")
            outputs.append(done.stdout)
        self.assertEqual(*outputs)
        return outputs[0].decode("utf-8")

    def test_every_view_of_a_report(self):
        for view in VIEWS:
            arguments = ("report", "--view", view, "cut.ledger")
            self.assertEqual(self.output(*arguments).splitlines()[0], f"partial   {self.missing}")
            self.assert_told(json.loads(self.output(*arguments, "--json")))
            self.assertEqual(self.output(*arguments, "--csv").splitlines()[-1], f"# partial: {self.missing}")

    def assert_told(self, object_):
        self.assertEqual(object_["partial"], {"present_bytes": LEFT, "missing_bytes": self.whole - LEFT})
        self.assertEqual(object_["losses"][0],
                         {"what": "missing_bytes", "count": self.whole - LEFT, "meaning": self.missing})

    def test_every_format_of_an_export(self):
        for name in ("collapsed", "speedscope", "csv", "perfetto", "pprof", "jfr", "sqlite"):
            self.output("export", "--format", name, "-o", "out", "cut.ledger")
            with open(self.path("out"), "rb") as file:
                content = file.read()
            if name == "pprof":
                content = gzip.decompress(content)
            self.assertIn(self.missing.encode("ascii"), content, name)

    def test_the_page(self):
        self.output("html", "-o", "page.html", "cut.ledger")
        with open(self.path("page.html"), encoding="utf-8") as file:
            page = file.read()
        blocks = re.findall(r'data-block="about">([^<]*)<', page)
        self.assertEqual(len(blocks), 1, re.findall("<script[^>]*>", page))
        about = json.loads(zlib.decompress(base64.b64decode(blocks[0]), -15))
        self.assertIn(self.missing, about["losses"])

    def test_diff(self):
        for view in ("threads", "tree", "flat"):
            arguments = ("diff", "--view", view, "whole.ledger", "cut.ledger")
            above, _, _ = self.output(*arguments).partition("\nA  ")
            self.assertIn(f"partial   B: {self.missing}", above.splitlines())
            self.assertEqual(self.output(*arguments, "--csv").splitlines()[-1], f"# partial: {self.missing}")
            self.assert_told(json.loads(self.output(*arguments, "--json"))["b"])
        collapsed = self.output("diff", "--collapsed", "whole.ledger", "cut.ledger")
        self.assertEqual(collapsed.splitlines()[-1], f"(partial: {self.missing}) 0 0")
        self.output("diff", "--html", "page.html", "whole.ledger", "cut.ledger")

    def test_merge_hands_it_on(self):
        self.output("merge", "-o", "both.ledger", "whole.ledger", "cut.ledger")
        missing = f"{self.whole - LEFT} bytes of the merged ledgers were missing"
        done = self.run_treadle("report", "both.ledger")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"treadle: both.ledger: {missing}", done.stderr.decode("utf-8"))
        self.assertTrue(done.stdout.decode("utf-8").startswith(f"partial   {missing}"))

    def test_the_earlier_one_of_an_interval(self):
        self.make("earlier")
        self.make("plain")
        whole = os.path.getsize(self.path("earlier.ledger"))
        left = 18_000
        os.truncate(self.path("earlier.ledger"), left)
        missing = f"the file ends at byte {left} of {whole}: {100 * (whole - left) / whole:.1f} % of the ledger is missing"
        for command in (["report"], ["report", "--csv"], ["report", "--json"], ["html", "-o", "out"],
                        ["export", "-f", "collapsed"], ["export", "-f", "pprof", "-o", "out"]):
            for allowed, status in (([], 1), (["--partial"], 0)):
                done = self.run_treadle(*command, *allowed, "--since", "earlier.ledger", "plain.ledger")
                self.assertIn(f"treadle: earlier.ledger: {missing}", done.stderr.decode("utf-8"))
                self.assertEqual(done.returncode, status, command)
            if "-o" not in command:
                self.assertIn(f"of the earlier snapshot {missing}", done.stdout.decode("utf-8"))

    def test_why_a_method_has_its_hook(self):
        arguments = ("report", "cut.ledger", "--explain", "demo.*")
        self.assert_told(json.loads(self.output(*arguments, "--json")))
        self.assertEqual(self.output(*arguments).splitlines()[0], f"partial   {self.missing}")

    def test_annotate(self):
        told = json.loads(self.output("annotate", "--json", "*", "cut.ledger"))
        self.assert_told(told)
        self.assertEqual(self.output("annotate", "*", "cut.ledger").splitlines()[0], f"partial   {self.missing}")

    def test_list(self):
        for allowed, status in (([], 1), (["--partial"], 0)):
            done = self.run_treadle("list", *allowed)
            advice = "" if allowed else "; --partial takes what is there"
            self.assertIn(f"treadle: cut.ledger: {self.missing}{advice}\n", done.stderr.decode("utf-8"))
            self.assertRegex(done.stdout.decode("utf-8"), r"(?m) partial +.* cut\.ledger$")
            self.assertEqual(done.returncode, status)
        entries = {entry["path"]: entry for entry in json.loads(self.run_treadle("list", "--json").stdout)["ledgers"]}
        self.assertEqual(entries["cut.ledger"]["partial"],
                         {"present_bytes": LEFT, "missing_bytes": self.whole - LEFT})
        self.assertNotIn("partial", entries["whole.ledger"])

    def test_the_ledger_of_a_process_that_runs(self):
        left = 18_000
        process = subprocess.Popen(["sleep", "300"])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        pid = str(process.pid)
        path = self.path(self.make("live", f"tmp/treadle-{pid}-0123456789abcdef.live", process.pid))
        whole = os.path.getsize(path)
        os.truncate(path, left)
        missing = f"the file ends at byte {left} of {whole}: {100 * (whole - left) / whole:.1f} % of the ledger is missing"
        for allowed, status in (([], 1), (["--partial"], 0)):
            advice = "" if allowed else "; --partial takes what is there"
            for command in (["report"], ["report", "--json"], ["export", "-f", "collapsed"], ["status"],
                            ["status", "--json"]):
                done = self.run_treadle(*command, *allowed, pid)
                self.assertEqual(done.stderr.decode("utf-8"), f"treadle: {path}: {missing}{advice}\n", command)
                self.assertEqual(done.returncode, status, command)
                told = f'"missing_bytes":{whole - left}' if "--json" in command else missing
                self.assertIn(told, done.stdout.decode("utf-8").replace(" ", "") if "--json" in command
                              else done.stdout.decode("utf-8"), command)
        for command in (["top", "--once", "-i", "0.1"], ["top", "--json", "-i", "0.1"], ["dump", "-o", "x.ledger"]):
            self.assertEqual(self.treadle(*command, pid, status=1),
                             f"treadle: {path}: {missing}; to show what is there: treadle report {path}\n")
        self.assertFalse(os.path.exists(self.path("x.ledger")))

    def test_other_losses_where_the_format_has_no_place(self):
        sampled = "lost: 3 samples dropped: there was no room for them; lost: 2 samples of kernel threads that have no row"
        full = ("lost: 12 345 calls not recorded, their cost is charged to the caller; lost: 2 threads not recorded; "
                "lost: 3 metric values not charged to a method; lost: 4 exits that did not match the current method; "
                "full: the ledger reached max-mem (64.0 MiB): raise it, or include fewer methods")
        self.make("losses")
        self.make("plain")
        expected = {"whole": sampled, "losses": full, "plain": ""}
        notes = {f"{name}.ledger": f"treadle: {name}.ledger: {said}{bench.NO_PLACE}\n" if said else ""
                 for name, said in expected.items()}
        forms = [("report", "--view", view, "--csv") for view in VIEWS[:5]]
        forms += [("export", "-f", "csv"), ("export", "-f", "csv", "-o", "out"), ("export", "-f", "collapsed")]
        for form in forms:
            for name, note in notes.items():
                self.assert_noted(note, *form, name)
        for form in ("--csv", "--collapsed"):
            note = notes["whole.ledger"] + notes["losses.ledger"]
            self.assert_noted(note, "diff", "-v", "tree", form, "whole.ledger", "losses.ledger")
        for form in (["report"], ["report", "--json"], ["export", "-f", "speedscope"], ["html", "-o", "out"],
                     ["export", "-f", "sqlite", "-o", "out.sqlite"]):
            self.assert_noted("", *form, "losses.ledger")

    def assert_noted(self, note, *arguments):
        done = self.run_treadle(*arguments)
        self.assertEqual((done.stderr.decode("utf-8").replace("\u202f", " "), done.returncode), (note, 0), arguments)

    def test_a_cut_off_one_with_other_losses(self):
        done = self.run_treadle("report", "--csv", "cut.ledger")
        said = done.stderr.decode("utf-8").splitlines()
        self.assertEqual(len(said), 2, said)
        self.assertRegex(said[1], f"^treadle: cut.ledger: lost: 3 samples dropped.*{bench.NO_PLACE}$")
        self.assertNotIn("the file ends", said[1])
        self.assertNotIn("samples dropped", done.stdout.decode("utf-8"))

    def test_a_whole_one_says_nothing(self):
        for arguments in (["report"], ["report", "--json"], ["export", "-f", "collapsed"], ["html", "-o", "-"]):
            self.assertNotIn("partial\"", self.treadle(*arguments, "whole.ledger"))
            self.assertNotIn("the file ends", self.treadle(*arguments, "--partial", "whole.ledger"))


if __name__ == "__main__":
    bench.main()
