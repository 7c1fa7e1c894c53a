"""Protocol buffers as they are on the wire, read by field number: nothing that writes them is used."""
from collections import defaultdict


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def varints(data):
    """Those of a packed field."""
    at, values = 0, []
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def fields(data):
    """(number, value) in the order of the message: an int, or the bytes of a text or message."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 1:
            value, at = int.from_bytes(data[at:at + 8], "little"), at + 8
        elif key & 7 == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
            assert len(value) == length, "a field that goes on behind the end of its message"
        else:
            raise ValueError(f"wire type {key & 7} at byte {at}")
        yield key >> 3, value


def message(data):
    """{number: [values]}"""
    found = defaultdict(list)
    for number, value in fields(data):
        found[number].append(value)
    return found


def one(found, number, default=0):
    values = found.get(number, [default])
    assert len(values) == 1, f"field {number} is there {len(values)} times"
    return values[0]
