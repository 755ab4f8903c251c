"""The layout of a file as regions that cover it from the first byte to the last."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from aligncheck.model import Container, Segment

RegionKind = Literal["header", "metadata", "padding", "segment", "trailing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A stretch of a file: absolute offset and size in bytes; `segment` for a segment's region."""

    kind: RegionKind
    offset: int
    size: int
    segment: Segment | None = None


def regions(container: Container) -> Iterator[Region]:
    """Header, metadata, padding, segments and what follows the last, in file order.

    Segments that overlap are each given whole. An empty segment that points outside the file, as
    its offset is free to do, is left out.
    """
    header = 8 + container.header.length if container.header else 0
    header = min(header, container.metadata_end)
    if header:
        yield Region(kind="header", offset=0, size=header)
    yield Region(kind="metadata", offset=header, size=container.metadata_end - header)
    position = container.metadata_end
    inside = (s for s in container.segments if s.end <= container.size)
    for segment in sorted(inside, key=lambda s: (s.absolute_offset, s.end, s.index)):
        if segment.absolute_offset > position:
            yield _gap("padding", position, segment.absolute_offset)
        yield Region(
            kind="segment", offset=segment.absolute_offset, size=segment.size, segment=segment
        )
        position = max(position, segment.end)
    if position < container.size:
        yield _gap("trailing", position, container.size)


def _gap(kind: RegionKind, start: int, end: int) -> Region:
    return Region(kind=kind, offset=start, size=end - start)
