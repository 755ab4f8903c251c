"""A file as one bar, to scale."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from aligncheck.model import Container
from aligncheck.report import prose
from aligncheck.report.layout import Region, regions
from aligncheck.report.picture.shapes import Box, Label, Line, Mark, Scale, Shape, short
from aligncheck.report.picture.states import State, Violation, told

HEIGHT = 92
_BAR = 30
_TOGETHER = 9
"""Marks that are closer than this are put together."""


def strip(state: State, name: str, scale: Scale, y: float) -> Iterator[Shape]:
    """The whole file, with marks above it and offsets under it."""
    yield Label(x=scale.x, y=y + 8, text=name, kind="head")
    top = y + 26
    yield from bars(state.container, scale, top, _BAR)
    yield from _violated(state.violations, scale, top)
    yield Box(x=scale.x, y=top, width=scale.width, height=_BAR, kind="frame")
    step = _tick_step(scale.end)
    for offset in range(0, int(scale.end) + 1, step):
        x = scale.at(offset)
        yield Line(x1=x, y1=top + _BAR, x2=x, y2=top + _BAR + 4)
        near_end = x > scale.x + scale.width - 40
        yield Label(x=x, y=top + _BAR + 16, text=short(offset), kind="dim", end=near_end)


def _tick_step(size: float) -> int:
    """A power of two that divides a size into about eight parts."""
    step = 1
    while step * 9 < size:
        step *= 2
    return step


def bars(container: Container, scale: Scale, y: float, height: float) -> Iterator[Shape]:
    """The regions on a line; neighbours that are too narrow to be seen are put together."""
    some: list[Region] = []
    for region in regions(container):
        start, end = region.offset, region.offset + region.size
        if not region.size or not scale.shows(start, end):
            continue
        some.append(region)
        if scale.at(end) - scale.at(some[0].offset) >= 1:
            yield _bar(some, scale, y, height)
            some = []
    if some:
        yield _bar(some, scale, y, height)


def _bar(some: list[Region], scale: Scale, y: float, height: float) -> Box:
    start, end = some[0].offset, max(region.offset + region.size for region in some)
    largest = max(some, key=lambda region: region.size)
    x, width = scale.box(start, end)
    if len(some) == 1:
        index = "" if largest.segment is None else f" {largest.segment.index}"
        title = f"{largest.kind}{index} at {start}, {prose.counted(largest.size, 'byte')}"
    else:
        title = f"{len(some)} regions from {start} to {end}"
    return Box(x=x, y=y, width=width, height=height, kind=largest.kind, title=title)


def _violated(violations: Iterable[Violation], scale: Scale, y: float) -> Iterator[Shape]:
    """What is violated, over the regions; close ones share a mark and, if need be, a box."""
    some: list[Violation] = []
    last = -1.0
    for violation in violations:
        x, width = scale.box(violation.offset, violation.offset + violation.size, 3)
        if x > last:
            title = told(violation)
            yield Box(x=x, y=y, width=width, height=_BAR, kind="violated", title=title)
            last = x + width - 2
        if some and x - scale.at(some[0].offset) > _TOGETHER:
            yield _mark(some, scale, y)
            some = []
        some.append(violation)
    if some:
        yield _mark(some, scale, y)


def _mark(some: list[Violation], scale: Scale, y: float) -> Mark:
    x, width = scale.box(some[0].offset, some[0].offset + some[0].size, 3)
    title = told(some[0]) if len(some) == 1 else f"{len(some)} violated"
    return Mark(x=x + min(width, 3) / 2, y=y - 2, title=title)
