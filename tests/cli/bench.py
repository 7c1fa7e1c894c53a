"""A working folder with ledgers in it, and `treadle` run there."""
import base64
import csv
import faulthandler
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import zlib

TREADLE = os.environ["TREADLE"]
MAKE_LEDGER = os.environ["MAKE_LEDGER"]
SECONDS = 110
NO_PLACE = "; this format has no place to say so"


class Bench(unittest.TestCase):
    """One temporary working folder a test; TMPDIR is a folder of its own in it."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="treadle-cli-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.live = os.path.join(self.folder, "tmp")
        os.mkdir(self.live)

    def path(self, name):
        return os.path.join(self.folder, name)

    def make(self, kind, name=None, number=0):
        name = name or f"{kind}.ledger"
        subprocess.run([MAKE_LEDGER, kind, self.path(name), str(number)], check=True)
        return name

    def environment(self, **extra):
        kept = {k: v for k, v in os.environ.items()
                if k not in ("COLUMNS", "NO_COLOR", "LC_ALL", "LC_CTYPE", "LANG",
                             "XDG_RUNTIME_DIR", "TREADLE_AGENT", "JAVA_TOOL_OPTIONS")}
        kept.update(TMPDIR=self.live, TZ="UTC", TERM="xterm", TREADLE_PRELOAD="")
        kept.update(extra)
        return {k: v for k, v in kept.items() if v is not None}

    def run_treadle(self, *arguments, env=None):
        done = subprocess.run([TREADLE, *arguments], cwd=self.folder, capture_output=True,
                              env=self.environment(**(env or {})), timeout=60, check=False)
        if arguments[:1] == ("list",):  # other JVMs on this machine may have a treadle of their own, or just end
            done.stderr = b"".join(line for line in done.stderr.splitlines(True)
                                   if not line.startswith(b"treadle: /dev/shm/treadle-"))
        return done

    def treadle(self, *arguments, status=0, env=None):
        """Its standard output, decoded; fails unless it ends with that status. Where it is to
        fail, what it said on standard error instead. Losses that a format has no place for are noted
        there as well: what cli_partial.py tests is passed over here."""
        done = self.run_treadle(*arguments, env=env)
        output = done.stdout.decode("utf-8")
        complaint = re.sub(rf"(?m)^treadle: .*{NO_PLACE}\n", "", done.stderr.decode("utf-8"))
        self.assertEqual(done.returncode, status, complaint + output)
        if status == 0:
            self.assertEqual(complaint, "")
            return output
        return complaint

    def json(self, *arguments):
        return json.loads(self.treadle(*arguments, "--json"), parse_float=self.fail)

    def blocks(self, page):
        """The blocks of a page of `treadle html`, see tools/page/html_block.h, by name."""
        with open(self.path(page), encoding="utf-8") as file:
            found = re.findall(r'<script type="application/octet-stream" data-block="([a-z0-9_-]+)">'
                               r"([A-Za-z0-9+/=]*)</script>", file.read())
        return {block: zlib.decompress(base64.b64decode(text, validate=True), wbits=-15)
                for block, text in found}

    def csv(self, *arguments):
        return list(csv.DictReader(io.StringIO(self.treadle(*arguments, "--csv"))))


def main():
    """Runs the tests with room on the stack: trees are as deep as Java stacks, and Python's JSON
    reader is recursive. A test that hangs says where, before ctest ends it without a word."""
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    sys.setrecursionlimit(1_000_000)
    threading.stack_size(512 << 20)
    result = []
    program = threading.Thread(target=lambda: result.append(unittest.main(exit=False)))
    program.start()
    program.join()
    found = result[0].result
    for test, reason in found.skipped:
        print(f"SKIP: {test}: {reason}")
    if found.skipped and len(found.skipped) == found.testsRun:
        sys.exit(77)
    sys.exit(not found.wasSuccessful())
