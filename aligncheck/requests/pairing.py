"""A program and the data files that are given with it: what one says of the other.

ExecuTorch's extension/named_data_map/merged_data_map.cpp refuses to load files together of which
two have the same key.
"""

from __future__ import annotations

from aligncheck.model import Container
from aligncheck.requests import Asked, Asker
from aligncheck.requests.backends import Survey


class Elsewhere:
    """The keys of a file that another of the files has as well."""

    def __init__(self, survey: Survey) -> None:
        self._homes = survey.homes

    def ask(self, container: Container) -> Asked:
        """No request; for each such key, the other file."""
        asked = Asked()
        if self._homes:
            asked.elsewhere = [
                (index, home)
                for index, entry in enumerate(container.named_data)
                for home in self._homes.get(entry.name, ())
                if home != container.path
            ]
        return asked


class Shared:
    """A sidecar for several files: what one of them does not have, another may.

    `homes` are the files that have a key; a key that is in none of them is stale still.
    """

    def __init__(self, sidecar: Asker, survey: Survey) -> None:
        self._sidecar = sidecar
        self._homes = survey.homes

    def ask(self, container: Container) -> Asked:
        """The same requests, and the stale keys that no other file has."""
        asked = self._sidecar.ask(container)
        asked.stale = [(key, path) for key, path in asked.stale if key not in self._homes]
        return asked
