"""The rows under a picture: what a file holds, in its order, with neighbours put together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from aligncheck.model import Audit, Container, alignment_of
from aligncheck.report import prose
from aligncheck.report.layout import Region, regions
from aligncheck.report.picture.states import State, Violation, told

LIMIT = 64
"""More rows than these are not read, and make a picture too large."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A region, a violated entry (`violated` is 1 then), or a group of both.

    `start` and `end` are offsets in the old layout, `new_start` and `new_end` in the new one.
    """

    kind: str
    label: str
    start: int
    end: int
    new_start: int | None = None
    new_end: int | None = None
    size: int
    required: int | None = None
    violated: int = 0
    segments: tuple[int, ...] = ()
    title: str = ""

    @property
    def actual(self) -> int | None:
        """The alignment that a single piece of data has."""
        return alignment_of(self.start) if self.kind in {"segment", "violated"} else None


def rows(audit: Audit, before: State, after: State | None) -> list[Row]:
    """Every region but padding, and every violation, in groups if they are too many."""
    found = list(_rows(audit, before, after.container if after else None))
    return found if len(found) <= LIMIT else list(_grouped(found))


def _rows(audit: Audit, before: State, after: Container | None) -> Iterator[Row]:
    names = _names(before.container)
    targets = audit.segment_targets()
    violations: dict[int | None, list[Violation]] = {}
    for violation in before.violations:
        violations.setdefault(violation.segment, []).append(violation)
    for region in regions(before.container):
        index = region.segment.index if region.segment else None
        if region.kind != "padding" and (region.size or index in violations):
            yield _region(region, names, targets, after)
        if region.kind in {"metadata", "segment"}:
            yield from (_violation(item, after) for item in violations.pop(index, ()))
    for rest in violations.values():  # of segments without data that lie outside the file
        yield from (_violation(item, after) for item in rest)


def _region(
    region: Region, names: dict[int, list[str]], targets: Sequence[int], after: Container | None
) -> Row:
    start, end, segment = region.offset, region.offset + region.size, region.segment
    if segment is None:
        return Row(kind=region.kind, label=region.kind, start=start, end=end, size=region.size)
    held = names.get(segment.index, [])
    moved = after.segments[segment.index] if after else None
    required = targets[segment.index]
    return Row(
        kind="segment",
        label=_label(segment.index, held),
        start=start,
        end=end,
        new_start=moved.absolute_offset if moved else None,
        new_end=moved.end if moved else None,
        size=region.size,
        required=required if required > 1 else None,
        segments=(segment.index,),
        title=_title(segment.index, start, region.size, held),
    )


def _label(index: int, held: list[str]) -> str:
    if not held:
        return f"{index}"
    return f"{index}  {held[0]}" + (f" +{len(held) - 1}" if len(held) > 1 else "")


def _title(index: int, start: int, size: int, held: list[str]) -> str:
    some = [*(prose.shown(name) for name in held[:8])]
    if len(held) > 8:
        some.append(f"and {len(held) - 8} more")
    return "\n".join((f"segment {index} at {start}, {prose.counted(size, 'byte')}", *some))


def _violation(item: Violation, after: Container | None) -> Row:
    new = item.offset_in(after) if after else None
    return Row(
        kind="violated",
        label=item.name,
        start=item.offset,
        end=item.offset + item.size,
        new_start=new,
        new_end=None if new is None else new + item.size,
        size=item.size,
        required=item.required,
        violated=1,
        title=told(item),
    )


def _names(container: Container) -> dict[int, list[str]]:
    names: dict[int, list[str]] = {}
    for entry in container.entries:
        if entry.segment is not None:
            names.setdefault(entry.segment, []).append(entry.name)
    for index in container.mutable_segments:
        names.setdefault(index, []).append("initial values of mutable buffers")
    return names


def _grouped(found: list[Row]) -> Iterator[Row]:
    """Runs of rows that nothing is wrong with are divided into groups; the others stay.

    If that leaves too many, violated rows go into the groups as well, where they are counted.
    """
    runs = [(plain, list(run)) for plain, run in groupby(found, _is_plain)]
    kept = sum(len(run) for plain, run in runs if not plain)
    room = LIMIT - kept - sum(plain for plain, _ in runs)
    if room > 0:
        size = -(-(len(found) - kept) // room)
        for plain, run in runs:
            yield from _divided(run, size) if plain else run
        return
    size = -(-len(found) // (LIMIT - 4))
    for inner, same in groupby(found, lambda row: row.kind in {"segment", "violated"}):
        run = list(same)
        yield from _divided(run, size) if inner else run


def _is_plain(row: Row) -> bool:
    return row.kind == "segment"


def _divided(run: list[Row], size: int) -> Iterator[Row]:
    for first in range(0, len(run), size):
        some = run[first : first + size]
        yield some[0] if len(some) == 1 else _group(some)


def _group(some: list[Row]) -> Row:
    held = [row for row in some if row.kind == "segment"]
    indexes = sorted(index for row in held for index in row.segments)
    violated = sum(row.violated for row in some)
    what = f"{violated:,} violated" if violated else prose.counted(len(indexes), "segment")
    label = f"{indexes[0]} to {indexes[-1]}: {what}" if indexes else what
    return Row(
        kind="group",
        label=label,
        start=min(row.start for row in some),
        end=max(row.end for row in some),
        new_start=_least(row.new_start for row in some),
        new_end=_most(row.new_end for row in some),
        size=sum(row.size for row in held or some),
        violated=violated,
        segments=tuple(indexes),
        title=label,
    )


def _least(numbers: Iterable[int | None]) -> int | None:
    return min((number for number in numbers if number is not None), default=None)


def _most(numbers: Iterable[int | None]) -> int | None:
    return max((number for number in numbers if number is not None), default=None)
