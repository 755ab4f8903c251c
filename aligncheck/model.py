"""What a file holds, what was asked of it, and what was found: frozen data, no I/O.

All offsets and sizes are in bytes. "Absolute" means from the file's first byte; a segment's own
`offset` is relative to the container's segment base offset, as stored.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

Format = Literal["pte", "ptd"]
Kind = Literal["named_data", "constant", "delegate"]
Level = Literal["error", "warning"]
Cause = Literal["segment-base", "shared-segment", "offset"]

U64 = 2**64
MAX_ALIGNMENT = 2**30
"""The largest alignment that can be asked for: 1 GiB."""
KEPT_ALIGNMENT = 2**16
"""An alignment that data has without being asked is kept by a fix, up to 64 KiB."""


def alignment_of(offset: int) -> int | None:
    """The largest power of two that divides `offset`; None for 0, which every number divides."""
    return math.gcd(offset, U64) if offset else None


def kept_alignment(offset: int) -> int:
    """What a fix keeps of the alignment that an offset has."""
    return math.gcd(offset, KEPT_ALIGNMENT)


def lcm_of(alignments: Iterable[int]) -> int:
    """The least common multiple; 1 for none.

    Stops past 2**64: no offset but 0 is a multiple of such a number, so the rest cannot matter.
    """
    result = 1
    for alignment in alignments:
        result = math.lcm(result, alignment)
        if result > U64:
            break
    return result


class Header(NamedTuple):
    """The fields of a file header that concern segments, and where their bytes are.

    `data_size` is None where the header has no such field (a .pte header under 32 bytes).
    """

    length: int
    base_place: int
    data_size: int | None
    data_size_place: int | None


class Segment(NamedTuple):
    """One `DataSegment`.

    A place is the absolute offset of a stored u64, or None where the field has its default value 0
    and therefore no bytes in the file.
    """

    index: int  # type: ignore[assignment] # takes the place of tuple.index
    offset: int
    size: int
    absolute_offset: int
    offset_place: int | None
    size_place: int | None

    @property
    def end(self) -> int:
        """Absolute offset of the first byte after the segment."""
        return self.absolute_offset + self.size


class Entry(NamedTuple):
    """A piece of data that somebody may want aligned.

    `segment` is None for inline data. `absolute_offset` is None for data that is not stored, `size`
    is None where the file does not tell it. `place` is where a constant's offset is stored.
    `backend` and `method` are a delegate's, and so is `uses`: the keys of the named data that its
    payload refers to, where this package can read that.
    """

    kind: Kind
    name: str
    segment: int | None
    absolute_offset: int | None
    size: int | None
    place: int | None = None
    backend: str | None = None
    method: str | None = None
    uses: tuple[str, ...] = ()

    @property
    def holds_data(self) -> bool:
        """False for an entry without bytes: it has no alignment to lose."""
        return self.absolute_offset is not None and self.size != 0


class Container(NamedTuple):
    """One file's layout: a header and a flatbuffer (up to `metadata_end`), then segments.

    `entries` are the named data, of which there may be millions, then constants and delegates.
    `header` is None for a .pte without an extended header. `constant_segment` and
    `mutable_segments` are segment indexes; `dirty_padding` are the ranges between metadata and
    segments that were found not to be zero, of the padding that was looked at.
    """

    path: str
    format: Format
    size: int
    metadata_end: int
    header: Header | None
    segment_base_offset: int
    segments: tuple[Segment, ...]
    entries: tuple[Entry, ...]
    constant_segment: int | None = None
    mutable_segments: tuple[int, ...] = ()
    dirty_padding: tuple[tuple[int, int], ...] = ()

    @property
    def named_data(self) -> tuple[Entry, ...]:
        """The entries that are named data."""
        return self.entries[: self._named]

    def others(self) -> Iterator[tuple[int, Entry]]:
        """The entries that are not, with their indexes."""
        return enumerate(self.entries[self._named :], start=self._named)

    @property
    def _named(self) -> int:
        return bisect_left(self.entries, True, key=lambda entry: entry.kind != "named_data")


class Request(NamedTuple):
    """Somebody's wish: an alignment in bytes, any positive integer. `origin` says whose it is."""

    alignment: int
    origin: str
    level: Level = "error"


class Finding(NamedTuple):
    """A violated request.

    `entry` is None where the segment itself was asked for. `requests` are those that the offset
    does not meet; `required` is the LCM of all of the subject's requests, `remainder` what
    `absolute_offset` leaves modulo that. `others` are what other names for the same data ask for;
    `sharer` is the one with the weaker request, for the cause `shared-segment`.
    """

    rule: str
    level: Level
    entry: Entry | None
    segment: int | None
    absolute_offset: int
    required: int
    remainder: int
    cause: Cause
    requests: tuple[Request, ...]
    others: tuple[Request, ...] = ()
    sharer: str | None = None

    @property
    def actual(self) -> int | None:
        """The alignment that the data really has."""
        return alignment_of(self.absolute_offset)


class Remark(NamedTuple):
    """Something odd about a file that is no violated request.

    Which fields are set depends on the rule: `key` for a name, `path` for the sidecar it stands
    in, `other` for a second segment, `absolute_offset` and `size` for a place in the file.
    """

    rule: str
    level: Level
    key: str | None = None
    path: str | None = None
    segment: int | None = None
    other: int | None = None
    absolute_offset: int | None = None
    size: int | None = None


class Audit(NamedTuple):
    """One file's result.

    `requests[i]` are the requests on `container.entries[i]`, `users[i]` the names of the delegates
    that are known to use it, and `segment_requests[i]` the requests on segment i itself.
    `unmatched` are the declared keys that no entry of the file answers to, `unresolved` the keys
    that a delegate of the file uses and no file that is known has.
    """

    container: Container
    requests: tuple[tuple[Request, ...], ...]
    segment_requests: tuple[tuple[Request, ...], ...]
    findings: tuple[Finding, ...]
    remarks: tuple[Remark, ...] = ()
    users: tuple[tuple[str, ...], ...] = ()
    unmatched: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()

    @property
    def violations(self) -> int:
        """How many findings and remarks are errors."""
        levels = [*(f.level for f in self.findings), *(r.level for r in self.remarks)]
        return levels.count("error")

    @property
    def warnings(self) -> int:
        """How many findings and remarks are warnings."""
        return len(self.findings) + len(self.remarks) - self.violations

    @property
    def unknown(self) -> int:
        """How many named data entries nobody is known to have asked anything for."""
        return self.requests[: len(self.container.named_data)].count(())

    def judged(self) -> Iterator[tuple[Entry, tuple[Request, ...], bool]]:
        """Each entry with its requests, and whether they are all met."""
        for entry, asked in zip(self.container.entries, self.requests, strict=True):
            yield entry, asked, meets(entry, asked)

    def segment_targets(self) -> tuple[int, ...]:
        """For each segment, the LCM of all requests on it: its own and its entries'.

        A constant asks at its own place in the segment and is left out here.
        """
        targets = [lcm_of(r.alignment for r in asked) for asked in self.segment_requests]
        for entry, asked, _ in self.judged():
            if entry.segment is not None and entry.kind != "constant" and entry.holds_data:
                own = (r.alignment for r in asked)
                targets[entry.segment] = lcm_of((targets[entry.segment], *own))
        return tuple(targets)


def meets(entry: Entry, asked: tuple[Request, ...]) -> bool:
    """True if the entry's absolute offset is a multiple of every request's alignment."""
    offset = entry.absolute_offset
    if offset is None or entry.size == 0:
        return True
    return all(offset % request.alignment == 0 for request in asked)
