"""The sum of the waits for monitors beside the JDK's Flight Recorder in the same run, which is asked for every wait."""

import json
import subprocess
from pathlib import Path

import harness
import sampled

ROUNDS = 300
SETTINGS = ("settings=none", "+jdk.JavaMonitorEnter#enabled=true", "+jdk.JavaMonitorEnter#threshold=0ns")
TOLERANCE = 0.02


def flight_recorder(test):
    sampled.check_unless_chance(test, lambda _: compare(test))


def compare(test):
    test.ledger.unlink(missing_ok=True)
    recording = test.live / "recording.jfr"
    recording.unlink(missing_ok=True)
    agent = test.agent_option(events="instrument", include="Contended.*", sample="none", waits="on")
    flag = f"-XX:StartFlightRecording:{','.join((f'filename={recording}', *SETTINGS))}"
    plain = test.java(flag, "-Xlog:jfr*=off", "Contended", str(ROUNDS), agent=agent)
    test.check(plain.status == 0, f"{plain}")
    theirs, count = recorded(test, recording)
    told = json.loads(test.text_report(test.ledger, "--view", "waits", "--json").out)
    ours = {row["name"]: row["waits"]["monitor_ns"] for row in told["threads"]}
    locks = json.loads(test.text_report(test.ledger, "--view", "locks", "--json").out)["locks"]
    contentions = sum(lock["contentions"] for lock in locks if lock["class"] == "java.lang.Object")
    test.check(count >= ROUNDS, f"the recording has {count} waits")
    test.check(abs(contentions - count) <= TOLERANCE * count, f"{contentions} waits, the recording has {count}")
    for name, ns in theirs.items():
        print(f"{name}: {ours[name]} ns, the recording says {ns:.0f}")
        test.check_likely(abs(ours[name] - ns) <= TOLERANCE * ns, f"{name}: {ours[name]} and {ns} ns",
                          f"{name}: waited {ours[name]} ns, the recording says {ns}")


def recorded(test, recording):
    """By thread, how long it waited to enter a monitor; and how often all of them did."""
    told = subprocess.run([Path(test.jdk) / "bin" / "jfr", "print", "--json", "--events", "jdk.JavaMonitorEnter", recording],
                          check=True, capture_output=True, text=True).stdout
    sums, count = {}, 0
    for event in json.loads(told)["recording"]["events"]:
        values = event["values"]
        name = values["eventThread"]["javaName"]
        if not name.startswith("contender-"):
            continue
        seconds = float(values["duration"].removeprefix("PT").removesuffix("S"))
        sums[name] = sums.get(name, 0) + seconds * 1e9
        count += 1
    return sums, count


if __name__ == "__main__":
    harness.main(flight_recorder)
