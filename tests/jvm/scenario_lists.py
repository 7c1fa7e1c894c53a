"""include=@FILE and exclude=@FILE: lists far longer than the 1,024 bytes that a running JVM takes, by the agent's
own option, by treadle run, attach and start. The program counts its calls; a list that cannot be read is one
line."""

import harness
from running import running

OTHERS = 20_000  # names that the program does not have
CALLS = 50


def lists(test):
    others = "".join(f"com.example.p{n % 50}.Class{n}.method{n}\n" for n in range(OTHERS))
    (test.scratch / "counted").write_text(f"# what counts\n{others}StartStop.counted # and nothing else\n")
    (test.scratch / "others").write_text(others)
    by_option(test)
    by_run(test)
    by_attach(test)
    unreadable(test)


def calls(test):
    """By method, of the snapshot."""
    flat = test.report("flat")["methods"]
    return {m["method"]: m["calls"] for m in flat if m["calls"]}


def by_option(test):
    plain = test.java("MutualRecursion")
    (test.scratch / "even").write_text("MutualRecursion.even\n")
    for options, left in ((dict(include="@even"), ["even"]), (dict(exclude="@even"), ["main", "odd"])):
        traced = test.java("MutualRecursion", agent=test.agent_option(events="instrument", **options))
        test.same_for_user(plain, traced)
        test.check(sorted(calls(test)) == left, f"{options}: {calls(test)}")


def by_run(test):
    """The list lies beside the user, the JVM works elsewhere."""
    (test.scratch / "elsewhere").mkdir()
    ran = test.run([test.treadle, "run", "--events", "instrument", "--include", "@even;MutualRecursion.main",
                    "-O", f"live-dir={test.live}", "-o", test.ledger, "--", "env", "-C", "elsewhere",
                    *test.java_command("MutualRecursion")], {"TREADLE_AGENT": str(test.agent)})
    test.check(ran.status == 0, f"treadle run: {ran}")
    test.check(sorted(calls(test)) == ["even", "main"], f"treadle run: {calls(test)}")


def by_attach(test):
    with running(test, "StartStop") as program:
        program.attach("--include", "@counted")
        program.ask(f"count {CALLS}")
        for number, arguments in enumerate((["--exclude", "@counted"], ["--include", "@others"],
                                            ["--include", "@counted"])):
            program.done("stop")
            program.ask("count 1000")
            program.done("start", *arguments)
            # Only the last of these lists has it.
            program.ask(f"count {CALLS if number == 2 else 7}")
        program.end()
    counted = calls(test).get("counted")
    test.check(counted == 2 * CALLS, f"{counted} calls were counted, not {2 * CALLS}")


def unreadable(test):
    missing = "cannot be read: No such file or directory"
    for option in ("include", "exclude"):
        plain = test.java("MutualRecursion")
        traced = test.java("MutualRecursion", agent=test.agent_option(**{option: "@/missing/list"}))
        line = test.same_for_application(plain, traced, option)
        test.check(f"option {option}: /missing/list: {missing} (not profiling)" in line, line)
    ran = test.run([test.treadle, "run", "--include", "@missing", "--", "true"],
                   {"TREADLE_AGENT": str(test.agent)})
    test.check((ran.status, ran.err) == (1, f"treadle: missing: {missing}\n"), f"treadle run: {ran}")
    with running(test, "StartStop") as program:
        test.check(f"/missing/list: {missing}" in program.refused("attach", "--include", "@/missing/list"),
                   "attach does not name the list")
        program.attach("--include", "@counted")
        program.done("stop")
        test.check(f"/missing/list: {missing}" in program.refused("start", "--exclude", "@/missing/list"),
                   "start does not name the list")
        program.end()


if __name__ == "__main__":
    harness.main(lists)
