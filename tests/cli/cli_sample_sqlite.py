"""SQLite's shell, built from Debian's source with treadle.h put in by a patch, shows what it does: parse, plan, step,
sort and commit, with the table as the parameter. Needs Debian's archive for the source, and tclsh to build it."""
import os
import pathlib
import shutil
import subprocess
import unittest

import bench
import cli_sample

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = pathlib.Path(os.environ["SQLITE_FOLDER"])
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
ROWS = 300_000

TABLES = f"""
CREATE TABLE ORDERS(id INTEGER PRIMARY KEY, customer INT, total INT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS})
    INSERT INTO ORDERS SELECT i, i % 1000, i * 7919 % 10007 FROM n;
"""
QUERY = "SELECT total FROM ORDERS ORDER BY total, customer;\n"


def release():
    facts = pathlib.Path("/etc/os-release").read_text()
    names = dict(line.split("=", 1) for line in facts.splitlines() if "=" in line)
    return names.get("VERSION_CODENAME", "").strip('"') if names.get("ID") == "debian" else ""


def fetch(folder):
    """The source as Debian has it, by apt-get with lists of its own."""
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "sources.list").write_text(
        f"deb-src [signed-by={KEYRING}] http://deb.debian.org/debian {release()} main\n")
    apt = ["apt-get", "-qq", "-o", f"Dir::Etc::sourcelist={folder}/sources.list", "-o", "Dir::Etc::sourceparts=/dev/null",
           "-o", f"Dir::State::lists={folder}/lists", "-o", f"Dir::Cache={folder}/cache", "-o", "APT::Sandbox::User="]
    for command in (["update"], ["source", "sqlite3"]):
        subprocess.run(apt + command, cwd=folder, check=True, capture_output=True, timeout=120)
    return next(folder.glob("sqlite3-*/"))


def build(source, program):
    """The amalgamation, without the options of Debian's package: it is the shell that counts."""
    patch = ROOT / "tests" / "activity" / "sqlite.patch"
    quiet = {"cwd": source, "check": True, "capture_output": True}
    subprocess.run(["patch", "-p1", "-i", str(patch)], **quiet)
    subprocess.run(["./configure", "--disable-tcl", "--enable-amalgamation"], **quiet)
    subprocess.run(["make", "sqlite3.c", "shell.c"], **quiet)
    subprocess.run(["cc", "-O1", f"-I{ROOT}/native/activity", "shell.c", "sqlite3.c", "-o", str(program), "-pthread",
                    "-lm", "-ldl"], **quiet)


def shell():
    """The program, which is built once for each state of the header and the patch."""
    sources = [ROOT / "tests" / "activity" / "sqlite.patch", ROOT / "native" / "activity" / "treadle.h"]
    program = FOLDER / "sqlite3"
    if program.exists() and all(program.stat().st_mtime > source.stat().st_mtime for source in sources):
        return program
    if not release() or not os.path.exists(KEYRING):
        raise unittest.SkipTest("SQLite's source is fetched on Debian only")
    for tool in ("apt-get", "dpkg-source", "patch", "tclsh", "make", "cc"):
        if not shutil.which(tool):
            raise unittest.SkipTest(f"building SQLite takes {tool}")
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    try:
        source = fetch(FOLDER)
    except (subprocess.SubprocessError, StopIteration) as error:
        raise unittest.SkipTest(f"Debian's archive cannot be had: {error}") from error
    build(source, program)
    return program


class Sqlite(bench.Bench):
    sampled, activity = cli_sample.Sample.sampled, cli_sample.Sample.activity

    def test_a_query_shows_what_it_does(self):
        program = subprocess.Popen([shell(), self.path("database")], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(program.wait)
        self.addCleanup(program.stdin.close)
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.kill)
        program.stdin.write((TABLES + "SELECT 'ready';\n").encode())
        program.stdin.flush()
        self.assertEqual(program.stdout.readline(), b"ready\n")
        sampling = subprocess.Popen([bench.TREADLE, "sample", str(program.pid), "--every", "1ms", "-o", "s.ledger"],
                                    cwd=self.folder, stdout=subprocess.DEVNULL)
        self.run_queries(program)
        program.stdin.close()
        program.stdout.read()
        program.wait()
        self.assertEqual(sampling.wait(timeout=60), 0)
        view = self.activity("s.ledger")
        step = cli_sample.below(view["activity"], "step ORDERS")
        sort = cli_sample.below(view["activity"], "step ORDERS", "sort ORDERS")
        self.assertIsNotNone(sort, view["activity"])
        commits = [node["cum"]["samples"] for node in view["activity"] + step["children"]
                   if node["identifier"] == "commit" and node["parameter"] == "ORDERS"]
        self.assertGreater(sum(commits), 0, view["activity"])
        # The plan is for as much as a query's worth of time: nearly all of it is in its steps.
        self.assertGreater(step["cum"]["samples"], 0.5 * sum(node["cum"]["samples"] for node in view["activity"]))
        self.assertIn("step (ORDERS)", self.treadle("report", "s.ledger", "-v", "activity"))

    def run_queries(self, program):
        """Until the database has committed and sorted for seconds, by its own answers."""
        for round_number in range(6):
            program.stdin.write(f"{QUERY}INSERT INTO ORDERS SELECT id + {(round_number + 1) * ROWS}, customer, total "
                                f"FROM ORDERS WHERE id < {ROWS // 5};\nSELECT 'done';\n".encode())
            program.stdin.flush()
            while program.stdout.readline() != b"done\n":
                continue


if __name__ == "__main__":
    bench.SECONDS = 280  # most of it is the compiler's
    bench.main()
