"""Requests of a platform or a vendor, asked for by name: `--target`."""

from __future__ import annotations

from collections.abc import Sequence

from aligncheck.model import Container, Request
from aligncheck.requests import Asked, Asker
from aligncheck.requests.declared import SegmentAlignment
from aligncheck.requests.target_facts import TARGETS, Target


def askers_for(names: Sequence[str]) -> list[Asker]:
    """An asker for each target that is named, once."""
    by_name = {target.name: target for target in TARGETS}
    return [_asker(by_name[name]) for name in dict.fromkeys(names)]


def _asker(target: Target) -> Asker:
    origin = f"--target {target.name}"
    if target.backend is None:
        return SegmentAlignment(target.alignment, origin=origin)
    return PayloadAlignment(target.backend, target.alignment, origin=origin)


class PayloadAlignment:
    """One request for every payload of a backend."""

    def __init__(self, backend: str, alignment: int, origin: str) -> None:
        self._backend = backend
        self._request = Request(alignment=alignment, origin=origin)

    def ask(self, container: Container) -> Asked:
        """The request, on each payload that is not empty."""
        return Asked(
            entries=[
                (index, self._request)
                for index, entry in container.others()
                if entry.backend == self._backend and entry.holds_data
            ]
        )
