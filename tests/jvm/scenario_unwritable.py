"""Places where nothing can be written, for the live ledger and for the snapshot: the application does
not notice, and one line says what happened unless there is a snapshot all the same."""

import harness


def unwritable(test):
    (test.scratch / "file").write_text("")
    plain = test.java("ManyNodes")
    for place in ("missing", "file", "/proc"):
        live = test.scratch / place
        check(test, plain, f"live-dir={live}", live_dir=live)
        check(test, plain, f"file={live}/x.ledger", file=live / "x.ledger")
    by_treadle_run(test)


def by_treadle_run(test):
    """The exit status says that a snapshot is missing. It is the program's own with --best-effort."""
    for options, status in (((), 1), (("--best-effort",), 0)):
        done = test.run([test.treadle, "run", *options, "-o", test.scratch / "missing/x.ledger", "-O",
                         f"live-dir={test.live}", "--", *test.java_command("ManyNodes")],
                        {"TREADLE_AGENT": str(test.agent)})
        test.check(done.status == status and done.err.count("the live ledger stays") == 1, f"{options}: {done}")


def check(test, plain, what, **options):
    test.ledger.unlink(missing_ok=True)
    agent = test.agent_option(include="ManyNodes.*", **options)
    line = test.same_for_application(plain, test.java("ManyNodes", agent=agent), what)
    if test.ledger.exists():
        test.checked_report()
    else:
        test.check(line, f"{what}: no snapshot, and nothing says why")


if __name__ == "__main__":
    harness.main(unwritable)
