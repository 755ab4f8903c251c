"""Is the layout itself sound? Checks of a container that nobody has to ask for.

ExecuTorch's runtime refuses next to nothing of what is told here: runtime/executor/program.cpp,
pte_data_map.cpp and extension/flat_tensor/flat_tensor_data_map.cpp check that each segment lies in
the file, not how segments lie to one another. Only a key that is there twice is refused, where the
data of several files is merged (extension/named_data_map/merged_data_map.cpp).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

from aligncheck.model import Container, Remark, Segment

_PARTS = 16


def check_overlap(container: Container) -> Iterator[Remark]:
    """AC301: two segments share some of their bytes, but are not the same."""
    widest: Segment | None = None
    for segment in _by_offset(container):
        same = widest is not None and _range(widest) == _range(segment)
        if widest is not None and segment.absolute_offset < widest.end and not same:
            yield Remark(
                rule="AC301",
                level="error",
                segment=segment.index,
                other=widest.index,
                absolute_offset=segment.absolute_offset,
            )
        if widest is None or segment.end > widest.end:
            widest = segment


def check_order(container: Container) -> Iterator[Remark]:
    """AC302: a segment lies before one with a lower index."""
    holding = [segment for segment in container.segments if segment.size]
    for last, segment in pairwise(holding):
        if segment.absolute_offset < last.absolute_offset:
            yield Remark(
                rule="AC302",
                level="warning",
                segment=segment.index,
                other=last.index,
                absolute_offset=segment.absolute_offset,
            )


def check_keys(container: Container) -> Iterator[Remark]:
    """AC303: a key is there twice; the runtime only ever finds the first.

    An error if the two name different segments.
    """
    if not _repeat(container):
        return
    seen: dict[str, int | None] = {}
    for entry in container.named_data:
        if entry.name in seen:
            yield Remark(
                rule="AC303",
                level="warning" if seen[entry.name] == entry.segment else "error",
                key=entry.name,
                segment=entry.segment,
                other=seen[entry.name],
                absolute_offset=entry.absolute_offset,
            )
        seen.setdefault(entry.name, entry.segment)


def check_padding(container: Container) -> Iterator[Remark]:
    """AC304: bytes that belong to no segment are not zero."""
    for start, end in container.dirty_padding:
        yield Remark(rule="AC304", level="warning", absolute_offset=start, size=end - start)


def check_data_size(container: Container) -> Iterator[Remark]:
    """AC305: the header's segment data size ends before the segments do."""
    header = container.header
    if header is None or not header.data_size:
        return
    stated = container.segment_base_offset + header.data_size
    if stated == container.size:
        return
    beyond = [s for s in container.segments if s.size and s.absolute_offset + s.size > stated]
    if beyond:
        last = max(beyond, key=lambda segment: segment.end)
        yield Remark(
            rule="AC305",
            level="warning",
            segment=last.index,
            absolute_offset=stated,
            size=last.end - stated,
        )


def check_metadata(container: Container) -> Iterator[Remark]:
    """AC306: a segment begins before the metadata ends."""
    for segment in _by_offset(container):
        if segment.absolute_offset < container.metadata_end:
            yield Remark(
                rule="AC306",
                level="error",
                segment=segment.index,
                absolute_offset=segment.absolute_offset,
                size=container.metadata_end - segment.absolute_offset,
            )


CHECKS: tuple[Callable[[Container], Iterator[Remark]], ...] = (
    check_keys,
    check_padding,
    check_data_size,
)
CHECKS_OF_DISORDER: tuple[Callable[[Container], Iterator[Remark]], ...] = (
    check_overlap,
    check_order,
    check_metadata,
)
"""These find nothing where the segments follow the metadata and one another."""


def remarks(container: Container) -> list[Remark]:
    """All that is odd about a layout, by rule."""
    checks = CHECKS if _is_in_order(container) else (*CHECKS, *CHECKS_OF_DISORDER)
    return sorted((r for check in checks for r in check(container)), key=lambda r: r.rule)


def _repeat(container: Container) -> bool:
    """True if any key is there twice.

    They are sorted out first, since one set of a million keys takes half as much as the keys do.
    """
    parts: list[list[str]] = [[] for _ in range(_PARTS)]
    for entry in container.named_data:
        key = entry.name
        parts[hash(key) % _PARTS].append(key)
    return any(len(set(part)) < len(part) for part in parts)


def _is_in_order(container: Container) -> bool:
    end = container.metadata_end
    for _, _, size, absolute_offset, _, _ in container.segments:
        if size:
            if absolute_offset < end:
                return False
            end = absolute_offset + size
    return True


def _by_offset(container: Container) -> list[Segment]:
    """The segments that hold data, as they lie in the file."""
    return sorted((s for s in container.segments if s.size), key=lambda s: (*_range(s), s.index))


def _range(segment: Segment) -> tuple[int, int]:
    return segment.absolute_offset, segment.end
