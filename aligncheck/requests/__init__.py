"""Where requests come from. An asker is one such place; each has a module of its own here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from aligncheck.model import Container, Request

T = TypeVar("T")


class Asked:
    """What an asker wants and knows of one file: pairs that begin with an index.

    Indexes are into `container.entries` and `container.segments`. `users` name delegates that use
    an entry; `unmatched` are declared keys that no entry answers to; `stale` are recorded ones,
    with the path of the record; `unresolved` are keys that a delegate uses and no file has;
    `elsewhere` are paths of other files that have an entry's key as well.
    """

    def __init__(
        self,
        *,
        entries: Iterable[tuple[int, Request]] = (),
        segments: Iterable[tuple[int, Request]] = (),
        users: Iterable[tuple[int, str]] = (),
        unmatched: Iterable[str] = (),
        stale: Iterable[tuple[str, str]] = (),
        unresolved: Iterable[str] = (),
        elsewhere: Iterable[tuple[int, str]] = (),
    ) -> None:
        self.entries = list(entries)
        self.segments = list(segments)
        self.users = list(users)
        self.unmatched = list(unmatched)
        self.stale = list(stale)
        self.unresolved = list(unresolved)
        self.elsewhere = list(elsewhere)

    def add(self, other: Asked) -> None:
        """Everything of another asker beside what is here."""
        self.entries += other.entries
        self.segments += other.segments
        self.users += other.users
        self.unmatched += other.unmatched
        self.stale += other.stale
        self.unresolved += other.unresolved
        self.elsewhere += other.elsewhere


class Asker(Protocol):
    """Anything that can say which alignments it wants in a file."""

    def ask(self, container: Container) -> Asked:
        """The requests on that file's entries and segments."""


def gather(container: Container, askers: Iterable[Asker]) -> Asked:
    """All that all askers want and know, in their order."""
    result = Asked()
    for asker in askers:
        result.add(asker.ask(container))
    return result


def per_subject(count: int, pairs: Sequence[tuple[int, T]]) -> tuple[tuple[T, ...], ...]:
    """The pairs sorted out: item i of the result are the values with index i, in their order."""
    if not pairs:
        return ((),) * count
    lists: dict[int, list[T]] = {}
    for index, value in pairs:
        lists.setdefault(index, []).append(value)
    return tuple(tuple(lists[i]) if i in lists else () for i in range(count))
