"""A violated constant: its segment moves if that is enough, else it is laid out anew."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from aligncheck import audit, fix
from tests.support.build import Method, Named, Offsets, Pte, Segment, Tensor, patched
from tests.support.fixing import Fixed, fixed, given_up, moved, planned, refusal
from tests.support.spec import Span

BASE = 1024


def program(
    size: int,
    offsets: Sequence[int],
    lengths: Sequence[int] = (),
    *,
    base: int = BASE,
    named: Sequence[Named] = (),
) -> Pte:
    """A constant segment, and one byte after it in a segment of its own.

    Constant i begins at `offsets[i]`, has `lengths[i]` bytes (unknown without) and holds `i`; all
    else in the segment is zero.
    """
    data = bytearray(size)
    for i, at in enumerate(offsets):
        length = lengths[i] if lengths else 4
        data[at : at + length] = b"%d" % i * length
    tensors = [Tensor(str(i), [length], buffer=i + 1) for i, length in enumerate(lengths)]
    return Pte(
        base=base,
        segments=[Segment(bytes(data), offset=0), Segment(b"!", alignment=1)],
        constants=Offsets(0, [0, *offsets]),
        methods=[Method(values=tensors)],
        named=named,
    )


def within(result: Fixed) -> list[int]:
    """Where the constants are in their segment, afterwards."""
    return [offset - result.after.segments[0].offset for offset in result.after.constants]


def test_a_segment_whose_constants_are_misplaced_alike_moves_as_it_is(tmp_path: Path) -> None:
    result = fixed(program(100, [0, 16, 48], base=BASE + 4), tmp_path)
    assert moved(result.plan)[0] == (1028, 1040)
    assert within(result) == [0, 16, 48]
    assert result.after.segments[0].size == 100


def test_a_constant_that_is_misplaced_alone_moves_inside_the_segment(tmp_path: Path) -> None:
    result = fixed(program(40, [0, 20]), tmp_path)
    assert within(result) == [0, 32]
    assert result.payload(0) == b"0000" + bytes(28) + b"1111" + bytes(16)


def test_the_segment_grows_and_what_follows_moves_on(tmp_path: Path) -> None:
    result = fixed(program(40, [0, 20]), tmp_path)
    # 1064 was a multiple of 8, and so is 1080.
    assert result.after.segments == (Span(BASE, 52), Span(1080, 1))
    assert result.after.data_size == 57
    assert result.payload(1) == b"!"
    # The segment has not moved, but it has grown by 12.
    assert moved(result.plan) == {0: (BASE, BASE), 1: (1064, 1080)}
    assert [move.growth for move in result.plan.moves] == [12, 4]


def test_the_plan_names_the_constants_that_move(tmp_path: Path) -> None:
    made = planned(program(40, [0, 20], [4, 4]), tmp_path)
    assert [(entry.name, new) for entry, new in made.constant_moves] == [("1", BASE + 32)]


def test_padding_after_constants_of_known_sizes_is_used_up(tmp_path: Path) -> None:
    # 1 moves to 64 and ends at 80, before 2.
    result = fixed(program(112, [0, 16, 96], [16, 16, 16]), tmp_path, {"1": 64})
    assert within(result) == [0, 64, 96]
    assert result.after.segments[0] == Span(BASE, 112)


def test_a_constant_of_unknown_size_reaches_to_the_next(tmp_path: Path) -> None:
    # Nobody knows which of the 80 bytes from 16 to 96 are data, so 2 has to move on.
    result = fixed(program(112, [0, 16, 96]), tmp_path, {"constant 2": 64})
    assert within(result) == [0, 64, 160]
    assert result.after.segments[0] == Span(BASE, 176)
    assert result.payload(0)[64:68] == b"1111"
    assert result.payload(0)[160:164] == b"2222"


def test_a_constant_keeps_the_alignment_that_it_has_in_the_segment(tmp_path: Path) -> None:
    # 1 is pushed from 64 past 80, and goes to the next multiple of 64.
    result = fixed(program(128, [16, 64], [20, 64]), tmp_path, {"0": 64})
    assert within(result) == [64, 128]


def test_the_segment_is_aligned_to_what_all_its_constants_ask_for(tmp_path: Path) -> None:
    result = fixed(program(64, [0, 16], [16, 16]), tmp_path, {"1": 4096, "0": 48})
    assert result.after.segments[0].offset % (3 * 4096) == 0
    # A loader that copies the segment keeps only the offsets in it.
    assert within(result) == [0, 4096]


def test_constants_at_one_offset_stay_together(tmp_path: Path) -> None:
    result = fixed(program(60, [0, 20, 20], [16, 8, 40]), tmp_path, {"1": 3, "2": 5})
    assert within(result) == [0, 240, 240]
    assert result.payload(0)[240:280] == b"2" * 40


def test_a_constant_inside_another_stays_inside_it(tmp_path: Path) -> None:
    result = fixed(program(60, [0, 16, 32], [60, 4, 4]), tmp_path, {"2": 64})
    assert within(result) == [32, 48, 64]
    assert result.payload(0)[32:92] == result.before.data[BASE : BASE + 60]


def test_bytes_before_the_first_constant_are_kept(tmp_path: Path) -> None:
    spec = program(60, [20, 40])
    built = spec.build()
    path = tmp_path / "early.pte"
    path.write_bytes(patched(built.data, BASE, b"unnamed"))

    fix(path)
    assert path.read_bytes()[BASE : BASE + 7] == b"unnamed"


def test_other_bytes_between_constants_of_known_sizes_are_not_lost(tmp_path: Path) -> None:
    path = program(60, [0, 20], [4, 8]).build().write(tmp_path / "unknown.pte")
    path.write_bytes(patched(path.read_bytes(), BASE + 10, b"?"))
    assert "bytes 1028 to 1044 belong to no segment" in refusal(path, {})


def test_only_the_numbers_of_the_constants_that_move_are_written(tmp_path: Path) -> None:
    result = fixed(program(60, [0, 20, 32], [16, 4, 4]), tmp_path)
    assert within(result) == [0, 32, 64]
    built = result.before
    data_size, moved_places = 32, built.constant_places[1:]
    places = {data_size, built.size_places[0], built.offset_places[1], *moved_places}
    assert {patch.place for patch in result.plan.patches} == places


def test_a_constant_moves_also_for_what_is_asked_of_its_segment(tmp_path: Path) -> None:
    # The constant is where it was asked to be, 64 bytes before a page, and the segment is not.
    spec = program(200, [64], base=4096 - 64)
    result = fixed(spec, tmp_path, {"constant 1": 4096}, segment_alignment=4096)
    assert given_up(result.plan) == []
    assert result.after.segments[0].offset % 4096 == 0
    assert within(result) == [4096]


def test_overlapping_constants_that_disagree_are_given_up(tmp_path: Path) -> None:
    made = planned(program(60, [0, 20], [40, 8]), tmp_path)
    assert given_up(made) == [("1", 16, "conflict")]


def test_constants_that_disagree_do_not_keep_others_from_being_moved(tmp_path: Path) -> None:
    result = fixed(program(80, [0, 20, 60], [40, 8, 4]), tmp_path)
    assert given_up(result.plan) == [("1", 16, "conflict")]
    assert within(result) == [0, 20, 64]


def test_a_constant_segment_that_is_also_something_else_is_not_laid_out_anew(
    tmp_path: Path,
) -> None:
    made = planned(program(60, [0, 20], named=[Named("whole", 0)]), tmp_path)
    assert given_up(made) == [("constant 2", 16, "conflict")]


@pytest.mark.parametrize("alignment", [32, 48, 4096])
def test_a_second_fix_finds_nothing(tmp_path: Path, alignment: int) -> None:
    spec = program(160, [0, 20, 96], [16, 20, 64])
    result = fixed(spec, tmp_path, {"1": alignment})

    assert audit(tmp_path / "fixed", {"1": alignment}).findings == ()
    assert result.after.constants[1] % alignment == 0
