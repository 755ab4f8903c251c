"""Layouts that are odd whatever was asked for: each rule, when it speaks and when it is silent."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aligncheck import audit
from aligncheck.model import Remark
from tests.support.build import Built, Delegate, Method, Named, Ptd, Pte, Segment, patched

A, B = Segment(b"a" * 64, offset=0), Segment(b"b" * 64, offset=128)


def remarks(built: Built | bytes, folder: Path) -> list[Remark]:
    path = folder / "sample"
    path.write_bytes(built if isinstance(built, bytes) else built.data)
    return list(audit(path).remarks)


def told(built: Built | bytes, folder: Path) -> list[tuple[str, str]]:
    return [(remark.rule, remark.level) for remark in remarks(built, folder)]


def test_a_sound_file_has_no_remark(tmp_path: Path) -> None:
    named = [Named("a", 0), Named("b", 1)]
    assert told(Ptd(segments=[A, B], named=named).build(), tmp_path) == []


def test_segments_that_share_some_bytes_overlap(tmp_path: Path) -> None:
    inside = Segment(b"a" * 32, offset=32)
    (remark,) = remarks(Ptd(segments=[A, inside], named=[]).build(), tmp_path)
    assert (remark.rule, remark.level, remark.segment, remark.other) == ("AC301", "error", 1, 0)


def test_two_segments_for_the_same_bytes_do_not_overlap(tmp_path: Path) -> None:
    assert told(Ptd(segments=[A, A], named=[]).build(), tmp_path) == []


def test_an_overlap_with_a_long_segment_further_back_is_seen(tmp_path: Path) -> None:
    long, short = Segment(b"x" * 512, offset=0), Segment(b"x" * 16, offset=128)
    third = Segment(b"x" * 16, offset=256)
    found = remarks(Ptd(segments=[long, short, third], named=[]).build(), tmp_path)
    assert [(r.segment, r.other) for r in found] == [(1, 0), (2, 0)]


def test_segments_out_of_order_are_told(tmp_path: Path) -> None:
    (remark,) = remarks(Ptd(segments=[B, A], named=[]).build(), tmp_path)
    assert (remark.rule, remark.level, remark.segment, remark.other) == ("AC302", "warning", 1, 0)


def test_empty_segments_are_in_no_order(tmp_path: Path) -> None:
    empty = Segment(b"", offset=0)
    assert told(Ptd(segments=[A, B, empty], named=[]).build(), tmp_path) == []


@pytest.mark.parametrize(("second", "level"), [(0, "warning"), (1, "error")])
def test_a_key_that_is_there_twice_is_told(tmp_path: Path, second: int, level: str) -> None:
    named = [Named("w", 0), Named("w", second)]
    assert told(Ptd(segments=[A, B], named=named).build(), tmp_path) == [("AC303", level)]


def test_a_key_among_many_is_told(tmp_path: Path) -> None:
    named = [Named(f"key {i % 500}", 0) for i in range(501)]
    (remark,) = remarks(Ptd(segments=[A], named=named).build(), tmp_path)
    assert (remark.rule, remark.key) == ("AC303", "key 0")


def test_padding_that_is_not_zero_is_told_with_its_place(tmp_path: Path) -> None:
    built = Ptd(segments=[A, B], named=[]).build()
    start = built.segments[0].offset + 64
    (remark,) = remarks(patched(built.data, start + 3, b"x"), tmp_path)
    assert (remark.rule, remark.absolute_offset, remark.size) == ("AC304", start, 64)


@given(
    st.lists(st.tuples(st.integers(0, 5000), st.integers(1, 3000)), max_size=12),
    st.lists(st.integers(0, 40_000), max_size=4),
)
def test_each_range_of_padding_is_told_apart(
    tmp_path_factory: pytest.TempPathFactory, gaps: list[tuple[int, int]], dirt: list[int]
) -> None:
    segments, at = [Segment(b"s", offset=0)], 1
    for gap, size in gaps:
        segments.append(Segment(b"s" * size, offset=at + gap))
        at += gap + size
    built = Ptd(base=1024, segments=segments, named=[]).build()
    data = bytearray(built.data)
    padding = [
        (before.offset + before.size, after.offset)
        for before, after in pairwise(built.segments)
        if before.offset + before.size < after.offset
    ]
    for byte in dirt:
        if any(start <= 1024 + byte < end for start, end in padding):
            data[1024 + byte] = 1
    found = remarks(bytes(data), tmp_path_factory.mktemp("padding"))
    told_of = [(r.absolute_offset, (r.absolute_offset or 0) + (r.size or 0)) for r in found]
    assert told_of == [(start, end) for start, end in padding if any(data[start:end])]


@pytest.mark.parametrize(("dirty", "told"), [(1022, 1), (1024, 0)])
def test_of_very_many_ranges_of_padding_the_first_are_looked_at(
    tmp_path: Path, dirty: int, told: int
) -> None:
    segments = [Segment(b"s", offset=2 * index) for index in range(1100)]
    built = Ptd(segments=segments, named=[]).build()
    data = patched(built.data, built.segments[dirty].offset + 1, b"x")
    assert len(remarks(data, tmp_path)) == told


@pytest.mark.parametrize(("size", "told"), [(2**20 - 1024, 1), (2**20, 0)])
def test_of_very_long_padding_nothing_is_looked_at(tmp_path: Path, size: int, told: int) -> None:
    built = Ptd(base=1024, segments=[A, Segment(b"b", offset=64 + size)], named=[]).build()
    data = patched(built.data, built.segments[1].offset - 1, b"x")
    assert len(remarks(data, tmp_path)) == told


def test_bytes_after_the_last_segment_are_nobodys_business(tmp_path: Path) -> None:
    assert told(Ptd(segments=[A], named=[]).build().data + b"signature", tmp_path) == []


def test_a_data_size_that_ends_before_the_segments_is_told(tmp_path: Path) -> None:
    built = Ptd(segments=[A, B], named=[]).build()
    (remark,) = remarks(patched(built.data, 40, (100).to_bytes(8, "little")), tmp_path)
    assert (remark.rule, remark.segment, remark.size) == ("AC305", 1, 92)


def test_a_data_size_that_was_not_filled_in_is_no_matter(tmp_path: Path) -> None:
    built = Pte(segments=[A], named=[]).build()
    assert told(patched(built.data, 32, bytes(8)), tmp_path) == []


def test_a_segment_that_begins_in_the_metadata_is_an_error(tmp_path: Path) -> None:
    method = Method("forward", delegates=[Delegate(segment=0)])
    built = Pte(segments=[A], methods=[method]).build()
    assert ("AC306", "error") in told(patched(built.data, 24, (64).to_bytes(8, "little")), tmp_path)
