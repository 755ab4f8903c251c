"""What a drawing is made of: shapes at places, in pixels from the upper left corner."""

from __future__ import annotations

from dataclasses import dataclass
from unicodedata import combining, east_asian_width

from aligncheck.report import prose

CELL = 7.3
"""The width of a character in the monospaced fonts that are asked for, at the size of all text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A filled rectangle; `kind` says how it looks, `title` is told on pointing at it."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A line of text: `x` is its end if `end` is set. With a `width` it is cut off there."""

    x: float
    y: float
    text: str
    kind: str = ""
    end: bool = False
    width: float = 0
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A straight line."""

    x1: float
    y1: float
    x2: float
    y2: float
    kind: str = "axis"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A triangle that points down to its place: here something is violated."""

    x: float
    y: float
    title: str = ""


Shape = Box | Label | Line | Mark


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A whole picture; `title` says what is on it."""

    title: str
    width: float
    height: float
    shapes: tuple[Shape, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Offsets in a file as places on a line."""

    x: float
    width: float
    start: float
    end: float

    def at(self, offset: float) -> float:
        """Where an offset is; at an end of the line if it lies beyond."""
        share = (offset - self.start) / max(self.end - self.start, 1)
        return self.x + self.width * min(max(share, 0), 1)

    def shows(self, start: float, end: float) -> bool:
        """True if a part of a range of offsets is on the line."""
        return start < self.end and end > self.start

    def box(self, start: int, end: int, least: float = 1) -> tuple[float, float]:
        """Place and width of a range of offsets, at least so wide and not over the line's end."""
        width = max(self.at(end) - self.at(start), least)
        return min(self.at(start), self.x + self.width - width), width


def fitted(text: str, width: float) -> str:
    """Text as it can be shown, cut so that it probably fits into a width."""
    room = int(width / CELL)
    text = prose.shown(text, max(room, 8))
    used = 0
    for index, character in enumerate(text):
        used += _cells(character)
        if used > room:
            return text[: max(index - 1, 0)] + "…"
    return text


def _cells(character: str) -> int:
    return 0 if combining(character) else 1 + (east_asian_width(character) in "WF")


def short(number: int) -> str:
    """A size or an alignment: in binary units where that is exact, never longer than 9."""
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if number >= unit and number % unit == 0 and number < 10000 * unit:
            return f"{number // unit} {name}"
    return str(number) if number < 10**9 else f"{number:.2e}"
