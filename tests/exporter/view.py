"""Where things lie in a file: the form in which two decoders are compared. Needs no torch.

Offsets are absolute, sizes and offsets in bytes. A view has a JSON form (see `as_json`), in which
`tests/data/truth.json` keeps what upstream's decoders say of the sample files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from aligncheck import Container, Entry

Format = Literal["pte", "ptd"]


class Span(NamedTuple):
    """A segment."""

    offset: int
    size: int


class Named(NamedTuple):
    """A named datum, or a constant."""

    name: str
    segment: int | None
    offset: int | None
    size: int | None


class Delegate(NamedTuple):
    """A delegate's payload; its segment is None where it lies in the flatbuffer."""

    method: str | None
    backend: str | None
    segment: int | None
    offset: int | None
    size: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One file as a decoder sees it; everything in the file's order."""

    format: Format
    segment_base_offset: int
    segments: tuple[Span, ...]
    named_data: tuple[Named, ...]
    constants: tuple[Named, ...] = ()
    delegates: tuple[Delegate, ...] = ()
    mutable_segments: tuple[int, ...] = ()


def view_of(container: Container) -> View:
    """What aligncheck says of a file."""
    entries = container.entries
    return View(
        format=container.format,
        segment_base_offset=container.segment_base_offset,
        segments=tuple(Span(s.absolute_offset, s.size) for s in container.segments),
        named_data=tuple(_named(entry) for entry in entries if entry.kind == "named_data"),
        constants=tuple(_named(entry) for entry in entries if entry.kind == "constant"),
        delegates=tuple(_delegate(entry) for entry in entries if entry.kind == "delegate"),
        mutable_segments=container.mutable_segments,
    )


def _named(entry: Entry) -> Named:
    return Named(entry.name, entry.segment, entry.absolute_offset, entry.size)


def _delegate(entry: Entry) -> Delegate:
    return Delegate(entry.method, entry.backend, entry.segment, entry.absolute_offset, entry.size)


def as_json(view: View) -> dict[str, Any]:
    """A view as it looks after a round trip through JSON."""
    return {
        "format": view.format,
        "segment_base_offset": view.segment_base_offset,
        "segments": [list(span) for span in view.segments],
        "named_data": [list(named) for named in view.named_data],
        "constants": [list(constant) for constant in view.constants],
        "delegates": [list(delegate) for delegate in view.delegates],
        "mutable_segments": list(view.mutable_segments),
    }
