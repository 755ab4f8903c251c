"""Reading what tests/support/build.py has built with the package under test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from aligncheck.errors import BadFile
from aligncheck.formats import read_container
from aligncheck.model import Container, Entry, Kind
from tests.support.build import Ptd, Pte, Span


def layout_of(spec: Pte | Ptd, folder: Path) -> Container:
    """What is read of the file that is built as specified."""
    return read_container(str(spec.build().write(folder / "sample")))


def fault_of(data: bytes, folder: Path) -> str:
    """The error for a file with these bytes, without the file's name before it."""
    path = folder / "bad"
    path.write_bytes(data)
    return fault_at(path)


def fault_at(path: Path) -> str:
    """The error for the file at a path, without the file's name before it."""
    with pytest.raises(BadFile) as caught:
        read_container(str(path))
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert text.isprintable(), "an error is one line"
    return text.removeprefix(f"{path}: ")


def of_kind(container: Container, kind: Kind) -> list[Entry]:
    """The entries of one kind, in the file's order."""
    return [entry for entry in container.entries if entry.kind == kind]


def spans(entries: list[Entry]) -> list[Span | None]:
    """Where entries are, in the form in which the builder tells it."""
    return [
        None if entry.absolute_offset is None else Span(entry.absolute_offset, entry.size or 0)
        for entry in entries
    ]


def ends_of_reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list to which each read from a file adds the byte up to which it may read."""
    ends: list[int] = []
    original = os.pread

    def watched(descriptor: int, count: int, start: int) -> bytes:
        ends.append(start + count)
        return original(descriptor, count, start)

    monkeypatch.setattr(os, "pread", watched)
    return ends
