"""The rules by which segments move. Every file here is 1024 bytes of metadata and then segments."""

from __future__ import annotations

from pathlib import Path

import pytest

from aligncheck import fix
from tests.support import samples
from tests.support.build import Delegate, Method, Named, Ptd, Pte, Segment, patched
from tests.support.fixing import fixed, given_up, moved, planned, refusal
from tests.support.samples import CLEAN, FORMATS, REQUESTS, Make

BASE = 1024
both_formats = pytest.mark.parametrize("make", FORMATS.values(), ids=FORMATS)


def store(*offsets: int, base: int = BASE, trailing: bytes = b"") -> Ptd:
    """Segments of 100 bytes at absolute offsets; segment i holds `i`."""
    segments = [Segment(b"%d" % i * 100, offset=at - base) for i, at in enumerate(offsets)]
    named = [Named(str(i), i) for i in range(len(offsets))]
    return Ptd(base=base, segments=segments, named=named, trailing=trailing)


@both_formats
def test_the_reported_bug_is_planned_to_look_like_the_control(tmp_path: Path, make: Make) -> None:
    made = planned(samples.weak_first(make), tmp_path, REQUESTS)
    assert moved(made) == {1: (640, 768)}
    assert made.new_size - made.old_size == 128


@both_formats
@pytest.mark.parametrize("sample", CLEAN.values(), ids=CLEAN)
def test_where_nothing_is_violated_nothing_moves(
    tmp_path: Path, make: Make, sample: samples.Sample
) -> None:
    made = planned(sample(make), tmp_path, REQUESTS)
    assert not made.changes
    assert (made.moves, made.patches, made.padding) == ((), (), ())
    assert made.new_size == made.old_size


def test_a_segment_is_aligned_to_the_lcm_of_all_requests_on_it(tmp_path: Path) -> None:
    spec = Pte(
        base=BASE,
        segments=[Segment(b"0", offset=0), Segment(b"1", offset=1)],
        named=[Named("a", 1), Named("b", 1)],
        methods=[Method("m", [Delegate(backend="B", segment=1)])],
    )
    requests = {"a": 3, "b": 5, "m/delegate 0 (B)": 7}
    made = planned(spec, tmp_path, requests, segment_alignment=2)
    # 1050 = 2 * 3 * 5 * 7 * 5; segment 0 is at 1024, which is even.
    assert moved(made) == {1: (1025, 1050)}


