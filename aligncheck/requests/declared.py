"""Requests that the user types: a key and bytes, or bytes for every segment."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator

from aligncheck.errors import BadRequest
from aligncheck.model import MAX_ALIGNMENT, Container, Level, Request
from aligncheck.requests import Asked

_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}
_BYTES = r"(0x[0-9a-f]{1,16}|[0-9]{1,16})(?:([kmg])(?:ib)?)?"


def parse_alignment(text: str) -> int:
    """Bytes from text such as `256`, `0x100`, `4K`, `16KiB` or `1MiB`. Raises BadRequest."""
    match = re.fullmatch(_BYTES, text.strip(), re.IGNORECASE | re.ASCII)
    if not match:
        raise BadRequest(f"{text!r} is no number of bytes; write 256, 0x100, 4K, 16KiB or 1MiB")
    digits, unit = match.groups()
    number = int(digits, 16) if digits[:2].lower() == "0x" else int(digits)
    return check_alignment(number * _UNITS[(unit or "").lower()])


def check_alignment(number: object) -> int:
    """`number`, if it is an alignment that can be asked for. Raises BadRequest."""
    if not isinstance(number, int) or isinstance(number, bool):
        raise BadRequest(f"an alignment is a whole number of bytes, not {number!r}")
    if not 1 <= number <= MAX_ALIGNMENT:
        raise BadRequest(f"an alignment is 1 byte to 1 GiB, not {number}")
    return number


def parse_requirement(text: str) -> tuple[str, int]:
    """Key and bytes from `KEY=BYTES`; the key may itself hold a `=`. Raises BadRequest."""
    key, equals, number = text.rpartition("=")
    if not equals or not key:
        raise BadRequest(f"{text!r} is not KEY=BYTES, for example 'npu.*=4K'")
    return key, parse_alignment(number)


class Declared:
    """Requests by key: an entry's exact name, else a glob over names.

    A key that is some entry's name is that name and no glob, so names with brackets can be given.
    `optional` requests are for whatever file has their key: that one has none of it is no matter.
    """

    def __init__(
        self,
        requirements: Iterable[tuple[str, int]],
        origin: str,
        *,
        level: Level = "error",
        optional: bool = False,
    ) -> None:
        self._optional = optional
        unique = dict.fromkeys(requirements)
        self._requests = [
            (
                key,
                Request(
                    alignment=check_alignment(number),
                    origin=f"{origin} {key}={number}",
                    level=level,
                ),
            )
            for key, number in unique
        ]

    def ask(self, container: Container) -> Asked:
        """The requests whose key is, or matches, the name of an entry."""
        asked = Asked()
        if not self._requests:
            return asked
        names: dict[str, list[int]] = {}
        for index, entry in enumerate(container.entries):
            names.setdefault(entry.name, []).append(index)
        for key, request in self._requests:
            found = [(index, request) for index in _answering(key, names)]
            asked.entries += found
            if not found and not self._optional:
                asked.unmatched.append(key)
        return asked


def _answering(key: str, names: dict[str, list[int]]) -> Iterator[int]:
    if key in names:
        yield from names[key]
    elif re.search(r"[*?\[]", key):
        matches = re.compile(fnmatch.translate(key)).match
        for name, indexes in names.items():
            if matches(name):
                yield from indexes


class SegmentAlignment:
    """One request for every segment that holds data."""

    def __init__(self, alignment: int, origin: str, level: Level = "error") -> None:
        self._request = Request(alignment=check_alignment(alignment), origin=origin, level=level)

    def ask(self, container: Container) -> Asked:
        """The request, on each segment that is not empty."""
        return Asked(segments=[(s.index, self._request) for s in container.segments if s.size])
