"""Widths, colours, pipes that close and disks that are full."""
import fcntl
import os
import pty
import struct
import subprocess
import termios

import bench


class Terminal(bench.Bench):
    def on_terminal(self, columns, *arguments, **env):
        """What `treadle` writes to a terminal of that width."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        with subprocess.Popen([bench.TREADLE, *arguments], cwd=self.folder, stdout=slave,
                              env=self.environment(**env)) as process:
            os.close(slave)
            output = b""
            while True:
                try:
                    block = os.read(master, 65536)
                except OSError:
                    break
                if not block:
                    break
                output += block
        os.close(master)
        self.assertEqual(process.returncode, 0)
        return output.decode("utf-8").replace("\r\n", "\n")

    def table_of(self, text):
        lines = text.splitlines()
        start = next(i for i, line in enumerate(lines) if line.startswith("THREAD"))
        return lines[start:lines.index("", start)]

    def test_a_table_fits(self):
        self.make("plain")
        self.make("hostile")
        self.make("virtual")
        for ledger in ("plain.ledger", "hostile.ledger", "virtual.ledger"):
            for columns in (60, 80, 100, 132, 200):
                text = self.on_terminal(columns, "report", ledger, NO_COLOR="1")
                table = self.table_of(text)
                shown = [line for line in table if not line.startswith("(no room for")]
                self.assertLessEqual(max(map(len, shown)), columns)
                for column in ("CPU", "SHARE OF CPU") if columns >= 80 else ("CPU",):
                    self.assertIn(column, table[0])
                if columns < 132 and ledger == "plain.ledger":
                    self.assertIn("(no room for: ", table[-1])
                for view in ("flat", "callers", "tree", "spawn"):
                    text = self.on_terminal(columns, "report", ledger, "-v", view, "-n", "20",
                                            NO_COLOR="1")
                    for line in text.splitlines():
                        if line[:1] == " ":
                            self.assertLessEqual(len(line), columns)

    def test_columns_of_the_environment_count(self):
        self.make("plain")
        text = self.treadle("report", "plain.ledger", env={"COLUMNS": "80"})
        self.assertLessEqual(len(self.table_of(text)[0]), 80)
        self.assertIn("WALL", self.table_of(text)[0])

    def test_colour_only_where_it_is_welcome(self):
        self.make("plain")
        for view in ("threads", "spawn", "tree", "flat", "callers"):
            arguments = ("report", "plain.ledger", "-v", view)
            self.assertIn("\033[", self.on_terminal(120, *arguments))
            self.assertNotIn("\033", self.on_terminal(120, *arguments, NO_COLOR="1"))
            self.assertNotIn("\033", self.on_terminal(120, *arguments, TERM="dumb"))
            self.assertNotIn("\033", self.treadle(*arguments))
        self.assertIn("\033[", self.on_terminal(120, *arguments, NO_COLOR=""))

    def test_a_closed_pipe_ends_quietly(self):
        self.make("deep", number=20_000)
        for ignored in (False, True):
            for form in ([], ["--json"], ["--csv"]):
                with subprocess.Popen(
                        [bench.TREADLE, "report", "deep.ledger", "-v", "tree", *form],
                        cwd=self.folder, env=self.environment(), stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE, restore_signals=not ignored) as process:
                    process.stdout.read(100)
                    process.stdout.close()
                    self.assertEqual(process.stderr.read(), b"")
                self.assertIn(process.returncode, (0, -13))

    def test_a_full_disk_is_told(self):
        self.make("plain")
        self.make("deep", number=5000)
        for arguments in (["report", "plain.ledger"], ["report", "plain.ledger", "--json"],
                          ["report", "deep.ledger", "-v", "tree"], ["list"], ["--help"]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([bench.TREADLE, *arguments], cwd=self.folder, stdout=full,
                                      stderr=subprocess.PIPE, env=self.environment(), check=False)
            self.assertEqual(done.returncode, 1, arguments)
            self.assertEqual(
                b"".join(line for line in done.stderr.splitlines(True)
                         if not line.startswith(b"treadle: /dev/shm/treadle-")),
                b"treadle: standard output: cannot be written: No space left on device\n")


if __name__ == "__main__":
    bench.main()
