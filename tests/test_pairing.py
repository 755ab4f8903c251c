"""A program and its data files in one run: what one says of the other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aligncheck.formats import ptd
from aligncheck.formats.source import Source
from aligncheck.model import Container
from tests.support.build import Named, Ptd, Pte, Segment
from tests.support.cli import run

DATA = [Segment(b"w" * 64), Segment(b"v" * 64)]


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Pte(segments=DATA[:1], named=[Named("in the program", 0)]).build().write(Path("model.pte"))
    named = [Named("w", 0), Named("v", 1)]
    Ptd(segments=DATA, named=named).build().write(Path("a.ptd"))
    Ptd(segments=DATA[:1], named=[Named("v", 0)]).build().write(Path("b.ptd"))


def record(file: str, *keys: str) -> None:
    requests = [{"key": key, "alignment": 4096, "origin": "NpuBackend"} for key in sorted(keys)]
    text = json.dumps({"version": 1, "requests": requests})
    Path(f"{file}.align.json").write_text(text, encoding="utf-8")


def remarks(*paths: str) -> list[tuple[str, str, str]]:
    files = json.loads(run(*paths, "-f", "json").out)["files"]
    return [
        (file["path"], finding["rule"], finding["entry"])
        for file in files
        for finding in file["findings"]
    ]


def test_a_key_in_two_data_files_of_a_program_is_told_of_both() -> None:
    assert remarks("model.pte", "a.ptd", "b.ptd") == [
        ("a.ptd", "AC202", "v"),
        ("b.ptd", "AC202", "v"),
    ]


def test_it_is_told_in_text_and_is_a_warning() -> None:
    ran = run("model.pte", "a.ptd", "b.ptd", "-q")
    expected = "AC202 warning: b.ptd has v too; the runtime does not load the two files together"
    assert f"a.ptd: {expected}" in ran.lines
    assert ran.code == 0


def test_data_files_without_their_program_need_not_belong_together() -> None:
    assert remarks("a.ptd", "b.ptd") == []


def test_nor_do_the_files_of_two_programs() -> None:
    Pte(segments=DATA[:1], named=[Named("x", 0)]).build().write(Path("other.pte"))
    assert remarks("model.pte", "other.pte", "a.ptd", "b.ptd") == []


def test_a_programs_sidecar_asks_for_data_in_its_data_file() -> None:
    record("model.pte", "w")
    assert remarks("model.pte", "a.ptd") == [("a.ptd", "AC101", "w")]


def test_it_does_so_also_for_a_program_without_data_of_its_own() -> None:
    Pte(segments=[]).build().write(Path("model.pte"))
    record("model.pte", "w")
    assert remarks("model.pte", "a.ptd") == [("a.ptd", "AC101", "w")]


def test_alone_the_program_does_not_have_it() -> None:
    record("model.pte", "w")
    assert remarks("model.pte") == [("model.pte", "AC201", "w")]


def test_a_key_that_no_file_has_is_stale_once() -> None:
    record("model.pte", "w", "gone")
    assert remarks("model.pte", "a.ptd") == [
        ("a.ptd", "AC101", "w"),
        ("model.pte", "AC201", "gone"),
    ]


def test_a_fix_meets_what_the_other_files_sidecar_asks_for() -> None:
    record("model.pte", "w")
    assert run("model.pte", "a.ptd", "--fix").code == 0
    assert remarks("model.pte", "a.ptd") == []


def test_files_that_cannot_belong_together_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    original = ptd.read

    def counted(source: Source) -> Container:
        read.append(source.path)
        return original(source)

    monkeypatch.setattr(ptd, "read", counted)
    assert run("a.ptd", "b.ptd").code == 0
    assert read == ["a.ptd", "b.ptd"]
    run("a.ptd", "model.pte")
    assert read == ["a.ptd", "b.ptd", "a.ptd", "a.ptd"]
