"""A terminal for tests: a program on a pseudo-terminal, and what it has drawn, by the sequences of an xterm that curses uses."""
import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

LIMIT_S = 30
READ_BYTES = 500  # few, so that sequences and characters come in parts at any time, as they may
UNFINISHED = re.compile(r"\x1b(\[[?\d;]*|[()])?$")
SEQUENCE = re.compile(r"\x1b\[(\?)?([\d;]*)([A-Za-z])|\x1b([()].|[=>78MHDE])|([\x00-\x1f])")


class SmallScreen:
    """`command` on a screen of that size."""

    def __init__(self, command, lines=24, columns=80, **how):
        self.master, slave = pty.openpty()
        self.resize_only(lines, columns)
        self.modes_before = termios.tcgetattr(slave)
        self.slave = slave
        self.raw = self.last = self.unfinished = ""
        self.decoder = codecs.getincrementaldecoder("utf-8")()
        self.process = subprocess.Popen(command, stdin=slave, stdout=slave,
                                        start_new_session=True, **how)

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.slave)
        os.close(self.master)

    def resize_only(self, lines, columns):
        self.lines, self.columns = lines, columns
        self.cells = [[" "] * columns for _ in range(lines)]
        self.line = self.column = 0
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def resize(self, lines, columns):
        """The program has drawn nothing on the new screen yet, and is told."""
        self.resize_only(lines, columns)
        os.kill(self.process.pid, signal.SIGWINCH)

    def press(self, keys):
        os.write(self.master, keys.encode())

    def modes(self):
        return termios.tcgetattr(self.slave)

    # ---- what it draws ----

    def read(self, seconds):
        ready, _, _ = select.select([self.master], [], [], seconds)
        if ready:
            text = self.decoder.decode(os.read(self.master, READ_BYTES))
            self.raw += text
            text = self.unfinished + text
            cut = UNFINISHED.search(text)
            self.unfinished = cut.group() if cut else ""
            self.draw(text[:cut.start()] if cut else text)

    def draw(self, text):
        while text:
            found = SEQUENCE.search(text)
            self.put(text[:found.start()] if found else text)
            if not found:
                return
            private, numbers, letter, _, control = found.groups()
            if letter and not private:
                self.order(letter, [int(n) for n in numbers.split(";") if n])
            elif control:
                self.control(control)
            text = text[found.end():]

    def put(self, text):
        for character in text:
            if self.column < self.columns:
                self.cells[self.line][self.column] = character
                self.column += 1
            self.last = character

    def control(self, control):
        if control == "\r":
            self.column = 0
        elif control == "\n":
            self.line = min(self.line + 1, self.lines - 1)
        elif control == "\b":
            self.column = max(self.column - 1, 0)
        elif control == "\t":
            self.column = min(self.column // 8 * 8 + 8, self.columns - 1)

    def order(self, letter, numbers):
        first = numbers[0] if numbers else 0
        if letter == "H":
            self.line = min(max(first, 1), self.lines) - 1
            self.column = min(max(numbers[1] if len(numbers) > 1 else 1, 1), self.columns) - 1
        elif letter in "ABCD":
            down, right = {"A": (-1, 0), "B": (1, 0), "C": (0, 1), "D": (0, -1)}[letter]
            self.line = min(max(self.line + down * (first or 1), 0), self.lines - 1)
            self.column = min(max(self.column + right * (first or 1), 0), self.columns - 1)
        elif letter == "d":
            self.line = min(max(first, 1), self.lines) - 1
        elif letter == "G":
            self.column = min(max(first, 1), self.columns) - 1
        elif letter == "X":
            end = min(self.column + (first or 1), self.columns)
            self.cells[self.line][self.column:end] = [" "] * (end - self.column)
        elif letter == "b":
            self.put(self.last * (first or 1))
        elif letter == "K":
            row = self.cells[self.line]
            wiped = range(self.column, self.columns) if first == 0 else range(0, self.column + 1)
            for column in wiped:
                row[column] = " "
        elif letter == "J":
            self.order("K", [0])
            for line in range(self.line + 1, self.lines):
                self.cells[line] = [" "] * self.columns

    def text(self):
        return "\n".join("".join(row).rstrip() for row in self.cells)

    def wait_for(self, pattern):
        """The screen, as soon as the pattern is on it."""
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            if re.search(pattern, self.text()):
                return self.text()
            self.read(0.1)
        raise AssertionError(f"waited in vain for {pattern!r} on\n{self.text()}")

    def wait_for_end(self):
        """The exit status, when all has been read."""
        end = time.monotonic() + LIMIT_S
        while self.process.poll() is None and time.monotonic() < end:
            self.read(0.05)
        status = self.process.wait(timeout=LIMIT_S)
        while select.select([self.master], [], [], 0.2)[0]:
            self.read(0)
        return status
