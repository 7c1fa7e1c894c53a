"""A Java program that runs and is led by the test: it answers each line of standard input with a line. What
Treadle's command line does to it meanwhile."""

import contextlib
from pathlib import Path

import harness

# Known to every JDK; without it those from 21 on warn when an agent comes.
LET_AGENTS_IN = "-XX:+EnableDynamicAgentLoading"


# Before a program that burns on every processor all the time, so that the commands beside it get their turn.
NICE = ("nice", "-n", "10")


@contextlib.contextmanager
def running(test, *arguments, agent=None, prefix=()):
    """The program, after its first line; arguments as for test.java_command."""
    with test.started([*prefix, *test.java_command(LET_AGENTS_IN, *arguments, agent=agent)]) as process:
        program = Program(test, process)
        program.answer("its start")
        yield program


class Program:
    def __init__(self, test, process):
        self.test = test
        self.process = process
        self.pid = process.pid
        self.answers = 0

    def tell(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def answer(self, what):
        """The next line that it prints."""
        lines = self.test.wait_until(lambda: self.printed()[self.answers:]
                                     or self.process.poll() is not None and ["(it ended)"],
                                     f"no answer to {what}")
        self.answers += 1
        return lines[0]

    def printed(self):
        """What the program itself has printed so far."""
        return [line for line in self.test.printed() if not line.startswith("treadle:")]

    def ask(self, line):
        self.tell(line)
        return self.answer(line)

    def ask_timed(self, line):
        """The answer; and how long, meanwhile, threads that live still were ready and had no processor."""
        before = self.processor_delays()
        answer = self.ask(line)
        after = self.processor_delays()
        return answer, sum(ns - before.get(task, 0) for task, ns in after.items())

    def processor_delays(self):
        """{task: ns in the queue of a processor}, by the kernel."""
        delays = {}
        for task in Path(f"/proc/{self.pid}/task").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                delays[task.name] = int((task / "schedstat").read_text(encoding="ascii").split()[1])
        return delays

    def end(self):
        """Standard input ends, and so must the program; what the user saw of it."""
        self.process.stdin.close()
        status = self.process.wait(timeout=harness.LIMIT_S)
        return harness.Run(status, "".join(line + "\n" for line in self.printed()), "")

    # ---- Treadle's command line ----

    def treadle(self, command, *arguments):
        return self.test.run([self.test.treadle, command, self.pid, *arguments],
                             extra_environment={"TREADLE_AGENT": str(self.test.agent)})

    def done(self, command, *arguments):
        """A command that must be done, without a word on stderr; what it printed."""
        run = self.treadle(command, *arguments)
        self.test.check(run.status == 0 and not run.err, f"treadle {command} {arguments}: {run}")
        return run.out

    def refused(self, command, *arguments, status=1):
        """A command that must be refused in one line; that line."""
        run = self.treadle(command, *arguments)
        self.test.check(run.status == status and not run.out and len(run.err.splitlines()) == 1,
                        f"treadle {command} {arguments}: not refused in one line: {run}")
        return run.err

    def attach(self, *arguments, **options):
        """Options as for the agent, by keyword; the snapshot goes where test.report() looks."""
        given = {"live-dir": self.test.live, "file": self.test.ledger, "overhead": "any",
                 "recursion": "all", **options}
        return self.done("attach", *(word for key, value in given.items()
                                     for word in ("-O", f"{key}={value}")), *arguments)

    def jcmd(self, *arguments):
        run = self.test.run([self.test.jdk / "bin/jcmd", self.pid, *arguments])
        self.test.check(run.status == 0, f"jcmd {arguments}: {run}")
        return run.out

    def load(self, options):
        """The agent by jcmd alone, which cuts its argument at `=`: options are written key:value."""
        if "start" not in options and "stop" not in options and "dump" not in options:
            quote = '"' if options.startswith('"') else ""
            options = f"{quote}overhead:any,recursion:all,{options[len(quote):]}"
        out = self.jcmd("JVMTI.agent_load", self.test.agent, options)
        self.test.check("return code: 0" in out, f"agent_load {options}: {out}")
