"""What .pte and .ptd share: segments, and the checks that they lie inside the file."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from operator import attrgetter

from aligncheck.errors import BadFile
from aligncheck.formats.columns import Columns
from aligncheck.formats.source import Source
from aligncheck.formats.tables import U32, U64, Table, TableVector, Text
from aligncheck.model import U64 as U64_RANGE
from aligncheck.model import Entry, Segment

_absolute_offset = attrgetter("absolute_offset")
_CUT = "was it downloaded completely?"
PADDING_LOOKED_AT = 2**20
PADDING_RANGES = 1024


class DataSegment(Table):
    """schema/program.fbs and extension/flat_tensor/serialize/flat_tensor.fbs, the same in both."""

    offset = U64(0)
    size = U64(1)


class NamedData(Table):
    """The same two; in a .ptd a third field holds the layout of a tensor."""

    key = Text(0)
    segment_index = U32(1)


def check_ends(source: Source, *ends: tuple[str, int]) -> None:
    """Raises BadFile for a header's field that points outside the file: its place and its end."""
    for place, end in ends:
        if end > source.size:
            found = f"is {end}, but the file has {source.size} bytes"
            raise BadFile(source.path, found, place=place, hint=_CUT)


def read_segments(
    source: Source, base: int, tables: TableVector[DataSegment]
) -> tuple[Segment, ...]:
    """The segments of a file whose segment base offset is `base`.

    Raises BadFile for a segment that holds data outside the file, or where nothing can be held.
    """
    columns = Columns(tables)
    offsets, sizes = columns.numbers("offset"), columns.numbers("size")
    rows = zip(
        range(len(tables)),
        offsets,
        sizes,
        (base + offset for offset in offsets),
        columns.places("offset"),
        columns.places("size"),
        strict=True,
    )
    segments = tuple(map(Segment._make, rows))
    for segment, size in zip(segments, sizes, strict=True):
        if not base or segment.absolute_offset + size > source.size:
            _check(source, base, segment)
    return segments


def read_named_data(
    source: Source, tables: TableVector[NamedData], segments: tuple[Segment, ...]
) -> tuple[Entry, ...]:
    """The named data. Raises BadFile for a missing key or a segment that is not there."""
    columns = Columns(tables)
    keys, indexes = columns.texts("key"), columns.numbers("segment_index")
    del columns  # a million tables' places, not needed any more
    if None in keys:  # the runtime finds nothing in a file where one is missing
        place = f"named_data[{keys.index(None)}].key"
        raise BadFile(source.path, "is missing", place=place)
    for index in {index for index in indexes if index >= len(segments)}:
        place = f"named_data[{indexes.index(index)}].segment_index"
        segment_index(source, segments, index, place)
    offsets = [segment.absolute_offset for segment in segments]
    sizes = [segment.size for segment in segments]
    rows = zip(
        repeat("named_data"),
        keys,
        indexes,
        map(offsets.__getitem__, indexes),
        map(sizes.__getitem__, indexes),
        *(repeat(None),) * 3,
        repeat(()),
    )
    return tuple(map(Entry._make, rows))


def _check(source: Source, base: int, segment: Segment) -> None:
    place = f"segments[{segment.index}]"
    if segment.end >= U64_RANGE:
        found = f"base {base} + offset {segment.offset} + size {segment.size} does not fit 64 bits"
        raise BadFile(source.path, found, place=place)
    if segment.size and not base:
        found = f"holds {segment.size} bytes, but the file has no segment base offset"
        raise BadFile(source.path, found, place=place)
    if segment.size and segment.end > source.size:
        found = (
            f"ends at byte {segment.end} (base {base} + offset {segment.offset} + size"
            f" {segment.size}), but the file has {source.size}"
        )
        raise BadFile(source.path, found, place=place, hint=_CUT)


def dirty_padding(
    source: Source, metadata_end: int, segments: Iterable[Segment]
) -> tuple[tuple[int, int], ...]:
    """The ranges before, between and not after segments that hold something else than zeros.

    Reading stops after 1 MiB and after 1024 ranges: an audit must not cost what the file weighs.
    """
    found: list[tuple[int, int]] = []
    looked = ranges = 0
    position = metadata_end
    for segment in sorted((s for s in segments if s.size), key=_absolute_offset):
        size = segment.absolute_offset - position
        if size > 0:
            looked, ranges = looked + size, ranges + 1
            if looked > PADDING_LOOKED_AT or ranges > PADDING_RANGES:
                break
            if source.read(position, size).strip(b"\0"):
                found.append((position, segment.absolute_offset))
        position = max(position, segment.end)
    return tuple(found)


def segment_index(source: Source, segments: tuple[Segment, ...], index: int, place: str) -> int:
    """`index`, checked to be one of the segments."""
    if index >= len(segments):
        found = f"is {index}, but the file has {len(segments)} segments"
        raise BadFile(source.path, found, place=place)
    return index
