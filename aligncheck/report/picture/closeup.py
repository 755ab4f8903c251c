"""Close-ups of what is violated, between the boundaries that it misses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from aligncheck.model import Container
from aligncheck.report import prose
from aligncheck.report.picture.shapes import (
    Box,
    Label,
    Line,
    Mark,
    Scale,
    Shape,
    fitted,
    short,
)
from aligncheck.report.picture.states import State, Violation, told
from aligncheck.report.picture.strip import bars

LIMIT = 6
"""More close-ups than these are not read."""
_WORDS = 360
_BAR = 16
_STEP = 54


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some shapes, and where the next ones can begin."""

    shapes: tuple[Shape, ...]
    end: float


def closeups(
    before: State, after: State | None, *, left: float, right: float, y: float
) -> Iterator[Part]:
    """One for each place at which something is violated, up to a number."""
    if not before.violations:
        return
    heading = Label(x=left, y=y + 8, text="What is violated", kind="head")
    yield Part(shapes=(heading,), end=y + 26)
    y += 26
    chosen = _places(before)
    for item, others in chosen[:LIMIT]:
        closeup = _Closeup(item=item, others=others, left=left, right=right)
        shapes = list(closeup.before(before.container, y))
        y += _STEP
        if after is not None:
            shapes += closeup.after(after.container, y)
            y += _STEP
        yield Part(shapes=tuple(shapes), end=y + 4)
        y += 4
    if len(chosen) > LIMIT:
        text = f"and {prose.counted(len(chosen) - LIMIT, 'place')} more"
        yield Part(shapes=(Label(x=left, y=y + 10, text=text, kind="dim"),), end=y + 30)


def _places(before: State) -> list[tuple[Violation, int]]:
    """The first violation at each place, and how many more there are."""
    places: dict[tuple[int, int], list[Violation]] = {}
    for item in before.violations:
        places.setdefault((item.offset, item.required), []).append(item)
    return [(items[0], len(items) - 1) for items in places.values()]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Closeup:
    """A piece of the file that begins before one boundary and ends after the next."""

    item: Violation
    others: int
    left: float
    right: float

    def before(self, container: Container, y: float) -> Iterator[Shape]:
        """Where it lies, and how far it is from the boundary before."""
        item = self.item
        more = f", and {self.others} more here" if self.others else ""
        yield from self._words(item.name, f"at {item.offset} needs {short(item.required)}{more}", y)
        low = item.offset - item.remainder
        scale = self._scale(low)
        yield from self._line(container, scale, low, y)
        yield from self._data(scale, item.offset, "violated", y)
        x1, x2 = scale.at(low), scale.at(item.offset)
        yield Mark(x=x2 + 1.5, y=y + 8, title=told(item))
        text = f"{item.remainder} past"
        if x2 - x1 > len(text) * 8 + 12:
            yield Line(x1=x1, y1=y + 4, x2=x2 - 7, y2=y + 4, kind="gap")
            yield Label(x=x1 + 6, y=y, text=text, kind="dim")
        else:
            yield Label(x=x2 + 10, y=y + 6, text=text, kind="dim")

    def after(self, container: Container, y: float) -> Iterator[Shape]:
        """Where it lies after the fix: on a boundary, unless it could not be fixed."""
        item = self.item
        offset = item.offset_in(container)
        remainder = offset % item.required
        words = f"not fixed: {remainder} past" if remainder else f"after the fix at {offset}"
        yield from self._words("", words, y)
        low = offset - remainder if remainder else offset - item.required
        scale = self._scale(low)
        yield from self._line(container, scale, low, y)
        yield from self._data(scale, offset, "violated" if remainder else "fixed", y)

    def _scale(self, low: int) -> Scale:
        required = self.item.required
        x = self.left + _WORDS
        start, end = low - required / 8, low + required * 13 / 8
        return Scale(x=x, width=self.right - x, start=start, end=end)

    def _words(self, name: str, words: str, y: float) -> Iterator[Shape]:
        room = _WORDS - 20
        if name:
            text, title = fitted(name, room), prose.shown(name)
            yield Label(x=self.left, y=y + 14, text=text, kind="bad", width=room, title=title)
        yield Label(x=self.left, y=y + 30 if name else y + 22, text=words, kind="dim")

    def _line(self, container: Container, scale: Scale, low: int, y: float) -> Iterator[Shape]:
        """The regions there, and the boundaries with their offsets."""
        top = y + 10
        yield Box(x=scale.x, y=top, width=scale.width, height=_BAR, kind="track")
        yield from bars(container, scale, top, _BAR)
        for offset in (low, low + self.item.required):
            x = scale.at(offset)
            yield Line(x1=x, y1=top - 6, x2=x, y2=top + _BAR + 6, kind="boundary")
            yield Label(x=x + 4, y=top + _BAR + 12, text=str(offset), kind="dim")

    def _data(self, scale: Scale, offset: int, kind: str, y: float) -> Iterator[Shape]:
        x, width = scale.box(offset, offset + self.item.size, 3)
        yield Box(x=x, y=y + 10, width=width, height=_BAR, kind=kind)