@pytest.mark.parametrize(
    ("old", "kept"),
    [(1129, 1), (1126, 2), (1536, 512), (3 * 2**12, 2**12), (3 * 2**16, 2**16), (3 * 2**17, 2**16)],
)
def test_the_alignment_that_a_segment_has_is_kept_up_to_64_kib(
    tmp_path: Path, old: int, kept: int
) -> None:
    made = planned(store(BASE, old), tmp_path, {"1": 5})
    ((_, new),) = moved(made).values()
    lcm = 5 * kept
    assert new == -(-old // lcm) * lcm


def test_a_segment_that_nobody_asked_about_keeps_its_alignment_when_it_must_move(
    tmp_path: Path,
) -> None:
    # 1 moves to 1280 and ends at 1380, where 2 could follow if it were not at a multiple of 256.
    made = planned(store(BASE, 1152, 1280), tmp_path, {"1": 256})
    assert moved(made) == {1: (1152, 1280), 2: (1280, 1536)}


def test_a_segment_goes_to_the_first_place_that_is_not_before_its_old_one(tmp_path: Path) -> None:
    # 1152 would be free and aligned, and is before the old place.
    assert moved(planned(store(BASE, 1153), tmp_path, {"1": 128})) == {1: (1153, 1280)}


def test_a_segment_goes_to_the_first_place_after_the_one_before(tmp_path: Path) -> None:
    # 0 ends at 2148 after its move; 1 and 2 follow, with the alignment 1 that they had.
    made = planned(store(BASE, 1125, 1225), tmp_path, {"0": 2048})
    assert moved(made) == {0: (1024, 2048), 1: (1125, 2148), 2: (1225, 2248)}


def test_nothing_before_the_first_violation_moves(tmp_path: Path) -> None:
    spec = store(BASE, 1125, 1300, 1410)
    # 0 is as aligned as asked; 1 is not asked about; both stay, as does the gap between them.
    assert min(moved(planned(spec, tmp_path, {"0": 512, "2": 512}))) == 2


def test_segments_move_in_the_order_of_the_file_and_not_of_the_list(tmp_path: Path) -> None:
    made = planned(store(1152, BASE, 1280), tmp_path, {"1": 256, "0": 256})
    assert moved(made) == {0: (1152, 1280), 2: (1280, 1536)}


def test_existing_padding_absorbs_a_shift(tmp_path: Path) -> None:
    made = planned(store(BASE, 1152, 4096), tmp_path, {"1": 256})
    assert moved(made) == {1: (1152, 1280)}
    assert made.new_size == made.old_size


def test_existing_padding_absorbs_the_part_of_a_shift_that_it_can(tmp_path: Path) -> None:
    # 1 moves by 896, and 700 bytes of padding follow it.
    made = planned(store(BASE, 1152, 1952), tmp_path, {"1": 2048})
    assert moved(made) == {1: (1152, 2048), 2: (1952, 2176)}
    assert made.new_size - made.old_size == 2176 - 1952


@pytest.mark.parametrize("offsets", [(BASE, 1125), (BASE, 1152), (BASE, 1152, 1280, 1408)])
def test_the_growth_of_the_moves_adds_up_to_that_of_the_file(
    tmp_path: Path, offsets: tuple[int, ...]
) -> None:
    made = planned(store(*offsets), tmp_path, {"1": 4096, "3": 2048})
    assert sum(move.growth for move in made.moves) == made.new_size - made.old_size > 0


def test_the_growth_of_a_move_is_the_padding_added_before_it(tmp_path: Path) -> None:
    made = planned(store(BASE, 1152, 1952), tmp_path, {"1": 2048})
    # Of the 700 bytes before 2, all but the 28 that its alignment needs are used up.
    assert [move.growth for move in made.moves] == [2048 - 1152, 28 - 700]


def test_segments_that_share_bytes_move_as_one(tmp_path: Path) -> None:
    # 1 begins in 0 and 2 begins in 1; 3 is apart.
    result = fixed(store(1064, BASE, 1130, 4096), tmp_path, {"2": 3})
    assert moved(result.plan) == {1: (1024, 2048), 0: (1064, 2088), 2: (1130, 2154)}
    assert given_up(result.plan) == []
    assert result.data[2048:2254] == result.before.data[1024:1230]


def test_bytes_after_the_last_segment_are_kept(tmp_path: Path) -> None:
    result = fixed(store(BASE, trailing=b"signature"), tmp_path, {"0": 4096})
    assert result.data[4096:] == b"0" * 100 + b"signature"


def test_zeros_between_segments_are_padding(tmp_path: Path) -> None:
    result = fixed(store(BASE, 1200, 1400), tmp_path, {"1": 4096})
    assert result.data[1124:4096] == bytes(4096 - 1124)
    assert len(result.data) == 4300


def test_a_file_with_other_bytes_between_segments_is_refused(tmp_path: Path) -> None:
    path = store(BASE, 1200, 1400).build().write(tmp_path / "unknown.ptd")
    path.write_bytes(patched(path.read_bytes(), 1399, b"?"))
    found = "bytes 1300 to 1400 belong to no segment and are not zero"
    assert found in refusal(path, {"1": 4096})


def test_a_file_with_other_bytes_after_its_metadata_is_refused(tmp_path: Path) -> None:
    path = store(BASE).build().write(tmp_path / "unknown.ptd")
    path.write_bytes(patched(path.read_bytes(), BASE - 1, b"?"))
    assert "to 1024 belong to no segment and are not zero" in refusal(path, {"0": 4096})


def test_other_bytes_where_nothing_moves_are_left_alone(tmp_path: Path) -> None:
    path = store(BASE, 1200, 1400).build().write(tmp_path / "unknown.ptd")
    path.write_bytes(patched(path.read_bytes(), 1150, b"?"))
    fix(path, {"2": 4096})
    assert path.read_bytes()[1150:1151] == b"?"
