"""The parts of a file to build. `Pte` and `Ptd` in tests/support/build.py are made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Span(NamedTuple):
    """Absolute offset and size in bytes."""

    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Segment:
    """Data, placed at `offset` from the segment base.

    Without an offset it comes after the segment before, at a multiple of `alignment` (else the
    file's `segment_alignment`); an empty one gets offset 0. `size` is what the file claims instead
    of the true size.
    """

    data: bytes = b""
    offset: int | None = None
    size: int | None = None
    alignment: int | None = None

    @property
    def claimed_size(self) -> int:
        return len(self.data) if self.size is None else self.size


class Named(NamedTuple):
    """A named datum. A key that is None is left out; bytes need not be UTF-8."""

    key: str | bytes | None
    segment: int


class Offsets(NamedTuple):
    """A constant segment or a mutable segment. Its first offset is a placeholder."""

    segment: int
    offsets: Sequence[int]


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor value. `buffer` is the index of its constant; element type 0 is a byte."""

    name: str | None
    sizes: Sequence[int] = ()
    buffer: int = 0
    scalar_type: int = 0
    planned: bool = False
    external: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Delegate:
    """A delegate. Its payload is in a segment or, by index, among the inline delegates.

    `location` is written as it is, for values that mean neither; without `processed` the delegate
    does not say where its payload is.
    """

    backend: str | None = "Backend"
    segment: int | None = None
    inline: int | None = None
    location: int | None = None
    processed: bool = True

    @property
    def stored_location(self) -> int:
        return int(self.segment is not None) if self.location is None else self.location


@dataclass(frozen=True, slots=True)
class Method:
    """A method with its tensors (other values: None) and delegates."""

    name: str | None = "forward"
    delegates: Sequence[Delegate] = ()
    values: Sequence[Tensor | None] = ()
