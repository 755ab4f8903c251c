"""A file's layout as a picture, to scale: pure geometry."""

from __future__ import annotations

from collections.abc import Iterator

from aligncheck.model import Audit
from aligncheck.outcome import Outcome
from aligncheck.report import prose
from aligncheck.report.picture.closeup import closeups
from aligncheck.report.picture.rows import rows
from aligncheck.report.picture.shapes import CELL, Box, Drawing, Label, Mark, Scale, Shape, fitted
from aligncheck.report.picture.states import State, states
from aligncheck.report.picture.strip import HEIGHT, strip
from aligncheck.report.picture.table import Table

WIDTH = 1160
_LEFT, _RIGHT = 20.0, WIDTH - 20.0
_LEGEND = {
    "header": "header",
    "metadata": "metadata",
    "padding": "padding",
    "segment": "segment",
    "trailing": "after the segments",
    "violated": "violated",
}


def draw(audit: Audit, outcome: Outcome) -> Drawing:
    """The picture: the whole file, close-ups of what is violated, and what the file holds."""
    before, after = states(audit, outcome)
    shapes: list[Shape] = [*_head(before, outcome), *_legend(72)]
    size = max(before.container.size, after.container.size if after else 0)
    scale = Scale(x=_LEFT, width=_RIGHT - _LEFT, start=0, end=size)
    y = 108.0
    for state, name in _named(before, after, applied=outcome.applied):
        shapes += strip(state, name, scale, y)
        y += HEIGHT
    for part in closeups(before, after, left=_LEFT, right=_RIGHT, y=y):
        shapes += part.shapes
        y = part.end
    found = rows(audit, before, after)
    table = Table(found, moves=after is not None, size=size, left=_LEFT, right=_RIGHT)
    shapes += table.shapes(y)
    title = f"Layout of {prose.shown(outcome.path)}"
    return Drawing(title=title, width=WIDTH, height=y + table.height, shapes=tuple(shapes))


def _named(before: State, after: State | None, *, applied: bool) -> Iterator[tuple[State, str]]:
    if after is None:
        yield before, "The whole file, to scale"
    else:
        yield before, f"Before: {prose.counted(before.container.size, 'byte')}"
        verb = "After" if applied else "After a fix"
        yield after, f"{verb}: {prose.counted(after.container.size, 'byte')}"


def _head(before: State, outcome: Outcome) -> Iterator[Shape]:
    """The file's name and the facts."""
    container = before.container
    width = _RIGHT - _LEFT
    name = fitted(outcome.path, width * 0.7)
    title = prose.shown(outcome.path, 4096)
    yield Label(x=_LEFT, y=30, text=name, kind="name", width=width, title=title)
    facts = (
        f".{container.format}, {prose.counted(container.size, 'byte')}",
        f"segment base offset {container.segment_base_offset}",
        prose.counted(len(container.segments), "segment"),
        prose.counted(len(container.entries), "entry"),
        f"{len(before.violations):,} violated" if before.violations else "nothing violated",
    )
    yield Label(x=_LEFT, y=52, text=" · ".join(facts), kind="dim")


def _legend(y: float) -> Iterator[Shape]:
    x = _LEFT
    for kind, word in _LEGEND.items():
        yield Box(x=x, y=y, width=14, height=12, kind=kind)
        if kind == "violated":
            yield Mark(x=x + 7, y=y - 1)
        yield Label(x=x + 20, y=y + 10, text=word, kind="dim")
        x += 20 + len(word) * CELL + 26
