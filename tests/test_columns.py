"""Reading one field of many tables at once gives what reading table by table gives, errors too."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aligncheck import BadFile, audit
from aligncheck.formats import columns, flatbuffer
from tests.support.build import Named, Ptd, Segment, patched
from tests.support.peek import peek

MANY = Ptd(
    segments=[Segment(bytes([i]) * (i + 1)) for i in range(40)],
    named=[Named(f"key {i}", i * 7 % 40) for i in range(100)],
).build()


def in_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Buffers are not read at once, so each field is read by itself."""
    monkeypatch.setattr(flatbuffer, "READ_WHOLE", 0)


def faults(data: bytes, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    path = folder / "sample.ptd"
    path.write_bytes(data)
    found = []
    for prepare in (lambda _: None, in_pages):
        prepare(monkeypatch)
        with pytest.raises(BadFile) as caught:
            audit(path)
        found.append(caught.value.reason)
    return found


def test_both_ways_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = MANY.write(tmp_path / "sample.ptd")
    at_once = audit(path)
    in_pages(monkeypatch)
    assert audit(path) == at_once
    assert [e.name for e in at_once.container.entries] == [f"key {i}" for i in range(100)]
    assert [s.absolute_offset for s in at_once.container.segments] == [
        span.offset for span in MANY.segments
    ]


@given(st.lists(st.integers(0, 2), max_size=24), st.integers(1, 8))
def test_tables_with_and_without_a_field_may_follow_one_another(
    tmp_path_factory: pytest.TempPathFactory, indexes: list[int], block: int
) -> None:
    named = [Named(f"schlüssel {at}", index) for at, index in enumerate(indexes)]
    built = Ptd(segments=[Segment(b"a"), Segment(), Segment(b"b")], named=named).build()
    path = built.write(tmp_path_factory.mktemp("columns") / "sample.ptd")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(columns, "_BLOCK", block)
        container = audit(path).container
    theirs = peek(built.data)
    assert tuple((e.name, e.segment) for e in container.entries) == theirs.named
    assert tuple(s.offset for s in container.segments) == theirs.offsets
    assert tuple((s.absolute_offset, s.size) for s in container.segments) == theirs.segments
    assert tuple(s.offset_place for s in container.segments) == built.offset_places


def test_a_key_that_is_no_utf_8_leaves_the_others_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = [Named("a", 0), Named(b"\xff", 0), Named("ü", 0)]
    path = Ptd(segments=[Segment(b"x")], named=named).build().write(tmp_path / "sample.ptd")
    at_once = [entry.name for entry in audit(path).container.entries]
    in_pages(monkeypatch)
    assert at_once == [e.name for e in audit(path).container.entries] == ["a", "\\xff", "ü"]


def test_both_ways_know_where_an_offset_is_stored(tmp_path: Path) -> None:
    segments = audit(MANY.write(tmp_path / "sample.ptd")).container.segments
    assert tuple(s.offset_place for s in segments) == MANY.offset_places
    assert tuple(s.size_place for s in segments) == MANY.size_places


@pytest.mark.parametrize("key", [0, 57, 99])
def test_a_string_that_leaves_the_buffer_has_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: int
) -> None:
    text = f"key {key}".encode()
    length = MANY.data.index(text + b"\0") - 4
    at_once, in_turn = faults(
        patched(MANY.data, length, b"\xff\xff\xff\x7f"), tmp_path, monkeypatch
    )
    assert at_once == in_turn
    assert at_once.startswith(f"named_data[{key}].key: points to bytes ")


def test_a_segment_index_that_is_none_has_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = Ptd(segments=[Segment(b"x")], named=[Named("a", 0), Named("b", 3)]).build()
    at_once, in_turn = faults(wrong.data, tmp_path, monkeypatch)
    assert at_once == in_turn == "named_data[1].segment_index: is 3, but the file has 1 segments"
