"""What .pte and .ptd share: segments, and the checks that they lie inside the file."""

from __future__ import annotations

from collections.abc import Iterable

from aligncheck.errors import BadFile
from aligncheck.formats.source import Source
from aligncheck.formats.tables import U64, Table
from aligncheck.model import U64 as U64_RANGE
from aligncheck.model import Segment


class DataSegment(Table):
    """schema/program.fbs and extension/flat_tensor/serialize/flat_tensor.fbs, the same in both."""

    offset = U64(0)
    size = U64(1)


def read_segments(source: Source, base: int, tables: Iterable[DataSegment]) -> tuple[Segment, ...]:
    """The segments of a file whose segment base offset is `base`.

    Raises BadFile for a segment that holds data outside the file, or where nothing can be held.
    """
    segments = tuple(
        Segment(
            index=index,
            offset=table.offset,
            size=table.size,
            absolute_offset=base + table.offset,
            offset_place=table.place("offset"),
            size_place=table.place("size"),
        )
        for index, table in enumerate(tables)
    )
    for segment in segments:
        _check(source, base, segment)
    return segments


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
        raise BadFile(source.path, found, place=place, hint="was it downloaded completely?")


def segment_index(source: Source, segments: tuple[Segment, ...], index: int, place: str) -> int:
    """`index`, checked to be one of the segments."""
    if index >= len(segments):
        found = f"is {index}, but the file has {len(segments)} segments"
        raise BadFile(source.path, found, place=place)
    return index
