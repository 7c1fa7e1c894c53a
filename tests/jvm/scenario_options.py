"""Wrong options: one line names the word and the nearest right one, and the JVM runs without profiling;
with `strict` it does not start."""

import harness

WRONG = [  # option, what the line must name
    ("evnts=jvmti", "evnts", "events"),
    ("events=jvmtii", "jvmtii", "jvmti"),
    ("events=", "events", "did you mean"),
    ("max-mem=12Q", "12Q", "max-mem"),
    ("max-mem=-1", "-1", "max-mem"),
    ("reuse=nex", "nex", "new"),
    ("log=inof", "inof", "info"),
    ("clock=rsq", "rsq", "rseq"),
    ("metrics=swiches", "swiches", "switches"),
    ("file=%q", "%q", "%p"),
    ("strct", "strct", "strict"),
    ("max_mem:2M", "max_mem", "max-mem"),
    ("x" * 5000 + "=1", "xxxxx", "option"),
    ("=", "''", "option"),
]


def options(test):
    plain = test.java("MutualRecursion")
    for option, *names in WRONG:
        text = f"file={test.ledger},live-dir={test.live},{option}"
        what = option[:40]
        traced = test.java("MutualRecursion", agent=f"-agentpath:{test.agent}={text}")
        line = test.same_for_application(plain, traced, what)
        test.check(all(name in line for name in names), f"{what}: {names} not in: {line}")
        test.check(len(line) < 1000, f"{what}: a line of {len(line)} characters")
        test.check(not test.snapshots() and not test.live_ledgers(), f"{what}: it was profiled")

        strict = test.java("MutualRecursion", agent=f"-agentpath:{test.agent}=strict,{text}")
        own = [l for l in strict.err.splitlines() if l.startswith("treadle:")]
        test.check(strict.status != 0 and plain.out not in strict.out, f"strict,{what}: it ran")
        test.check(strict.status > 0, f"strict,{what}: ended by signal {-strict.status}")
        test.check(len(own) == 1 and all(name in own[0] for name in names),
                   f"strict,{what}: {strict.err}")
    either_separator(test, plain)


def either_separator(test, plain):
    """Every option may be written key:value."""
    text = f"file:{test.ledger},live-dir:{test.live},events:{test.events},include:Mutual*"
    test.same_for_user(plain, test.java("MutualRecursion", agent=f"-agentpath:{test.agent}={text}"))
    calls = sum(m["calls"] for m in test.checked_report()["flat"]["methods"])
    test.check(calls == 13, f"{calls} calls with options written key:value, not 13")


if __name__ == "__main__":
    harness.main(options)
