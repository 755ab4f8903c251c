"""What a picture shows: a file's layout, what is violated in it, and the layout after a fix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from aligncheck.model import Audit, Container, Entry, lcm_of, meets
from aligncheck.outcome import Outcome
from aligncheck.plan import Plan
from aligncheck.report import prose


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """An entry, or a segment where `entry` is None, that violates what was asked of it."""

    name: str
    entry: int | None
    segment: int | None
    offset: int
    size: int
    required: int

    @property
    def remainder(self) -> int:
        """How far it lies behind the last multiple of what is required."""
        return self.offset % self.required

    def offset_in(self, container: Container) -> int:
        """Where the same data lies in another layout of the file."""
        if self.entry is not None:
            return container.entries[self.entry].absolute_offset or 0
        assert self.segment is not None, "what is no entry is a segment"
        return container.segments[self.segment].absolute_offset


def told(item: Violation) -> str:
    """A violation in one line."""
    return (
        f"{prose.shown(item.name)} at {item.offset} is {item.remainder} past a multiple of"
        f" {item.required}"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A layout and its violations, in the order of their offsets."""

    container: Container
    violations: tuple[Violation, ...]


def states(audit: Audit, outcome: Outcome) -> tuple[State, State | None]:
    """The layout before, and the one after a fix that was made or planned and moves something.

    The audit of a fixed file is one of the new layout; its requests are those of the old one too.
    """
    plan = outcome.plan
    if plan is None or not plan.changes:
        return _state(audit.container, audit), None
    after = audit.container if outcome.applied else planned(plan)
    return _state(plan.container, audit), _state(after, audit)


def _state(container: Container, audit: Audit) -> State:
    found = (*_entries(container, audit), *_segments(container, audit))
    return State(container=container, violations=tuple(sorted(found, key=lambda v: v.offset)))


def _entries(container: Container, audit: Audit) -> Iterator[Violation]:
    for index, (entry, asked) in enumerate(zip(container.entries, audit.requests, strict=True)):
        if entry.absolute_offset is not None and not meets(entry, asked):
            yield Violation(
                name=entry.name,
                entry=index,
                segment=entry.segment,
                offset=entry.absolute_offset,
                size=entry.size or 0,
                required=lcm_of(request.alignment for request in asked),
            )


def _segments(container: Container, audit: Audit) -> Iterator[Violation]:
    for segment, asked in zip(container.segments, audit.segment_requests, strict=True):
        required = lcm_of(request.alignment for request in asked)
        if segment.absolute_offset % required:
            yield Violation(
                name=f"segment {segment.index}",
                entry=None,
                segment=segment.index,
                offset=segment.absolute_offset,
                size=segment.size,
                required=required,
            )


def planned(plan: Plan) -> Container:
    """The layout that a plan leads to."""
    old = plan.container
    numbers: dict[int | None, int] = {patch.place: patch.new for patch in plan.patches}
    moves = {move.segment: move.new for move in plan.moves}
    segments = tuple(
        segment._replace(
            absolute_offset=moves.get(segment.index, segment.absolute_offset),
            offset=numbers.get(segment.offset_place, segment.offset),
            size=numbers.get(segment.size_place, segment.size),
        )
        for segment in old.segments
    )
    constants = dict(plan.constant_moves)
    return old._replace(
        size=plan.new_size,
        segments=segments,
        entries=tuple(_moved(entry, moves, constants, old) for entry in old.entries),
    )


def _moved(
    entry: Entry, moves: dict[int, int], constants: dict[Entry, int], old: Container
) -> Entry:
    if entry in constants:
        return entry._replace(absolute_offset=constants[entry])
    if entry.absolute_offset is None or entry.segment not in moves:
        return entry
    shift = moves[entry.segment] - old.segments[entry.segment].absolute_offset
    return entry._replace(absolute_offset=entry.absolute_offset + shift)
