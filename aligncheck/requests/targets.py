"""Requests of a platform or a vendor, asked for by name: `--target`."""

from __future__ import annotations

from collections.abc import Sequence

from aligncheck.model import Container, Request
from aligncheck.requests import Asked, Asker
from aligncheck.requests.target_facts import TARGETS, Target


def askers_for(names: Sequence[str]) -> list[Asker]:
    """An asker for each target that is named, once."""
    by_name = {target.name: target for target in TARGETS}
    return [ForTarget(by_name[name]) for name in dict.fromkeys(names)]


class ForTarget:
    """The alignment of a target: for the payloads of its backend, or for every segment."""

    def __init__(self, target: Target) -> None:
        self._backend = target.backend
        self._request = Request(alignment=target.alignment, origin=f"--target {target.name}")

    def ask(self, container: Container) -> Asked:
        """The request, on what holds data."""
        if self._backend is None:
            return Asked(segments=[(s.index, self._request) for s in container.segments if s.size])
        return Asked(
            entries=[
                (index, self._request)
                for index, entry in enumerate(container.entries)
                if entry.backend == self._backend and entry.holds_data
            ]
        )
