"""A new layout inside the constant segment: pure arithmetic, offsets relative to the segment."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from aligncheck.model import Entry, Segment, kept_alignment
from aligncheck.plan.congruence import ANYWHERE, Congruence, aligned


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Bytes that keep together: where they begin, old and new, and how many."""

    old: int
    new: int
    size: int


@dataclass(slots=True)
class _Group:
    """A stretch of the old segment that keeps together, and the offsets where it may go."""

    start: int
    end: int
    places: Congruence


class Arrangement:
    """New places for the constants of a segment, in their order."""

    def __init__(self, segment: Segment, constants: Iterable[Entry]) -> None:
        self._groups = _groups(segment, constants)
        self._starts = [group.start for group in self._groups]

    def require(self, offset: int, alignment: int) -> bool:
        """Asks for the alignment of what is at an offset of the old segment.

        False, and nothing changes, where constants that overlap it allow no such place.
        """
        group = self._groups[bisect_right(self._starts, offset) - 1]
        places = group.places.both(aligned(alignment, offset - group.start))
        if places is not None:
            group.places = places
        return places is not None

    def pieces(self) -> tuple[Piece, ...]:
        """Each stretch, as far forward as it can be but not before its old place."""
        pieces: list[Piece] = []
        end = 0
        for group in self._groups:
            new = group.places.first_from(max(group.start, end))
            pieces.append(Piece(old=group.start, new=new, size=group.end - group.start))
            end = new + group.end - group.start
        return tuple(pieces)


def relocated(pieces: Sequence[Piece], offset: int) -> int:
    """Where an offset of the old segment is in the new one."""
    piece = pieces[bisect_right(pieces, offset, key=lambda p: p.old) - 1]
    return offset - piece.old + piece.new


def _groups(segment: Segment, constants: Iterable[Entry]) -> list[_Group]:
    """The stretches of a segment, the padding between them left out.

    A constant of unknown size reaches to the next one, the last one to the segment's end; bytes
    before the first are a stretch of their own.
    """
    ends = _ends(segment, constants)
    offsets = sorted(ends)
    groups = [_Group(0, offsets[0], ANYWHERE)] if offsets[0] else []
    for offset, following in zip(offsets, [*offsets[1:], None], strict=True):
        end = segment.size if following is None else (ends[offset] or following)
        if groups and offset < groups[-1].end:
            groups[-1].end = max(groups[-1].end, end)
        else:
            groups.append(_Group(offset, end, _kept(offset)))
    return groups


def _kept(offset: int) -> Congruence:
    return aligned(kept_alignment(offset)) if offset else ANYWHERE


def _ends(segment: Segment, constants: Iterable[Entry]) -> dict[int, int | None]:
    """Where the largest constant at each offset ends; None if that is not known."""
    ends: dict[int, int | None] = {}
    for constant in constants:
        offset = (constant.absolute_offset or 0) - segment.absolute_offset
        end = None if constant.size is None else offset + constant.size
        known = ends.get(offset, offset)
        ends[offset] = None if end is None or known is None else max(end, known)
    return ends
