"""treadle top on a terminal: what stands there, keys, sizes, and the terminal as it was when it ends."""
import os
import re
import signal
import subprocess
import termios

import bench
import spinning
from small_screen import SmallScreen

DOWN, HOME = "\033OB", "\033OH"


class Screen(spinning.Spinning):
    def top(self, *arguments, lines=24, columns=80, term="xterm", **env):
        screen = SmallScreen([bench.TREADLE, "top", self.pid, "-i", "0.1", *arguments], lines,
                             columns, cwd=self.folder, stderr=subprocess.PIPE,
                             env=self.environment(TERM=term, **env))
        self.addCleanup(screen.process.stderr.close)
        self.addCleanup(screen.close)
        return screen

    def assert_given_back(self, screen):
        self.assertEqual(termios.tcgetattr(screen.slave), screen.modes_before)

    def test_80_columns(self):
        screen = self.top()
        text = screen.wait_for(r"(?ms)^> spinner .*demo\.Main\.spin$.*^every ")
        lines = text.split("\n")
        self.assertRegex(lines[0], rf"^process {self.pid}  demo\.Main --rounds 3  in \S+ \S+$")
        self.assertRegex(lines[1], r"^CPU \d+\.\d %, user .*; \d+ threads, 0 began, 0 ended$")
        self.assertRegex(lines[2], r"^balance: kernel .*; nothing lost; 0 calls/s$")
        self.assertEqual(lines[3].split(), ["THREAD", "CPU", "TIME", "WAITING", "CALLS/S",
                                            "SWITCH/S", "FAULTS/S", "DELAY"])
        self.assertIn("hot path of spinner: cum, base, calls", text)
        self.assertRegex(text, r"(?m)^ 100\.0 % .* demo\.Main\.run$")
        self.assertRegex(text, r"(?m)^ 100\.0 % .* demo\.Main\.spin$")
        self.assertRegex(lines[-1], "^every 100 ms( or longer)?  sorted by cpu  h help  q quit$")
        self.assertNotEqual(screen.modes(), screen.modes_before)
        screen.press("q")
        self.assertEqual(screen.wait_for_end(), 0)
        self.assert_given_back(screen)

    def test_no_colour(self):
        screen = self.top(term="xterm-256color")
        screen.wait_for("balance")
        screen.press("q")
        self.assertEqual(screen.wait_for_end(), 0)
        self.assertIsNone(re.search(r"\033\[[\d;]*\b(3[0-7]|4[0-7]|38|48)\b[\d;]*m", screen.raw))
        self.assertIn("\033[?1049h", screen.raw)
        self.assertLess(screen.raw.rindex("\033[?1049h"), screen.raw.rindex("\033[?1049l"))

    def test_selection_stays_with_its_thread(self):
        screen = self.top("--sort", "waiting")
        screen.wait_for("(?ms)^> worker-1 .*^  spinner ")
        screen.press(DOWN)
        screen.wait_for("(?ms)^  worker-1 .*^> spinner ")
        screen.wait_for("hot path of spinner")
        screen.press("c")
        screen.wait_for("(?ms)^> spinner .*^  worker-1 .*sorted by cpu")
        screen.press(DOWN * 50)
        screen.wait_for("(?ms)^  spinner .*^> worker-1 ")
        screen.wait_for("worker-1 consumed no CPU")
        screen.press(HOME)
        screen.wait_for("(?ms)^> spinner .*^  worker-1 ")

    def test_sort_and_filter(self):
        screen = self.top()
        screen.wait_for("(?m)^> spinner ")
        for key, name in (("n", "name"), ("w", "waiting"), ("a", "calls"), ("s", "switches"),
                          ("f", "faults"), ("d", "delay"), ("m", "mounts"), ("<", "delay"),
                          (">", "mounts"), ("c", "cpu"), ("<", "name")):
            screen.press(key)
            screen.wait_for(f"sorted by {name} ")
        screen.press("/work")
        screen.wait_for("threads named: work_")
        screen.press("\177er\r")
        screen.wait_for(r"only worer")
        screen.wait_for(r"no thread's name matches")
        screen.press("/worker\r")
        screen.wait_for(r"only worker")
        text = screen.wait_for("(?m)^> worker-1 ")
        self.assertNotIn("spinner ", text.split("\n", 4)[4])
        screen.press("/\r")
        screen.wait_for("(?m)^[> ] spinner ")

    def test_help_hold_and_interval(self):
        screen = self.top()
        screen.wait_for("balance")
        screen.press("h")
        screen.wait_for("Keys of treadle top")
        screen.press("x")
        screen.wait_for("balance")
        screen.press(" ")
        screen.wait_for("HELD  every 100 ms")
        screen.press("+")
        screen.wait_for("HELD  every 200 ms")
        screen.press(" --")
        screen.wait_for("(?m)^every 100 ms")

    def test_sizes(self):
        screen = self.top()
        screen.wait_for("balance")
        screen.resize(40, 132)
        screen.wait_for("(?s)KIND.* platform .*every 100 ms")  # the screen may be read while it is drawn
        for lines, columns in ((10, 60), (5, 30), (2, 12), (1, 1), (24, 80)):
            screen.resize(lines, columns)
            if columns >= 60:
                screen.wait_for("(?m)^> spinner ")
        screen.wait_for("(?s)balance.*every 100 ms")
        screen.press("q")
        self.assertEqual(screen.wait_for_end(), 0)

    def test_signals_give_the_terminal_back(self):
        for number, status in ((signal.SIGINT, 0), (signal.SIGTERM, -signal.SIGTERM),
                               (signal.SIGHUP, -signal.SIGHUP), (signal.SIGQUIT, -signal.SIGQUIT)):
            screen = self.top()
            screen.wait_for("balance")
            os.kill(screen.process.pid, number)
            self.assertEqual(screen.wait_for_end(), status)
            self.assert_given_back(screen)
            self.assertIn("\033[?1049l", screen.raw)

    def test_a_crash_gives_the_terminal_back(self):
        screen = self.top()
        screen.wait_for("balance")
        os.kill(screen.process.pid, signal.SIGSEGV)
        self.assertNotEqual(screen.wait_for_end(), 0)
        self.assert_given_back(screen)
        self.assertIn("\033[?1049l", screen.raw)

    def test_the_process_ends(self):
        screen = self.top()
        screen.wait_for("(?m)^> spinner ")
        self.process.kill()
        self.process.wait()
        text = screen.wait_for(f"process {self.pid} has ended; this is its last interval; q quits")
        self.assertIn("> spinner ", text)
        screen.press("q")
        self.assertEqual(screen.wait_for_end(), 0)
        self.assertEqual(screen.process.stderr.read(),
                         f"treadle: process {self.pid} has ended\n".encode())
        self.assert_given_back(screen)

    def test_count(self):
        screen = self.top("-n", "2")
        self.assertEqual(screen.wait_for_end(), 0)
        self.assert_given_back(screen)

    def test_an_unknown_terminal(self):
        screen = self.top(term="no-such-terminal")
        self.assertEqual(screen.wait_for_end(), 1)
        self.assertEqual(screen.process.stderr.read(),
                         b"treadle: no full screen on a terminal 'no-such-terminal'; "
                         b"`treadle top --once` needs none\n")
        self.assert_given_back(screen)

    def test_hostile_names(self):
        """Names that would steer the terminal are shown, not obeyed."""
        self.make("live_hostile", f"tmp/treadle-{self.pid}-0123456789abcdef.live", self.process.pid)
        screen = self.top(lines=40)
        screen.wait_for(r"red \\x1b\[31malert")
        screen.press(DOWN * 3)
        screen.wait_for(r"(?m)^> ")
        self.assertNotIn("\033]", screen.raw)


if __name__ == "__main__":
    bench.main()
