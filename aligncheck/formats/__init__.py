"""Opening a file: which format it is, told by its content and never by its name."""

from __future__ import annotations

from contextlib import closing
from typing import Protocol

from aligncheck.errors import BadFile
from aligncheck.formats import foreign, ptd, pte
from aligncheck.formats.source import Source
from aligncheck.model import Container


class _Format(Protocol):
    def recognises(self, head: bytes) -> bool: ...
    def read(self, source: Source) -> Container: ...


FORMATS: tuple[_Format, ...] = (pte, ptd)


def read_container(path: str) -> Container:
    """The layout of the file at `path`. Raises BadFile if it cannot be told."""
    with closing(Source(path)) as source:
        return read_source(source)


def is_data_file(path: str) -> bool:
    """True if the file at `path` can be read and begins as a .ptd does."""
    try:
        with closing(Source(path)) as source:
            return ptd.recognises(source.read(0, min(source.size, 8)))
    except BadFile:
        return False


def read_source(source: Source) -> Container:
    """The same for a file that is already open."""
    head = source.read(0, min(source.size, 64))
    for candidate in FORMATS:
        if candidate.recognises(head):
            return candidate.read(source)
    raise foreign.fault(source.path, head)
