"""Does the new file hold all that the old one held, and does it meet what the plan promised?"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from aligncheck.errors import BadFile
from aligncheck.formats.source import Source
from aligncheck.model import Audit, Container
from aligncheck.plan import Plan
from aligncheck.rewrite.copying import Range, same_bytes


def verify(
    planned: Plan,
    before: Audit,
    after: Audit,
    old: Source,
    new: Source,
    *,
    equal: Sequence[Range] = (),
) -> Iterator[tuple[int, int]]:
    """Compares the files and yields bytes done and bytes in all. Raises BadFile.

    `equal` are the ranges that were compared when they were copied, in the order in which they lie
    in the new file.
    """
    _check_findings(planned, after)
    _check_structure(before.container, after.container)
    _check_patches(planned, new)
    ranges = _merged(
        {
            *_metadata(planned),
            *_payload(planned, before.container, after.container),
            _trailing(planned, before.container, after.container),
        }
    )
    if all(at + size <= following for (_, at, size), (_, following, _) in pairwise(equal)):
        ranges = list(_except(ranges, equal))  # nothing was written over them later
    total = sum(size for _, _, size in ranges)
    done = 0
    for start, at, size in ranges:
        for count in same_bytes(old, start, new, at, size):
            done += count
            yield done, total


def _merged(ranges: Iterable[Range]) -> list[Range]:
    """The same bytes, each once: segments may overlap, one in the other a thousand times."""
    merged: list[Range] = []
    for start, at, size in sorted(ranges, key=lambda r: (r[1] - r[0], r[0])):
        if merged:
            last, last_at, last_size = merged[-1]
            if at - start == last_at - last and start <= last + last_size:
                merged[-1] = last, last_at, max(last_size, start + size - last)
                continue
        merged.append((start, at, size))
    return merged


def _except(ranges: Iterable[Range], equal: Iterable[Range]) -> Iterator[Range]:
    """What of the ranges is not in those that are known to be equal."""
    known: dict[int, list[tuple[int, int]]] = {}
    for start, at, size in _merged(equal):
        known.setdefault(at - start, []).append((start, start + size))
    for start, at, size in ranges:
        position, end, shift = start, start + size, at - start
        spans = known.get(shift, [])
        for index in range(max(0, bisect_left(spans, (start,)) - 1), len(spans)):
            known_start, known_end = spans[index]
            if known_start >= end:
                break
            if position < known_start:
                yield position, position + shift, known_start - position
            position = max(position, known_end)
        if position < end:
            yield position, position + shift, end - position


def _check_findings(planned: Plan, after: Audit) -> None:
    """Raises BadFile if anything is violated that the plan did not give up."""
    given_up = {(u.entry.name if u.entry else None, u.segment) for u in planned.unfixable}
    for finding in after.findings:
        name = finding.entry.name if finding.entry else None
        if (name, finding.segment) not in given_up:
            found = f"{name or 'a segment'} is still violated ({finding.rule})"
            raise BadFile(after.container.path, found, place=f"byte {finding.absolute_offset}")


def _check_structure(old: Container, new: Container) -> None:
    """Raises BadFile unless both have the same segments and the same entries in them."""
    same = [(e.kind, e.name, e.segment, e.size, e.backend, e.method) for e in old.entries] == [
        (e.kind, e.name, e.segment, e.size, e.backend, e.method) for e in new.entries
    ]
    if not same or len(old.segments) != len(new.segments):
        raise BadFile(new.path, "does not have the entries and segments of the old file")


def _check_patches(planned: Plan, new: Source) -> None:
    """Raises BadFile unless each number that was to change has its new value."""
    for patch in planned.patches:
        found = int.from_bytes(new.read(patch.place, 8), "little")
        if found != patch.new:
            raise BadFile(new.path, f"is {found}, not {patch.new}", place=f"byte {patch.place}")


def _metadata(planned: Plan) -> Iterator[Range]:
    """The header and the flatbuffer, but for the numbers that change."""
    position = 0
    for place in sorted(patch.place for patch in planned.patches):
        yield position, position, place - position
        position = place + 8
    yield position, position, planned.container.metadata_end - position


def _payload(planned: Plan, old: Container, new: Container) -> Iterator[Range]:
    """Every segment, and in a constant segment that is laid out anew every constant."""
    anew = old.constant_segment if planned.constant_moves else None
    for was, now in zip(old.segments, new.segments, strict=True):
        if was.index != anew:
            yield was.absolute_offset, now.absolute_offset, was.size
    if anew is None:
        return
    offsets = [entry.absolute_offset or 0 for entry in old.entries if entry.segment == anew]
    stops = sorted({*offsets, old.segments[anew].end})
    for was_entry, now_entry in zip(old.entries, new.entries, strict=True):
        if was_entry.segment == anew:
            start, size = was_entry.absolute_offset or 0, was_entry.size
            if size is None:  # to the next constant, or to the segment's end
                size = stops[min(bisect_right(stops, start), len(stops) - 1)] - start
            yield start, now_entry.absolute_offset or 0, size


def _trailing(planned: Plan, old: Container, new: Container) -> Range:
    """What follows the last segment; nothing in a file that is only copied."""
    start = max((segment.end for segment in old.segments if segment.size), default=old.size)
    at = max((segment.end for segment in new.segments if segment.size), default=new.size)
    return start, at, max(0, planned.old_size - start)
