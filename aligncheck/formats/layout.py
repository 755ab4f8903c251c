"""What .pte and .ptd share: segments, and the checks that they lie inside the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from operator import add, attrgetter
from typing import cast

from aligncheck.errors import BadFile
from aligncheck.formats.columns import Block, blocks
from aligncheck.formats.source import Source
from aligncheck.formats.tables import U32, U64, Table, TableVector, Text
from aligncheck.model import U64 as U64_RANGE
from aligncheck.model import Entry, Segment

_absolute_offset = attrgetter("absolute_offset")
_new = tuple.__new__  # half the price of calling a NamedTuple, for those that there are millions of
_CUT = "was it downloaded completely?"
PADDING_LOOKED_AT = 2**20
PADDING_RANGES = 1024
_PAGE = 4096


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
    return tuple(chain.from_iterable(_segments(source, base, block) for block in blocks(tables)))


def _segments(source: Source, base: int, block: Block[DataSegment]) -> list[Segment]:
    offsets, sizes = block.numbers("offset"), block.numbers("size")
    absolute = [base + offset for offset in offsets]
    places = block.places("offset"), block.places("size")
    rows = zip(block.indexes, offsets, sizes, absolute, *places, strict=True)
    segments = [_new(Segment, row) for row in rows]
    if not base or max(map(add, absolute, sizes)) > source.size:
        for segment in segments:
            _check(source, base, segment)
    return segments


def read_keys(
    source: Source, tables: TableVector[NamedData], segments: tuple[Segment, ...]
) -> tuple[list[str], list[Segment]]:
    """The key and the segment of each named datum.

    Raises BadFile for a missing key or a segment that is not there.
    """
    keys: list[str] = []
    owners: list[Segment] = []
    for block in blocks(tables):
        keys += _keys(source, block)
        indexes = block.numbers("segment_index")
        if max(indexes) >= len(segments):
            for at, index in zip(block.indexes, indexes, strict=True):
                segment_index(source, segments, index, f"named_data[{at}].segment_index")
        owners += map(segments.__getitem__, indexes)
    return keys, owners


def _keys(source: Source, block: Block[NamedData]) -> list[str]:
    """The keys. The runtime finds nothing in a file where one is missing."""
    keys = block.texts("key")
    if None in keys:
        place = f"named_data[{block.indexes[keys.index(None)]}].key"
        raise BadFile(source.path, "is missing", place=place)
    return cast("list[str]", keys)


def named_entries(keys: list[str], owners: list[Segment]) -> tuple[Entry, ...]:
    """The named data, from what `read_keys` gives.

    That these are two steps lets a caller forget the flatbuffer between them, which is as large as
    all keys are.
    """
    pairs = zip(keys, owners, strict=True)
    return tuple(
        [
            _new(Entry, ("named_data", key, index, absolute, size, None, None, None, ()))
            for key, (index, _, size, absolute, _, _) in pairs
        ]
    )


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
    left = PADDING_LOOKED_AT
    read, at = b"", 0  # to the end of a page: the system reads it anyway
    for start, end in islice(_gaps(metadata_end, segments), PADDING_RANGES):
        left -= end - start
        if left < 0:
            break
        if end > at + len(read):
            page_end = -(-end // _PAGE) * _PAGE
            read, at = source.read(start, min(page_end, source.size) - start), start
        if read[start - at : end - at].strip(b"\0"):
            found.append((start, end))
    return tuple(found)


def _gaps(position: int, segments: Iterable[Segment]) -> Iterator[tuple[int, int]]:
    """The ranges from a position on that lie before or between segments."""
    for _, _, size, start, _, _ in sorted([s for s in segments if s.size], key=_absolute_offset):
        if start > position:
            yield position, start
        position = max(position, start + size)


def segment_index(source: Source, segments: tuple[Segment, ...], index: int, place: str) -> int:
    """`index`, checked to be one of the segments."""
    if index >= len(segments):
        found = f"is {index}, but the file has {len(segments)} segments"
        raise BadFile(source.path, found, place=place)
    return index
