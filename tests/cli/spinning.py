"""A process that burns a processor, and a drawn ledger of it: a thread runs on the process's first kernel thread, so what
the kernel says of that is the oracle."""
import subprocess

import bench


class Spinning(bench.Bench):
    def setUp(self):
        super().setUp()
        self.process = subprocess.Popen(["sh", "-c", "while :; do :; done"])
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.kill)
        self.pid = str(self.process.pid)
        self.name = f"tmp/treadle-{self.pid}-0123456789abcdef.live"
        self.make("spinning", self.name, self.process.pid)
