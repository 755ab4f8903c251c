"""What a fix writes into the metadata: the header's base and data size, and stored offsets."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from aligncheck import fix
from tests.support.build import Named, Ptd, Pte, Segment, patched
from tests.support.fixing import Fixed, fixed, moved, planned
from tests.support.samples import FORMATS, Make
from tests.support.spec import Span

BASE = 1024
both_formats = pytest.mark.parametrize("make", FORMATS.values(), ids=FORMATS)


def u64(data: bytes, place: int) -> int:
    return int(struct.unpack_from("<Q", data, place)[0])


def changed(result: Fixed) -> set[int]:
    """The bytes of the metadata that differ."""
    pairs = zip(result.before.data, result.data, strict=False)
    return {at for at, (a, b) in enumerate(pairs) if a != b and at < result.before.metadata_end}


def eight_bytes(places: Sequence[int | None]) -> set[int]:
    return {place + i for place in places if place is not None for i in range(8)}


@both_formats
def test_a_segment_at_the_base_keeps_offset_0_and_the_base_is_raised(
    tmp_path: Path, make: Make
) -> None:
    result = fixed(make(BASE, [Segment(b"0", offset=0)], [Named("a", 0)]), tmp_path, {"a": 4096})
    assert result.after.base == 4096
    assert result.after.segments == (Span(4096, 1),)
    # A field with its default value has no bytes to patch.
    assert result.before.offset_places == (None,)


@both_formats
def test_the_base_is_raised_by_the_lcm_of_all_segments_at_it(tmp_path: Path, make: Make) -> None:
    segments = [Segment(b"012", offset=0), Segment(), Segment(b"012", offset=0)]
    spec = make(BASE, segments, [Named("a", 0), Named("b", 2)])
    result = fixed(spec, tmp_path, {"a": 3, "b": 5})
    assert result.after.base == 3 * 5 * 1024
    assert result.after.offsets == (0, 0, 0)


@both_formats
def test_a_raised_base_leaves_later_segments_where_they_are_if_it_can(
    tmp_path: Path, make: Make
) -> None:
    segments = [Segment(b"0", offset=0), Segment(b"1", offset=4096 - BASE)]
    result = fixed(make(BASE, segments, [Named("a", 0)]), tmp_path, {"a": 2048})
    assert result.after.segments == (Span(2048, 1), Span(4096, 1))
    assert result.after.offsets == (0, 2048)


@both_formats
def test_the_base_stays_if_no_segment_at_it_moves(tmp_path: Path, make: Make) -> None:
    segments = [Segment(b"0", offset=0), Segment(b"1", offset=64)]
    result = fixed(make(BASE, segments, [Named("b", 1)]), tmp_path, {"b": 4096})
    assert result.after.base == BASE
    assert result.after.offsets == (0, 4096 - BASE)


@both_formats
def test_an_empty_segment_moves_nothing_and_stays(tmp_path: Path, make: Make) -> None:
    segments = [Segment(), Segment(b"", offset=7), Segment(b"x", offset=8), Segment(b"", offset=9)]
    result = fixed(make(BASE, segments, [Named("a", 2), Named("b", 1)]), tmp_path, {"a": 16})
    assert result.after.offsets == (0, 7, 16, 9)
    assert moved(result.plan) == {2: (1032, 1040)}


def test_a_request_on_an_empty_segment_asks_for_nothing(tmp_path: Path) -> None:
    segments = [Segment(), Segment(b"", offset=7), Segment(b"x", offset=8)]
    spec = Ptd(base=BASE, segments=segments, named=[Named("a", 0), Named("b", 1)])
    assert not planned(spec, tmp_path, {"a": 4096, "b": 4096}, segment_alignment=8).changes


def test_an_empty_segment_that_the_base_passes_comes_after_it_as_aligned_as_it_was(
    tmp_path: Path,
) -> None:
    segments = [Segment(b"x" * 99, offset=0), Segment(b"", offset=22), Segment(b"", offset=10)]
    spec = Ptd(base=1026, segments=segments, named=[Named("a", 0)])
    result = fixed(spec, tmp_path, {"a": 1049})
    # 1048 and 1036 were multiples of 8 and 4; 2104 and 2100 are the next ones.
    assert result.after.segments == (Span(2 * 1049, 99), Span(2104, 0), Span(2100, 0))


def test_an_empty_segment_that_the_base_passes_stays_inside_the_file(tmp_path: Path) -> None:
    # The file ends where the empty segment is, at 64 KiB. Its next place is 128 KiB.
    spec = Ptd(
        base=384,
        segments=[Segment(b"x", offset=0), Segment(b"", offset=2**16 - 384)],
        named=[Named("a", 0)],
        trailing=bytes(2**16 - 385),
    )
    result = fixed(spec, tmp_path, {"a": 513})
    assert result.after.segments == (Span(513 * 128, 1), Span(2**17, 0))
    assert len(result.data) == result.plan.new_size == 2**17


@both_formats
def test_the_data_size_goes_from_the_base_to_the_end_of_the_last_segment(
    tmp_path: Path, make: Make
) -> None:
    segments = [Segment(b"0", offset=0), Segment(b"1" * 10, offset=64)]
    result = fixed(make(BASE, segments, [Named("b", 1)]), tmp_path, {"b": 4096})
    assert result.after.data_size == 4096 + 10 - BASE


def test_a_data_size_that_includes_trailing_bytes_still_does(tmp_path: Path) -> None:
    spec = Ptd(base=BASE, segments=[Segment(b"01", offset=0)], trailing=b"345", data_size=4)
    result = fixed(spec, tmp_path, segment_alignment=4096)
    assert (result.after.base, result.after.data_size) == (4096, 4)
    moving = Ptd(base=BASE, segments=[Segment(b"01", offset=2)], trailing=b"345", data_size=6)
    assert fixed(moving, tmp_path, segment_alignment=4096).after.data_size == 4096 - BASE + 4


@both_formats
def test_a_data_size_that_its_writer_left_0_stays_0(tmp_path: Path, make: Make) -> None:
    spec = replace(make(BASE, [Segment(b"0", offset=1)], []), data_size=0)
    result = fixed(spec, tmp_path, segment_alignment=4096)
    assert result.after.segments == (Span(4096, 1),)
    assert result.after.data_size == 0


@pytest.mark.parametrize("length", [24, 25, 31])
def test_a_header_without_a_data_size_gets_none(tmp_path: Path, length: int) -> None:
    spec = Pte(header=length, base=BASE, segments=[Segment(b"0", offset=0)])
    result = fixed(spec, tmp_path, segment_alignment=4096)
    # Only the segment base: bytes 24 to 31.
    assert changed(result) == {25}
    assert result.after.segments == (Span(4096, 1),)


@pytest.mark.parametrize("length", [32, 40, 64])
def test_a_header_stays_as_long_as_it_is(tmp_path: Path, length: int) -> None:
    spec = Pte(header=length, base=BASE, segments=[Segment(b"0", offset=2)])
    result = fixed(spec, tmp_path, segment_alignment=4096)
    assert struct.unpack_from("<I", result.data, 12) == (length,)
    assert result.after.metadata_end == result.before.metadata_end
    assert changed(result) <= eight_bytes([32, *result.before.offset_places])


def test_only_the_offsets_of_segments_that_move_are_written(tmp_path: Path) -> None:
    segments = [Segment(b"%d" % i, offset=64 * i) for i in range(6)]
    spec = Ptd(base=BASE, segments=segments, named=[Named("a", 3)])
    result = fixed(spec, tmp_path, {"a": 256})
    assert [move.segment for move in result.plan.moves] == [3, 4, 5]
    data_size = 40
    assert changed(result) <= eight_bytes([data_size, *result.before.offset_places[3:]])


def test_fields_that_this_package_does_not_know_survive(tmp_path: Path) -> None:
    # The flatbuffer goes on at byte 72: the header and the gap after it hold something unknown.
    spec = Pte(header=48, header_end=72, base=BASE, segments=[Segment(b"0", offset=2)])
    built = spec.build()
    path = tmp_path / "newer.pte"
    path.write_bytes(patched(built.data, 40, bytes(range(1, 33))))
    fix(path, segment_alignment=4096)
    assert path.read_bytes()[40:72] == bytes(range(1, 33))


def test_every_patch_is_of_a_number_that_was_there(tmp_path: Path) -> None:
    segments = [Segment(b"0", offset=0), Segment(b"1", offset=64), Segment(b"2", offset=90)]
    spec = Pte(base=BASE, segments=segments)
    data = spec.build().data
    made = planned(spec, tmp_path, segment_alignment=48)
    assert made.patches
    assert [patch.old for patch in made.patches] == [u64(data, p.place) for p in made.patches]


def test_a_file_without_a_header_has_nothing_to_fix(tmp_path: Path) -> None:
    spec = Pte(header=None, segments=[Segment(), Segment(b"", offset=8)])
    assert not planned(spec, tmp_path, segment_alignment=4096).changes
