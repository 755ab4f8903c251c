"""All the places that requests on a file come from, put together for a run over many files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from aligncheck.model import Container
from aligncheck.requests import Asked, Asker
from aligncheck.requests.backends import NO_SURVEY, KnownBackends, Survey
from aligncheck.requests.config import Settings, find_config, read_config
from aligncheck.requests.declared import Declared, SegmentAlignment
from aligncheck.requests.pairing import Elsewhere, Shared
from aligncheck.requests.sidecar import Sidecar, find_sidecar, read_sidecar


class Sources:
    """Where a run looks for requests.

    `declared` hold for every file. `config` is the configuration for all files; without it each
    file has the nearest one above it, unless the run is `isolated`. `request_files` are sidecars
    that are named, beside those that `sidecars` lets each file bring along. `many` says that the
    run is over several files, of which a named sidecar need not fit each.
    """

    def __init__(
        self,
        *,
        declared: Sequence[Asker] = (),
        config: str | None = None,
        isolated: bool = False,
        request_files: Sequence[str] = (),
        sidecars: bool = True,
    ) -> None:
        self.declared = declared
        self.config = config
        self.isolated = isolated
        self.request_files = request_files
        self.sidecars = sidecars
        self.many = False
        self.survey = NO_SURVEY
        self._configs: dict[str, Settings | None] = {}
        self._read: dict[str, Sidecar] = {}

    def askers(self, path: str) -> list[Asker]:
        """The askers for one file. Raises BadFile for a bad sidecar or configuration."""
        askers = [*self.declared, *self._recorded(path), Elsewhere(self.survey)]
        settings = self.settings(path)
        if settings is None:
            return [*askers, KnownBackends(others=self.survey)]
        return [*askers, *_from_settings(settings.for_file(path), self.survey)]

    def _recorded(self, path: str) -> Iterator[Asker]:
        """The sidecars that are named, the file's own, and those of the files that go with it."""
        named = map(self._sidecar, self.request_files)
        yield from map(_Unmatched, named) if self.many else named
        own = find_sidecar(path) if self.sidecars else None
        if own is not None and not _among(own, self.request_files):
            yield Shared(self._sidecar(own), self.survey)
        for other in self.survey.together if self.sidecars else ():
            sidecar = find_sidecar(other) if other != path else None
            if sidecar is not None and not _among(sidecar, self.request_files):
                yield _Unmatched(self._sidecar(sidecar), quiet=True)

    def _sidecar(self, path: str) -> Sidecar:
        """A sidecar, each read once. Raises BadFile."""
        if path not in self._read:
            self._read[path] = read_sidecar(path)
        return self._read[path]

    def excludes(self, path: str) -> bool:
        """True for a file that its configuration leaves out. Raises BadFile."""
        settings = self.settings(path)
        return settings is not None and settings.excludes(path)

    def settings(self, path: str) -> Settings | None:
        """The configuration that holds for a file, each read once. Raises BadFile."""
        if self.isolated:
            return None
        folder = os.path.dirname(os.path.abspath(path))
        if folder not in self._configs:
            config = self.config or find_config(folder)
            self._configs[folder] = None if config is None else read_config(config)
        return self._configs[folder]


class _Unmatched:
    """A sidecar that need not fit the file: its stale keys are unmatched ones, or not told."""

    def __init__(self, sidecar: Asker, *, quiet: bool = False) -> None:
        self._sidecar = sidecar
        self._quiet = quiet

    def ask(self, container: Container) -> Asked:
        """The same requests."""
        asked = self._sidecar.ask(container)
        asked.unmatched += [] if self._quiet else [key for key, _ in asked.stale]
        asked.stale = []
        return asked


def _among(found: str, names: Sequence[str]) -> bool:
    return any(os.path.exists(name) and os.path.samefile(found, name) for name in names)


def _from_settings(settings: Settings, survey: Survey) -> list[Asker]:
    origin = os.path.basename(settings.path)
    return [
        Declared(settings.requests, origin=origin, optional=True),
        *(
            SegmentAlignment(alignment, origin=f"{origin} segment-alignment={alignment}")
            for alignment in settings.segment_alignments
        ),
        KnownBackends(settings.backends, origin=origin, others=survey),
    ]
