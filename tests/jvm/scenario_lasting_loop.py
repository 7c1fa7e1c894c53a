"""HotSpot interprets a loop whose class was changed until the loop ends. Methods that are off get hooks again where the
class is in no such loop; where it is, they stay off."""

import json

import harness
from running import running

TRIES = 90  # of a second each


def lasting_loop(test):
    with running(test, "LastingLoop", agent=test.agent_option(events="instrument", overhead="10%")) as program:
        hooks = {}
        for _ in range(TRIES):
            program.ask("slow 20")
            hooks = {kind: hook_of(test, program, kind) for kind in ("Loop", "Other")}
            if hooks["Other"] == "again":
                break
        test.check(hooks == {"Loop": "silenced", "Other": "again"}, f"once one of them is heard again: {hooks}")
        program.end()


def hook_of(test, program, kind):
    done = program.treadle("report", "--explain", f"LastingLoop${kind}.visit", "--json")
    test.check(done.status == 0, f"report --explain: {done}")
    return json.loads(done.out)["methods"][0]["hook"]


if __name__ == "__main__":
    harness.main(lasting_loop)
