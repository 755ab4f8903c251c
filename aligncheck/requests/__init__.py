"""Where requests come from. An asker is one such place; each has a module of its own here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from aligncheck.model import Container, Request


@dataclass(slots=True)
class Asked:
    """What an asker wants of one file: pairs of an index and a request.

    Indexes are into `container.entries` and `container.segments`; `unmatched` are its keys that no
    entry answers to.
    """

    entries: list[tuple[int, Request]] = field(default_factory=list)
    segments: list[tuple[int, Request]] = field(default_factory=list)
    unmatched: list[str] = field(default_factory=list)


class Asker(Protocol):
    """Anything that can say which alignments it wants in a file."""

    def ask(self, container: Container) -> Asked:
        """The requests on that file's entries and segments."""


def gather(container: Container, askers: Iterable[Asker]) -> Asked:
    """All requests of all askers, in their order."""
    result = Asked()
    for asker in askers:
        asked = asker.ask(container)
        result.entries += asked.entries
        result.segments += asked.segments
        result.unmatched += asked.unmatched
    return result


def per_subject(
    count: int, pairs: Sequence[tuple[int, Request]]
) -> tuple[tuple[Request, ...], ...]:
    """The requests sorted out: item i of the result are those with index i, in their order."""
    lists: dict[int, list[Request]] = {}
    for index, request in pairs:
        lists.setdefault(index, []).append(request)
    return tuple(tuple(lists[i]) if i in lists else () for i in range(count))
