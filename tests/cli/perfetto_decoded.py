"""Perfetto's traces by a decoder that protoc makes of perfetto.proto: what it reads is what perfetto_trace.py reads."""
import os
import re
import subprocess
from collections import defaultdict

from perfetto_trace import Trace

SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "perfetto.proto")
LINE = re.compile(r"^ *(?:(?P<message>\w+) \{|(?P<field>\w+): (?P<value>.*)|(?P<end>\}))$")


def packets(path):
    """Each packet of the trace: {field: [values, or such dicts]}."""
    with open(path, "rb") as file:
        done = subprocess.run(["protoc", f"--proto_path={os.path.dirname(SCHEMA)}", "--decode=perfetto.protos.Trace",
                               SCHEMA], stdin=file, capture_output=True, text=True, check=True)
    open_messages = [defaultdict(list)]
    for line in done.stdout.splitlines():
        found = LINE.match(line)
        assert found, f"not as protoc prints: {line}"
        name = found["message"] or found["field"]
        assert not name or not name.isdigit(), f"a field that the schema does not have, or of another type: {line}"
        if found["message"]:
            inner = defaultdict(list)
            open_messages[-1][name].append(inner)
            open_messages.append(inner)
        elif found["field"]:
            open_messages[-1][name].append(found["value"])
        else:
            open_messages.pop()
    return open_messages[0]["packet"]


def number(message, field):
    return int(message[field][0]) if message[field] else 0


def check(test, trace, path):
    """trace: what Trace read from the path. Tracks, slices, instants and arrows are the same."""
    tracks, opened = set(), defaultdict(list)
    slices, instants, flows = defaultdict(list), defaultdict(list), defaultdict(list)
    for packet in packets(path):
        tracks.update(number(track, "uuid") for track in packet["track_descriptor"])
        for event in packet["track_event"]:
            track, time, kind = number(event, "track_uuid"), number(packet, "timestamp"), event["type"][0]
            if kind == "TYPE_SLICE_BEGIN":
                opened[track].append(time)
            elif kind == "TYPE_SLICE_END":
                slices[track].append((opened[track].pop(), time))
            else:
                test.assertEqual(kind, "TYPE_INSTANT")
                instants[track].append(time)
            for flow in event["flow_ids"] + event["terminating_flow_ids"]:
                flows[int(flow)].append((track, time))
    test.assertFalse(any(opened.values()))
    test.assertEqual(tracks, set(trace.tracks))
    test.assertEqual({track: sorted(of_track) for track, of_track in slices.items()},
                     {track: sorted((s[3], s[4]) for s in of_track) for track, of_track in trace.slices.items() if of_track})
    test.assertEqual(instants, {track: [i[1] for i in of_track] for track, of_track in trace.instants.items() if of_track})
    test.assertEqual({flow: sorted(ends) for flow, ends in flows.items()},
                     {flow: sorted(ends.values()) for flow, ends in trace.arrows.items()})


def read(test, path):
    trace = Trace(path)
    check(test, trace, path)
    return trace
