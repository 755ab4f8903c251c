"""An audit does not leave Python's garbage collection otherwise than it was."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from aligncheck import BadFile, audit
from aligncheck.formats.source import Source
from tests.support import samples

SAMPLE = samples.weak_first(samples.ptd).build()


@pytest.fixture(params=[True, False], ids=["enabled", "disabled"])
def was(request: pytest.FixtureRequest) -> Iterator[bool]:
    """Whether it was enabled before."""
    enabled: bool = request.param
    (gc.enable if enabled else gc.disable)()
    yield enabled
    gc.enable()


def test_it_is_as_it_was_after_an_audit(tmp_path: Path, was: bool) -> None:
    audit(SAMPLE.write(tmp_path / "sample.ptd"))
    assert gc.isenabled() == was


def test_it_is_as_it_was_after_an_error(tmp_path: Path, was: bool) -> None:
    (tmp_path / "sample.ptd").write_bytes(b"nothing")
    with pytest.raises(BadFile):
        audit(tmp_path / "sample.ptd")
    assert gc.isenabled() == was


def test_it_is_off_while_a_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    states: list[bool] = []
    read = Source.read

    def watched(source: Source, offset: int, size: int) -> bytes:
        states.append(gc.isenabled())
        return read(source, offset, size)

    monkeypatch.setattr(Source, "read", watched)
    audit(SAMPLE.write(tmp_path / "sample.ptd"))
    assert states
    assert not any(states)
