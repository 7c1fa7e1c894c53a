"""jdb of the JDK under test, led by the hand: it attaches to a JVM that waits for it."""

import re
import subprocess
import threading

import harness

OPTIONS = "-agentlib:jdwp=transport=dt_socket,server=y,suspend=y,address=127.0.0.1:0"
LISTENING = "Listening for transport dt_socket at address: "


class Debugger:
    """Use as a context. Each command returns what jdb said until it stands still again."""

    def __init__(self, test, port):
        self.test = test
        self.said = ""
        self.process = subprocess.Popen(
            [test.jdk / "bin/jdb", "-J-Duser.language=en", "-attach", f"127.0.0.1:{port}"],
            cwd=test.scratch, env=harness.environment(), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0)
        threading.Thread(target=self._listen, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def _listen(self):
        while piece := self.process.stdout.read(4096):
            self.said += piece.decode()

    def wait_for(self, pattern):
        """Up to what ends with the pattern; what was said so, without what depends on how the
        bytecode lies and on what JDWP was asked before. Without the prompts: jdb's thread that reads commands and
        its thread that tells events print them in either order."""
        found = self.test.wait_until(lambda: re.search(pattern, self.said, re.S),
                                     f"jdb does not say {pattern!r}, but {self.said!r}")
        said, self.said = self.said[:found.end()], self.said[found.end():]
        said = re.sub(r"\(id=\d+\)| bci=\d+", "", said)
        lines = (re.sub(r"^(> |main\[1\] )+", "", line).strip() for line in said.splitlines())
        return "".join(f"{line}\n" for line in lines if line)

    def tell(self, command, pattern=r"main\[1\] (> )?$"):
        self.process.stdin.write(command.encode() + b"\n")
        return self.wait_for(pattern)


def port_of(test):
    """Of the JVM that test.started() runs."""
    line = test.wait_until(lambda: next((l for l in test.printed() if l.startswith(LISTENING)), None),
                           "no debugger can come")
    return line.removeprefix(LISTENING)
