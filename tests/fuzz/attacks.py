"""Small files that were made to be expensive: sharing multiplies what a reader has to do.

Each takes a size, about the bytes of the file, so that one can see how its cost grows.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping

from tests.support.build import Named, Offsets, Ptd, Segment
from tests.support.flat import Bytes, Number, Numbers, Table, Tables, Text, encode

Slots = Mapping[int, Table | Tables]
INLINE = Table({0: Number("I8", 0), 1: Number("U32", 0)})
"""A delegate's reference to the first inline payload."""
_DIMENSION = 2**31 - 1


def one_method_many_times(size: int) -> bytes:
    """Methods that are all one, with a long list of delegates."""
    delegate = Table({0: Text("Backend"), 1: INLINE})
    method = Table({0: Text("forward"), 7: Tables([delegate] * (size // 8))})
    return _program({1: Tables([method] * (size // 8)), 3: _inline(b"payload")})


def a_long_name_many_times(size: int) -> bytes:
    """Named data that are all one, with a long key."""
    named = Table({0: Text("k" * (size // 2))})
    segments = Tables([Table({1: Number("U64", 0)})])
    return _program({4: segments, 7: Tables([named] * (size // 8))})


def a_long_method_with_many_delegates(size: int) -> bytes:
    """A delegate is called by its method's name: a long one, for many delegates."""
    delegate = Table({0: Text("Backend"), 1: INLINE})
    method = Table({0: Text("m" * (size // 2)), 7: Tables([delegate] * (size // 8))})
    return _program({1: Tables([method]), 3: _inline(b"payload")})


def many_delegates_with_many_uses(size: int) -> bytes:
    """Many delegates that share a payload, which uses many keys."""
    keys = [Table({2: Text(f"{index:x}")}) for index in range(size // 64)]
    delegate = Table({0: Text("XnnpackBackend"), 1: INLINE})
    method = Table({0: Text("m"), 7: Tables([delegate] * (size // 8))})
    return _program({1: Tables([method]), 3: _inline(_xnnpack(keys))})


def overlapping_payloads(size: int) -> bytes:
    """Delegates whose payloads are nearly the whole file, each a little shorter."""
    count = size // 64
    delegates = [
        Table({0: Text("XnnpackBackend"), 1: Table({0: Number("I8", 1), 1: Number("U32", i)})})
        for i in range(count)
    ]
    payload = _xnnpack([Table({2: Text("key")})] * (size // 8))
    segments = [
        Table({0: Number("U64", i), 1: Number("U64", len(payload) - i)}) for i in range(count)
    ]
    fields: Slots = {1: Tables([Table({0: Text("m"), 7: Tables(delegates)})]), 4: Tables(segments)}
    return _with_payload(fields, payload)


def many_dimensions(size: int) -> bytes:
    """A constant of so many dimensions that the number of its bytes is a long one."""
    sizes = Numbers("I32", [_DIMENSION] * (size // 4))
    tensor = Table({2: sizes, 5: Number("U32", 1)})
    method = Table({0: Text("m"), 2: Tables([Table({0: Number("U8", 5), 1: tensor})])})
    constants = Table({1: Numbers("U64", [0, 0])})
    segments = Tables([Table({1: Number("U64", 0)})])
    return _program({1: Tables([method]), 4: segments, 5: constants})


def one_constant_many_times(size: int) -> bytes:
    """Constants at an odd offset: a finding each."""
    offsets = Offsets(0, [0, *[1] * (size // 8)])
    constants = Table({1: Numbers("U64", offsets.offsets)})
    payload = bytes(64)
    fields: Slots = {4: Tables([Table({1: Number("U64", len(payload))})]), 5: constants}
    return _with_payload(fields, payload)


def nested_segments(size: int) -> bytes:
    """Segments that are nearly all of the data, each a little shorter: to be moved as one."""
    data = b"x" * size
    count = size // 64
    inner = [Segment(offset=1 + i, size=size - i) for i in range(1, count)]
    named = [Named("key", 0)]
    return Ptd(segments=[Segment(data, offset=1), *inner], named=named).build().data


ATTACKS: Mapping[str, Callable[[int], bytes]] = {
    attack.__name__: attack
    for attack in (
        one_method_many_times,
        a_long_name_many_times,
        a_long_method_with_many_delegates,
        many_delegates_with_many_uses,
        overlapping_payloads,
        many_dimensions,
        one_constant_many_times,
        nested_segments,
    )
}


def _program(slots: Slots) -> bytes:
    """A program without a header."""
    return encode(Table(slots), b"ET12").data


def _with_payload(slots: Slots, payload: bytes) -> bytes:
    """A program with a header and, as the data of its segments, a payload."""
    body = _program(slots)
    end = len(body) + 32
    base = -(-end // 128) * 128
    head = struct.pack(
        "<I4s4sIQQQ",
        int.from_bytes(body[:4], "little") + 32,
        b"ET12",
        b"eh00",
        32,
        end,
        base,
        len(payload),
    )
    return (head + body[8:]).ljust(base, b"\0") + payload


def _inline(payload: bytes) -> Tables:
    return Tables([Table({0: Bytes(payload)})])


def _xnnpack(keys: list[Table]) -> bytes:
    """An XNNPACK payload whose constants have these tables."""
    graph = encode(Table({8: Tables(keys)}), b"XN01").data
    header = struct.pack("<4x4sHIIIQ", b"XH00", 30, 32, len(graph), 32 + len(graph), 0)
    return header + b"\0\0" + graph
