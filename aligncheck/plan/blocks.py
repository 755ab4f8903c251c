"""Blocks: segments that share bytes and move as one, and where each block can go. Pure arithmetic.

A block's place is the absolute offset of its first byte; an `Ask` wants something that lies
`within` bytes further to be aligned.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from aligncheck.model import (
    MAX_ALIGNMENT,
    Audit,
    Container,
    Entry,
    Request,
    Segment,
    kept_alignment,
)
from aligncheck.plan.congruence import ANYWHERE, Congruence, aligned
from aligncheck.plan.constant_layout import Arrangement, Piece

Reason = Literal["inline", "conflict", "too-large", "metadata"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A request on something in a block. `entry` is None for a request on a segment itself."""

    entry: Entry | None
    segment: int
    within: int
    request: Request

    @property
    def places(self) -> Congruence:
        """The places of the block that satisfy the request."""
        return aligned(self.request.alignment, self.within)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Segments that share bytes; `start` and `end` are absolute offsets."""

    segments: tuple[Segment, ...]
    start: int
    end: int

    @property
    def pinned(self) -> bool:
        """True if a segment's offset is not stored: such a block only moves with the base."""
        return any(segment.offset_place is None for segment in self.segments)


@dataclass(slots=True, kw_only=True)
class Placed:
    """A block with its new start, what it cannot satisfy, and new places inside it.

    `pieces` are set if the block is a constant segment whose constants are laid out anew; then
    their offsets are relative to the block.
    """

    block: Block
    start: int
    unmet: list[tuple[Ask, Reason]] = field(default_factory=list)
    pieces: Sequence[Piece] = ()

    @property
    def end(self) -> int:
        """Absolute offset of the first byte after the block, at its new place."""
        if self.pieces:
            return self.start + self.pieces[-1].new + self.pieces[-1].size
        return self.start + self.block.end - self.block.start


def place_blocks(audit: Audit) -> list[Placed]:
    """All blocks of the file in their order, each at its new place."""
    container = audit.container
    asks = _asks_by_segment(audit)
    placed: list[Placed] = []
    end = 0
    for block in blocks_of(container.segments):
        wanted = [
            Ask(
                entry=ask.entry,
                segment=ask.segment,
                within=ask.within + segment.absolute_offset - block.start,
                request=ask.request,
            )
            for segment in block.segments
            for ask in asks.get(segment.index, ())
        ]
        placed.append(_place(container, block, wanted, max(block.start, end)))
        end = placed[-1].end
    return placed


def blocks_of(segments: Iterable[Segment]) -> list[Block]:
    """The segments that hold data, those that share bytes together, in file order."""
    blocks: list[Block] = []
    for segment in sorted(
        (s for s in segments if s.size), key=lambda s: (s.absolute_offset, s.index)
    ):
        if blocks and segment.absolute_offset < blocks[-1].end:
            last = blocks.pop()
            members, start, end = (*last.segments, segment), last.start, max(last.end, segment.end)
        else:
            members, start, end = (segment,), segment.absolute_offset, segment.end
        blocks.append(Block(segments=members, start=start, end=end))
    return blocks


def pieces_of(placed: Placed) -> Sequence[Piece]:
    """What moves together in the block: all of it, unless its constants are laid out anew."""
    return placed.pieces or (Piece(old=0, new=0, size=placed.block.end - placed.block.start),)


def _asks_by_segment(audit: Audit) -> dict[int, list[Ask]]:
    """What is asked of each segment; `within` is counted from the segment's start."""
    asks: dict[int, list[Ask]] = {}
    for index, requests in enumerate(audit.segment_requests):
        for request in requests:
            asks.setdefault(index, []).append(
                Ask(entry=None, segment=index, within=0, request=request)
            )
    for entry, requests, _ in audit.judged():
        if requests and entry.segment is not None and entry.holds_data:
            offset = audit.container.segments[entry.segment].absolute_offset
            within = (entry.absolute_offset or 0) - offset
            asks.setdefault(entry.segment, []).extend(
                Ask(entry=entry, segment=entry.segment, within=within, request=request)
                for request in requests
            )
    return asks


def _place(container: Container, block: Block, asks: Sequence[Ask], start: int) -> Placed:
    """The block at the smallest place from `start` that satisfies as much as can be."""
    places, unmet = _satisfiable(block, asks)
    plain = Placed(block=block, start=places.first_from(start), unmet=unmet)
    constants = _constants_of(container, block) if unmet else []
    if not constants:
        return plain
    moved = _with_constants_moved(block, constants, asks, start)
    return moved if len(moved.unmet) < len(unmet) else plain


def _satisfiable(block: Block, asks: Iterable[Ask]) -> tuple[Congruence, list[tuple[Ask, Reason]]]:
    """Where the block can go, and what it cannot satisfy there.

    What it satisfies today stays satisfied; to that each violated request is added if it can be.
    """
    places = ANYWHERE
    for segment in block.segments:
        kept = kept_alignment(segment.absolute_offset)
        places = _both(places, aligned(kept, segment.absolute_offset - block.start)) or places
    violated: list[Ask] = []
    for ask in asks:
        if block.start in ask.places:
            places = _both(places, ask.places) or places
        else:
            violated.append(ask)
    unmet: list[tuple[Ask, Reason]] = []
    for ask in sorted(violated, key=_is_warning):
        both = _both(places, ask.places)
        if both is None:
            unmet.append((ask, "conflict"))
        elif both.modulus > MAX_ALIGNMENT and both != places:
            unmet.append((ask, "too-large"))
        else:
            places = both
    return places, unmet


def _both(places: Congruence, other: Congruence) -> Congruence | None:
    return (
        places
        if places.modulus % other.modulus == 0 and places.remainder in other
        else (places.both(other))
    )


def _with_constants_moved(
    block: Block, constants: Sequence[Entry], asks: Sequence[Ask], start: int
) -> Placed:
    """The same for a constant segment whose constants are moved inside it.

    The segment is then aligned to what its constants ask for together, and each constant's offset
    in it as well: a loader that copies the segment keeps only the latter.
    """
    places, unmet = _satisfiable(block, (ask for ask in asks if ask.entry is None))
    arrangement = Arrangement(block.segments[0], constants)
    for ask in sorted(asks, key=lambda a: (block.start not in a.places, _is_warning(a))):
        if ask.entry is None:
            continue
        together = _both(places, aligned(ask.request.alignment))
        if together is None or together.modulus > MAX_ALIGNMENT:
            unmet.append((ask, "too-large"))
        elif not arrangement.require(ask.within, ask.request.alignment):
            unmet.append((ask, "conflict"))
        else:
            places = together
    pieces = arrangement.pieces()
    return Placed(block=block, start=places.first_from(start), unmet=unmet, pieces=pieces)


def _is_warning(ask: Ask) -> bool:
    return ask.request.level == "warning"


def _constants_of(container: Container, block: Block) -> list[Entry]:
    """The constants of a block that is the constant segment and nothing else, else none."""
    index = block.segments[0].index
    if (
        len(block.segments) > 1
        or index != container.constant_segment
        or index in container.mutable_segments
    ):
        return []
    entries = [entry for entry in container.entries if entry.segment == index]
    return entries if all(entry.kind == "constant" for entry in entries) else []
