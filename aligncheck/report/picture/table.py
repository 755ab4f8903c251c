"""What a file holds, as a table: each row with its place in the file."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from aligncheck.report.picture.rows import Row
from aligncheck.report.picture.shapes import (
    CELL,
    Box,
    Label,
    Line,
    Mark,
    Scale,
    Shape,
    fitted,
    short,
)

_NAMES = 300.0


class Table:
    """The rows as a table, each with its place in the file."""

    step = 20

    def __init__(
        self, found: list[Row], *, moves: bool, size: int, left: float, right: float
    ) -> None:
        self.found = found
        self.moves = moves
        self.left = left
        self.right = right
        self.columns: dict[str, float] = {}
        x = left + _NAMES
        for name in ("offset", "new", "size", "has", "needs"):
            if name != "new" or moves:
                x += 72 if name in {"has", "needs"} else max(CELL * len(str(size)), 44) + 18
                self.columns[name] = x
        self.scale = Scale(x=x + 24, width=right - x - 24, start=0, end=size)

    @property
    def height(self) -> float:
        """Of the whole table."""
        return (len(self.found) + 2) * self.step

    def shapes(self, y: float) -> Iterator[Shape]:
        """Heading and rows."""
        yield Label(x=self.left, y=y + 14, text="What it holds", kind="head")
        for name, x in self.columns.items():
            yield Label(x=x, y=y + 14, text=name, kind="dim", end=True)
        place = "place: before above, after below" if self.moves else "place"
        yield Label(x=self.scale.x, y=y + 14, text=place, kind="dim")
        yield Line(x1=self.left, y1=y + 22, x2=self.right, y2=y + 22)
        yield from chain.from_iterable(
            self._row(row, y + (number + 1) * self.step + 6)
            for number, row in enumerate(self.found)
        )

    def _row(self, row: Row, y: float) -> Iterator[Shape]:
        indent = 34 if row.kind == "violated" else 20
        kind = "bad" if row.violated else ""
        if row.violated:
            yield Mark(x=self.left + indent - 12, y=y + 15)
        else:
            yield Box(x=self.left + 2, y=y + 5, width=10, height=10, kind=row.kind)
        room = _NAMES - indent
        yield Label(
            x=self.left + indent,
            y=y + 14,
            text=fitted(row.label, room),
            kind=kind,
            width=room,
            title=row.title,
        )
        for name, text in self._numbers(row):
            yield Label(x=self.columns[name], y=y + 14, text=text, kind=kind, end=True)
        yield from self._place(row, y)

    def _numbers(self, row: Row) -> Iterator[tuple[str, str]]:
        yield "offset", str(row.start)
        if self.moves and row.new_start is not None:
            yield "new", str(row.new_start)
        yield "size", str(row.size)
        if row.actual is not None:
            yield "has", short(row.actual)
        if row.required is not None:
            yield "needs", short(row.required)

    def _place(self, row: Row, y: float) -> Iterator[Shape]:
        tall = 5 if self.moves else 10
        yield Box(x=self.scale.x, y=y + 5, width=self.scale.width, height=11, kind="track")
        kind = "violated" if row.violated else row.kind
        x, width = self.scale.box(row.start, row.end, 2)
        yield Box(x=x, y=y + 5.5, width=width, height=tall, kind=kind, title=row.title)
        if self.moves:
            start, end = row.new_start, row.new_end
            if start is None or end is None:
                start, end = row.start, row.end
            x, width = self.scale.box(start, end, 2)
            below = "segment" if row.kind == "violated" else row.kind
            yield Box(x=x, y=y + 10.5, width=width, height=tall, kind=below, title=row.title)
