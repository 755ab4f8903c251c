"""A second reader, for what a fix has written: the flatbuffers package's accessors and no more.

It shares no code with aligncheck. It reads well-formed files only, and trusts them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from flatbuffers import encode, number_types
from flatbuffers.table import Table

from tests.support.spec import Span

_IN_SEGMENT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Peek:
    """What a file says of itself. Offsets are absolute; `offsets` are the segments' as stored.

    `data_size` is None where the header has no such field. `constants` are the constant segment's,
    without the placeholder; `delegates` are the segments of those that have one.
    """

    metadata_end: int
    base: int
    data_size: int | None
    offsets: tuple[int, ...]
    segments: tuple[Span, ...]
    named: tuple[tuple[str, int], ...]
    constants: tuple[int, ...] = ()
    delegates: tuple[int | None, ...] = ()

    def offset_of(self, key: str) -> int:
        """Where the named data with a key begins."""
        (segment,) = {segment for name, segment in self.named if name == key}
        return self.segments[segment].offset


def peek(data: bytes) -> Peek:
    """Reads a file of either format, of which only the metadata has to be given."""
    return _ptd(data) if data[4:8] == b"FT01" else _pte(data)


def _ptd(data: bytes) -> Peek:
    start, size, base, data_size = struct.unpack_from("<QQQQ", data, 16)
    root = _root(data)
    offsets = tuple(_segments(root, 1))
    return Peek(
        metadata_end=start + size,
        base=base,
        data_size=data_size,
        offsets=tuple(offset for offset, _ in offsets),
        segments=tuple(Span(base + offset, size) for offset, size in offsets),
        named=tuple(_named(root, 2)),
    )


def _pte(data: bytes) -> Peek:
    length, end, base, data_size = struct.unpack_from("<IQQQ", data, 12)
    if data[8:12] != b"eh00":
        length, end, base = 0, len(data), 0
    root = _root(data)
    offsets = tuple(_segments(root, 4))
    spans = tuple(Span(base + offset, size) for offset, size in offsets)
    return Peek(
        metadata_end=end,
        base=base,
        data_size=data_size if length >= 32 else None,
        offsets=tuple(offset for offset, _ in offsets),
        segments=spans,
        named=tuple(_named(root, 7)),
        constants=tuple(_constants(root, spans)),
        delegates=tuple(_delegates(root)),
    )


def _root(data: bytes) -> Table:
    return Table(bytearray(data), encode.Get(encode.packer.uoffset, data, 0))


def _number(table: Table, slot: int, flags: type = number_types.Uint64Flags) -> int:
    field = table.Offset(4 + 2 * slot)
    return int(table.Get(flags, field + table.Pos)) if field else 0


def _child(table: Table, slot: int) -> Table | None:
    field = table.Offset(4 + 2 * slot)
    return Table(table.Bytes, table.Indirect(field + table.Pos)) if field else None


def _children(table: Table, slot: int) -> Iterator[Table]:
    field = table.Offset(4 + 2 * slot)
    for index in range(table.VectorLen(field) if field else 0):
        yield Table(table.Bytes, table.Indirect(table.Vector(field) + 4 * index))


def _segments(root: Table, slot: int) -> Iterator[tuple[int, int]]:
    for segment in _children(root, slot):
        yield _number(segment, 0), _number(segment, 1)


def _named(root: Table, slot: int) -> Iterator[tuple[str, int]]:
    for named in _children(root, slot):
        key = named.String(named.Offset(4) + named.Pos).decode()
        yield key, _number(named, 1, number_types.Uint32Flags)


def _constants(root: Table, spans: tuple[Span, ...]) -> Iterator[int]:
    table = _child(root, 5)
    field = table.Offset(6) if table else 0
    if table and field:
        start = spans[_number(table, 0, number_types.Uint32Flags)].offset
        for index in range(1, table.VectorLen(field)):
            place = table.Vector(field) + 8 * index
            yield start + int(table.Get(number_types.Uint64Flags, place))


def _delegates(root: Table) -> Iterator[int | None]:
    for method in _children(root, 1):
        for delegate in _children(method, 7):
            processed = _child(delegate, 1)
            assert processed is not None
            stored = _number(processed, 0, number_types.Int8Flags) == _IN_SEGMENT
            yield _number(processed, 1, number_types.Uint32Flags) if stored else None
