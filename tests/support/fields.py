"""Where the numbers of a file stand that lead to other places in it: what an attacker would change.

Found with the flatbuffers package's accessors and the slots of program.fbs and flat_tensor.fbs.
Reads well-formed files only.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import NamedTuple

_PTE_HEADER = ((0, 4), (12, 4), (16, 8), (24, 8), (32, 8))
_HEADERS = {b"ET12": _PTE_HEADER, b"FT01": (*_PTE_HEADER, (40, 8))}
_NAMED = {0: "text", 1: "4"}
_SUBSEGMENTS = {0: "4", 1: "8*"}
_SCHEMA: Mapping[str, Mapping[int, str]] = {
    "FT01": {0: "4", 1: "DataSegment*", 2: "NamedData*"},
    "ET12": {
        0: "4",
        1: "ExecutionPlan*",
        2: "Bytes*",
        3: "Bytes*",
        4: "DataSegment*",
        5: "Subsegments",
        6: "Subsegments*",
        7: "NamedData*",
    },
    "DataSegment": {0: "8", 1: "8"},
    "NamedData": _NAMED,
    "Subsegments": _SUBSEGMENTS,
    "Bytes": {0: "text"},
    "ExecutionPlan": {0: "text", 2: "EValue*", 7: "Delegate*"},
    "EValue": {0: "1", 1: "Tensor"},
    "Tensor": {0: "1", 2: "4*", 5: "4", 6: "Nothing", 9: "Extra"},
    "Nothing": {},
    "Extra": {1: "text", 2: "1"},
    "Delegate": {0: "text", 1: "Reference"},
    "Reference": {0: "1", 1: "4"},
}
"""A number of bytes, the name of a table, or with a star a vector of either."""
_TENSOR = 5


class Place(NamedTuple):
    """Where a number stands, and how many bytes it has."""

    at: int
    width: int


def places(data: bytes) -> list[Place]:
    """All numbers of a file that an offset, a length, an index or a count is made of."""
    identifier = data[4:8]
    known = _HEADERS[identifier] if data[8:12] in {b"eh00", b"FH01"} else _PTE_HEADER[:1]
    root = struct.unpack_from("<I", data)[0]
    found = {*(Place(*pair) for pair in known), *_table(data, root, identifier.decode())}
    return sorted(found)


def _table(data: bytes, at: int, kind: str) -> Iterator[Place]:
    vtable = at - struct.unpack_from("<i", data, at)[0]
    (size,) = struct.unpack_from("<H", data, vtable)
    yield Place(at, 4)
    yield from (Place(vtable + 2 * index, 2) for index in range(size // 2))
    for slot, field in _SCHEMA[kind].items():
        entry = 4 + 2 * slot
        start = struct.unpack_from("<H", data, vtable + entry)[0] if entry < size else 0
        if start and not _is_other_value(data, at, vtable, kind, slot):
            yield from _field(data, at + start, field)


def _is_other_value(data: bytes, at: int, vtable: int, kind: str, slot: int) -> bool:
    """True for a union's value that is no tensor."""
    return kind == "EValue" and slot == 1 and data[at + data[vtable + 4]] != _TENSOR


def _field(data: bytes, at: int, field: str) -> Iterator[Place]:
    if field.isdigit():
        yield Place(at, int(field))
        return
    yield Place(at, 4)
    target = at + struct.unpack_from("<I", data, at)[0]
    if field == "text":
        yield Place(target, 4)
    elif field.endswith("*"):
        yield from _vector(data, target, field[:-1])
    else:
        yield from _table(data, target, field)


def _vector(data: bytes, at: int, element: str) -> Iterator[Place]:
    (count,) = struct.unpack_from("<I", data, at)
    yield Place(at, 4)
    width = int(element) if element.isdigit() else 4
    for index in range(count):
        yield from _field(data, at + 4 + width * index, element)
