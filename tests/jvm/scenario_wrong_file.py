"""What is not a ledger, or only a part of one, or a damaged one: report says in one line what is wrong
and exits with 1, or reads what can be read; it never crashes."""

import json
import random

import harness


VIEWS = (*harness.VIEWS, "images", "procedures")


def wrong_file(test):
    test.java("Exceptions",
              agent=test.agent_option(include="Exceptions*", sample="cpu", interval="1ms"))
    good = test.ledger.read_bytes()
    victim = test.scratch / "victim"
    for what, content in contents(good):
        victim.write_bytes(content)
        must_fail = len(content) < 64 or content[:8] != good[:8]
        for view in VIEWS:
            done = read(test, what, must_fail, victim, "--view", view, "--json")
            if view == "threads" and len(content) < len(good) and done.status == 0:
                skipped = json.loads(done.out)["balance"]["skipped_records"]
                test.check(skipped > 0, f"{what}: nothing says that there was more")
        annotated = test.run([test.treadle, "annotate", "*", victim, "--code", "--json"])
        test.check(annotated.status in (0, 1), f"{what}: annotate: {annotated.err[:200]}")
    for path in ("missing", test.scratch, "/dev/null", "/proc/self/mem"):
        read(test, str(path), True, path)
    for arguments in (["--view", "nonsense"], ["--nonsense"], ["--top", "x"]):
        done = test.text_report(test.ledger, *arguments)
        test.check(done.status == 2 and done.err, f"report {arguments}: status {done.status}")


def contents(good):
    yield "empty", b""
    yield "text", b"this is no ledger\n" * 1000
    yield "zeros", bytes(100_000)
    yield "a class file", b"\xca\xfe\xba\xbe" * 4096
    chance = random.Random(64)
    yield "noise", chance.randbytes(100_000)
    yield "noise after the magic", good[:8] + chance.randbytes(100_000)
    for length in (8, 63, 64, 4095, 4096, 4097, len(good) // 2, len(good) - 4096, len(good) - 1):
        yield f"cut at {length}", good[:length]
    for number in range(60):
        damaged = bytearray(good)
        for _ in range(chance.choice((1, 10, 1000))):
            damaged[chance.randrange(64, len(damaged))] = chance.randrange(256)
        yield f"damaged {number}", bytes(damaged)


def read(test, what, must_fail, *arguments):
    done = test.text_report(*arguments)
    test.check(done.status == 1 or (done.status == 0 and not must_fail),
               f"{what} {arguments[1:]}: status {done.status}: {done.err[:200]}")
    if done.status == 1:
        # What is there of a file that was cut off is shown, below the line that says what is missing.
        cut_off = "--partial" in done.err
        test.check(len(done.err.splitlines()) == 1 and (cut_off or not done.out),
                   f"{what} {arguments[1:]}: not one line: {done.err[:200]!r} {done.out[:200]!r}")
    return done


if __name__ == "__main__":
    harness.main(wrong_file)
