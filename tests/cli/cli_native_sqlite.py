"""SQLite's shell, built from Debian's source with -finstrument-functions: each function is called as often as gcov says
of the same source and input. Needs what cli_sample_sqlite.py needs."""
import collections
import gzip
import json
import os
import pathlib
import shutil
import subprocess
import unittest

import bench
import cli_native
import cli_sample_sqlite

FOLDER = pathlib.Path(os.environ["SQLITE_FOLDER"])
INPUT = """
CREATE TABLE t(id INTEGER PRIMARY KEY, a INT, b TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
    INSERT INTO t SELECT i, i * 7919 % 10007, 'text ' || i FROM n;
CREATE INDEX ta ON t(a);
SELECT count(*), sum(a) FROM t WHERE b LIKE '%7%';
SELECT b FROM t ORDER BY a DESC LIMIT 3;
SELECT * FROM missing;
DELETE FROM t WHERE id % 2;
VACUUM;
"""
COMPILE = ["cc", "-fno-inline", "-w", "-DSQLITE_THREADSAFE=0"]
# gcov without optimisation: with it the compiler leaves out calls whose functions only compute what nobody needs, which
# functions that call hooks never do.
INSTRUMENTED = ["-O1", "-finstrument-functions"]
COVERED = ["-O0", "--coverage"]


def build():
    """Both programs, which are built once."""
    programs = [FOLDER / "instrumented", FOLDER / "covered"]
    if all(program.exists() for program in programs):
        return programs
    for tool in ("apt-get", "dpkg-source", "tclsh", "make", "cc", "gcov"):
        if not shutil.which(tool):
            raise unittest.SkipTest(f"building SQLite takes {tool}")
    if not cli_sample_sqlite.release() or not os.path.exists(cli_sample_sqlite.KEYRING):
        raise unittest.SkipTest("SQLite's source is fetched on Debian only")
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    try:
        source = cli_sample_sqlite.fetch(FOLDER)
    except (subprocess.SubprocessError, StopIteration) as error:
        raise unittest.SkipTest(f"Debian's archive cannot be had: {error}") from error
    quiet = {"cwd": source, "check": True, "capture_output": True}
    subprocess.run(["./configure", "--disable-tcl", "--enable-amalgamation"], **quiet)
    subprocess.run(["make", "sqlite3.c", "shell.c"], **quiet)
    for name in ("sqlite3.c", "shell.c"):
        shutil.copy(source / name, FOLDER / name)
    jobs = []
    for program, flags in zip(programs, (INSTRUMENTED, COVERED)):
        jobs.append(subprocess.Popen([*COMPILE, *flags, "shell.c", "sqlite3.c", "-o", f"{program}.new", "-lm", "-ldl"],
                                     cwd=FOLDER, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    for job, program in zip(jobs, programs):
        if job.wait() != 0:
            raise RuntimeError(f"{program} cannot be built")
        os.rename(f"{program}.new", program)
    return programs


def counted_by_gcov(command, folder):
    """Calls by function, of the program's one run."""
    for data in FOLDER.glob("*.gcda"):
        data.unlink()
    subprocess.run(command, cwd=folder, check=False, capture_output=True)
    calls = collections.Counter()
    for data in FOLDER.glob("*.gcda"):
        subprocess.run(["gcov", "--json-format", data.name], cwd=FOLDER, check=True, capture_output=True)
    for report in FOLDER.glob("*.gcov.json.gz"):
        for file in json.loads(gzip.open(report).read())["files"]:
            for function in file["functions"]:
                calls[function["name"]] += function["execution_count"]
    return {name: count for name, count in calls.items() if count}


class Sqlite(cli_native.Native):
    def test_counts_are_those_of_gcov(self):
        instrumented, covered = build()
        with open(self.path("input"), "w", encoding="utf-8") as file:
            file.write(INPUT)
        command = "exec {} -batch a.db < input"
        expected = counted_by_gcov(["sh", "-c", command.format(covered)], self.folder)
        os.remove(self.path("a.db"))
        self.assertGreater(len(expected), 800)
        _, ledger = self.profile("sh", "-c", command.format(instrumented), options=("--exact", "--max-mem", "512M"),
                                 status=1)
        view = self.json("report", ledger, "--view", "flat")
        found = collections.Counter()
        for method in view["methods"]:
            if method["class"] == "instrumented":
                found[method["method"]] += method["calls"]
        found = {name: count for name, count in found.items() if count}
        self.assertEqual({name: (found.get(name), expected.get(name)) for name in found.keys() | expected.keys()
                          if found.get(name) != expected.get(name)}, {})
        print(f"{len(found)} functions, {sum(found.values())} calls")
        self.assertIn("nothing lost", self.treadle("report", ledger))


if __name__ == "__main__":
    unittest.TestCase.maxDiff = None
    bench.SECONDS = 280  # most of it is the compiler's
    bench.main()
