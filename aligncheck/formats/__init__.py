"""Opening a file: which format it is, told by its content and never by its name."""

from __future__ import annotations

import importlib
from contextlib import closing
from typing import Protocol, cast

from aligncheck.errors import BadFile
from aligncheck.formats import foreign
from aligncheck.formats.source import Source
from aligncheck.model import Container

FORMATS = {b"ET12": "pte", b"FT01": "ptd"}
"""The module here that reads a format, by the flatbuffer identifier at byte 4 of its files."""


class _Format(Protocol):
    def read(self, source: Source) -> Container: ...


def read_container(path: str) -> Container:
    """The layout of the file at `path`. Raises BadFile if it cannot be told."""
    with closing(Source(path)) as source:
        return read_source(source)


def format_of(path: str) -> str | None:
    """The format that the file at `path` begins as one of; None if it is neither or unreadable."""
    try:
        with closing(Source(path)) as source:
            return FORMATS.get(source.read(0, min(source.size, 8))[4:])
    except BadFile:
        return None


def read_source(source: Source) -> Container:
    """The same for a file that is already open."""
    head = source.read(0, min(source.size, 64))
    name = FORMATS.get(head[4:8])
    if name is None:
        raise foreign.fault(source.path, head)
    # Imported at first use: most runs are over files of one format.
    module = cast("_Format", importlib.import_module(f"{__name__}.{name}"))
    return module.read(source)
