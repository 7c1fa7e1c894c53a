"""Perfetto's traces, read by field number as the published description of traces has them: nothing that writes them is
used, and a field that the description does not have, or that Treadle is not to write, is an error."""
from collections import defaultdict

from protobuf_wire import fields, message, one

NEEDED = {"timestamp": 8, "sequence": 10, "event": 11, "interned": 12, "flags": 13, "track": 60}
TRACK = {"uuid": 1, "name": 2, "process": 3, "thread": 4, "parent": 5}
EVENT = {"category": 3, "annotation": 4, "type": 9, "name": 10, "track": 11, "flow": 47, "last of flow": 48}
THREAD = {"pid": 1, "tid": 2, "name": 5}
SLICE_BEGIN, SLICE_END, INSTANT = 1, 2, 3


class Trace:
    """Of Trace: field 1 packet; of a packet those of NEEDED; of InternedData: 1 categories, 2 event names,
    3 names of debug annotations; of TrackEvent those of EVENT; of TrackDescriptor those of TRACK."""

    def __init__(self, path):
        self.words = {1: {}, 2: {}, 3: {}}
        self.tracks = {}
        self.slices = defaultdict(list)  # by track: (depth, name, category, begin, end, annotations)
        self.instants = defaultdict(list)  # by track: (name, time, annotations)
        self.arrows = defaultdict(dict)  # by flow: {"from": (track, time), "to": (track, time)}
        self.open = defaultdict(list)
        self.last = defaultdict(int)
        with open(path, "rb") as file:
            data = file.read()
        for at, (number, packet) in enumerate(fields(data)):
            assert number == 1
            self.packet(message(packet), at)
        assert not any(self.open.values()), "a slice that does not end"
        assert all(set(ends) == {"from", "to"} for ends in self.arrows.values()), "an arrow with one end"

    def packet(self, packet, at):
        assert set(packet) <= set(NEEDED.values())
        assert one(packet, NEEDED["sequence"]) == 1
        assert one(packet, NEEDED["flags"]) == (1 if at == 0 else 2)
        for interned in packet[NEEDED["interned"]]:
            for kind, word in fields(interned):
                word = message(word)
                assert one(word, 1) not in self.words[kind], "a word that is there already"
                self.words[kind][one(word, 1)] = one(word, 2).decode("utf-8")
        for track in map(message, packet[NEEDED["track"]]):
            assert set(track) <= set(TRACK.values())
            assert one(track, 1) not in self.tracks, "a track that is there already"
            assert one(track, TRACK["parent"], 0) in (0, *self.tracks), "a parent that was not described"
            self.tracks[one(track, 1)] = track
        for event in map(message, packet[NEEDED["event"]]):
            self.event(event, one(packet, NEEDED["timestamp"], 0))

    def notes(self, event):
        return {self.words[3][one(note, 1)]: one(note, 6).decode() if 6 in note else one(note, 3, 0)
                for note in map(message, event[EVENT["annotation"]])}

    def event(self, event, time):
        assert set(event) <= set(EVENT.values())
        track = one(event, EVENT["track"])
        assert track in self.tracks, "a track that was not described"
        assert time >= self.last[track], "a track's events are in order"
        self.last[track] = time
        kind = one(event, EVENT["type"])
        if kind == SLICE_BEGIN:
            self.open[track].append((len(self.open[track]), self.words[2][one(event, EVENT["name"])],
                                     self.words[1][one(event, EVENT["category"])], time, self.notes(event)))
        elif kind == INSTANT:
            self.instants[track].append((self.words[2][one(event, EVENT["name"])], time, self.notes(event)))
        else:
            assert kind == SLICE_END
            depth, name, category, begin, notes = self.open[track].pop()
            self.slices[track].append((depth, name, category, begin, time, notes))
        for end, flows in (("from", event[EVENT["flow"]]), ("to", event[EVENT["last of flow"]])):
            for flow in flows:
                assert kind == INSTANT and end not in self.arrows[flow]
                self.arrows[flow][end] = (track, time)

    def name_of(self, track):
        described = self.tracks[track]
        if TRACK["thread"] in described:
            return one(message(one(described, TRACK["thread"])), THREAD["name"]).decode("utf-8")
        return one(described, TRACK["name"], b"").decode("utf-8")

    def tid_of(self, track):
        described = self.tracks[track]
        return one(message(one(described, TRACK["thread"])), THREAD["tid"]) if TRACK["thread"] in described else 0

    def by_name(self):
        """{name of the track: its slices, outer ones first}"""
        return self.named((place, place) for place, track in self.tracks.items() if TRACK["process"] not in track)

    def named(self, pairs):
        """{name of the first track of a pair: slices of the second}; several threads may have one name."""
        slices = defaultdict(list)
        for named, place in pairs:
            slices[self.name_of(named)] += self.slices[place]
        return {name: sorted(of_name, key=lambda s: (s[3], s[0])) for name, of_name in slices.items()}

    def by_thread(self):
        """{name of the thread: its slices}, without runs"""
        return self.named((place, place) for place in self.tracks if self.is_thread(place))

    def is_thread(self, place):
        track = self.tracks[place]
        return TRACK["thread"] in track or (one(track, TRACK["parent"], 0) == 1 and TRACK["process"] not in track)

    def runs(self):
        """{name of the thread: its runs}"""
        return self.named((one(track, TRACK["parent"]), place) for place, track in self.tracks.items()
                          if one(track, TRACK["parent"], 0) > 1)

    def processors(self):
        """{number: its runs, each named after the thread}"""
        return {int(self.name_of(place).split()[1]): self.slices[place] for place, track in self.tracks.items()
                if not one(track, TRACK["parent"], 0) and TRACK["process"] not in track}

    def drawn_arrows(self):
        """[(thread, thread, time)]"""
        for ends in self.arrows.values():
            assert ends["from"][1] == ends["to"][1]
        return sorted((self.name_of(ends["from"][0]), self.name_of(ends["to"][0]), ends["to"][1])
                      for ends in self.arrows.values())
