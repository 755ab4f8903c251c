"""Where each segment has to go so that all requests are met: pure arithmetic, no I/O.

In file order a segment goes to the smallest offset that meets its target and is neither before the
end of the one before it nor before its old place. Its target is what is asked of it together with
the alignment that it has, so that requests which nobody declared, and which are met today, stay so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from aligncheck.model import (
    Audit,
    Container,
    Entry,
    Finding,
    Request,
    Segment,
    kept_alignment,
)
from aligncheck.plan.blocks import Placed, Reason, pieces_of, place_blocks
from aligncheck.plan.congruence import aligned
from aligncheck.plan.constant_layout import relocated


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A segment that changes its place: absolute offsets.

    `growth` is the padding added before it, negative where existing padding is used up.
    """

    segment: int
    old: int
    new: int
    growth: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """A u64 in the metadata that changes: where it is, what it was and what it becomes."""

    place: int
    old: int
    new: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """Bytes of the old file and where they begin in the new one."""

    old: int
    new: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfixable:
    """A violated request that the plan does not meet. `entry` is None for a segment's own."""

    entry: Entry | None
    segment: int | None
    request: Request
    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A new layout for one file.

    The new file is `copies`, in order and without overlap, with zeros between them, and with
    `patches` applied; `padding` are the ranges of the old file that are not copied, which must
    hold nothing but zeros. Without moves the file stays as it is.
    """

    container: Container
    old_size: int
    new_size: int
    moves: tuple[Move, ...]
    constant_moves: tuple[tuple[Entry, int], ...]
    patches: tuple[Patch, ...]
    copies: tuple[Copy, ...]
    padding: tuple[tuple[int, int], ...]
    unfixable: tuple[Unfixable, ...]

    @property
    def changes(self) -> bool:
        """True if the new file differs from the old one."""
        return bool(self.moves or self.constant_moves)


def plan(audit: Audit) -> Plan:
    """The layout that meets every request that can be met, for an audited file.

    Nothing before the first violation moves, and nothing moves backwards. If nothing is violated
    nothing moves at all.
    """
    container = audit.container
    inline = _given_up((f for f in audit.findings if f.segment is None), "inline")
    blocked: list[Unfixable] = []
    placed: list[Placed] = []
    if not _can_move_segments(container):
        blocked = _given_up((f for f in audit.findings if f.segment is not None), "metadata")
    elif audit.findings:
        placed = place_blocks(audit)
    layout = _Layout(container, placed)
    unmet = [
        Unfixable(entry=ask.entry, segment=ask.segment, request=ask.request, reason=reason)
        for block in placed
        for ask, reason in block.unmet
    ]
    pieces = layout.copies()
    return Plan(
        container=container,
        old_size=container.size,
        new_size=max(layout.new_size, layout.empty_end),
        moves=tuple(layout.moves()),
        constant_moves=tuple(layout.constant_moves()),
        patches=tuple(layout.patches()),
        copies=tuple(pieces),
        padding=tuple(_dropped(pieces)),
        unfixable=(*blocked, *inline, *unmet),
    )


def _given_up(findings: Iterable[Finding], reason: Reason) -> list[Unfixable]:
    return [
        Unfixable(entry=finding.entry, segment=finding.segment, request=request, reason=reason)
        for finding in findings
        for request in finding.requests
    ]


def _can_move_segments(container: Container) -> bool:
    """False for a file in which the metadata and a segment overlap."""
    return all(s.absolute_offset >= container.metadata_end for s in container.segments if s.size)


class _Layout:
    """The new file, from its blocks at their new places."""

    def __init__(self, container: Container, placed: Sequence[Placed]) -> None:
        self.container = container
        self.placed = placed
        old_base = container.segment_base_offset
        self.base = next((p.start for p in placed if p.block.pinned), old_base)
        self.block_of = {s.index: p for p in placed for s in p.block.segments}
        self.old_end = placed[-1].block.end if placed else container.size
        self.new_end = placed[-1].end if placed else container.size
        self.new_size = self.new_end + container.size - self.old_end
        self.empty_end = max(
            (self.place(s) for s in container.segments if placed and self._is_kept(s)), default=0
        )

    def _is_kept(self, segment: Segment) -> bool:
        """True for an empty segment that lies in the file; one that does not may stay outside."""
        return not segment.size and segment.absolute_offset <= self.container.size

    def place(self, segment: Segment) -> int:
        """The segment's new absolute offset.

        An empty one stays where it is, as aligned as it is, unless the base passes it.
        """
        old = segment.absolute_offset
        placed = self.block_of.get(segment.index)
        if placed is not None:
            return old - placed.block.start + placed.start
        if segment.offset_place is None:
            return old - self.container.segment_base_offset + self.base
        return old if old >= self.base else aligned(kept_alignment(old)).first_from(self.base)

    def moves(self) -> Iterator[Move]:
        """The segments that move or, as the constant segment can, grow."""
        shift = 0
        for placed in self.placed:
            before, shift = shift, placed.end - placed.block.end
            for segment in placed.block.segments:
                old, new = segment.absolute_offset, self.place(segment)
                if old != new or placed.pieces:
                    yield Move(segment=segment.index, old=old, new=new, growth=shift - before)
                before = shift

    def constant_moves(self) -> Iterator[tuple[Entry, int]]:
        """The constants that move inside their segment, and their new absolute offsets."""
        for entry, old, new in self._constants():
            if old != new:
                yield entry, self.place(self.container.segments[entry.segment or 0]) + new

    def _constants(self) -> Iterator[tuple[Entry, int, int]]:
        """The constants of a segment that is laid out anew: old and new offsets in it."""
        for _, entry in self.container.others():
            placed = self.block_of.get(-1 if entry.segment is None else entry.segment)
            if entry.kind == "constant" and placed is not None and placed.pieces:
                old = (entry.absolute_offset or 0) - placed.block.start
                yield entry, old, relocated(placed.pieces, old)

    def patches(self) -> Iterator[Patch]:
        """The numbers in the metadata that change."""
        for place, old, new in (*self._header(), *self._segments(), *self._constant_offsets()):
            if old != new:
                assert place is not None, "only a block that is not moved has an offset not stored"
                yield Patch(place=place, old=old, new=new)

    def _header(self) -> Iterator[tuple[int | None, int, int]]:
        header, base = self.container.header, self.container.segment_base_offset
        if header is None or not self.placed:
            return
        yield header.base_place, base, self.base
        if header.data_size:  # 0: this writer does not fill the field in
            rest = max(0, base + header.data_size - self.old_end)
            yield header.data_size_place, header.data_size, self.new_end + rest - self.base

    def _segments(self) -> Iterator[tuple[int | None, int, int]]:
        for segment in self.container.segments if self.placed else ():
            yield segment.offset_place, segment.offset, self.place(segment) - self.base
            placed = self.block_of.get(segment.index)
            if placed is not None and placed.pieces:
                yield segment.size_place, segment.size, placed.end - placed.start

    def _constant_offsets(self) -> Iterator[tuple[int | None, int, int]]:
        for entry, old, new in self._constants():
            yield entry.place, old, new

    def copies(self) -> list[Copy]:
        """The bytes that are kept, neighbours that move alike in one piece."""
        pieces = [Copy(old=0, new=0, size=self.container.metadata_end)]
        pieces += [
            Copy(old=p.block.start + piece.old, new=p.start + piece.new, size=piece.size)
            for p in self.placed
            for piece in pieces_of(p)
        ]
        rest = self.container.size - self.old_end
        pieces.append(Copy(old=self.old_end, new=self.new_end, size=rest))
        return _merged(pieces)


def _merged(pieces: Sequence[Copy]) -> list[Copy]:
    merged: list[Copy] = []
    for piece in pieces:
        last = merged[-1] if merged else None
        if last is not None and last.new - last.old == piece.new - piece.old:
            size = piece.old + piece.size - last.old
            merged[-1] = Copy(old=last.old, new=last.new, size=size)
        else:
            merged.append(piece)
    return merged


def _dropped(copies: Sequence[Copy]) -> Iterator[tuple[int, int]]:
    """The ranges of the old file between pieces that move apart: start and end."""
    for last, following in pairwise(copies):
        if last.old + last.size < following.old:
            yield last.old + last.size, following.old
