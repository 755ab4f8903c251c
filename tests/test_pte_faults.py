"""Programs (.pte) that are refused: the error names what was found, and where."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from tests.support.build import Delegate, Method, Named, Offsets, Pte, Segment, Tensor, patched
from tests.support.reading import fault_of, layout_of

STORE = Pte(segments=[Segment(b"c" * 64), Segment(b"weights" * 9)], named=[Named("a", 1)])


def u64(number: int) -> bytes:
    return struct.pack("<Q", number)


def test_a_key_must_be_there(tmp_path: Path) -> None:
    spec = Pte(segments=[Segment(b"1")], named=[Named("a", 0), Named(None, 0)])
    assert fault_of(spec.build().data, tmp_path) == "named_data[1].key: is missing"


def test_constants_may_not_be_in_the_flatbuffer_and_in_a_segment_at_once(tmp_path: Path) -> None:
    spec = Pte(
        segments=[Segment(bytes(16))], constants=Offsets(0, [0, 0]), inline_constants=[b"", b"1"]
    )
    fault = fault_of(spec.build().data, tmp_path)
    assert fault == "constant_buffer: holds data beside constant_segment"


@pytest.mark.parametrize(
    ("delegate", "fault"),
    [
        (Delegate(segment=7), "processed.index: is 7, but the file has 1 segments"),
        (Delegate(inline=7), "processed.index: is 7, but the file has 1 inline payloads"),
        (Delegate(location=2), "processed.location: is 2, neither inline nor segment"),
        (Delegate(location=-1), "processed.location: is -1, neither inline nor segment"),
        (Delegate(processed=False), "processed: is missing"),
    ],
)
def test_a_delegate_without_a_payload_is_refused(
    tmp_path: Path, delegate: Delegate, fault: str
) -> None:
    spec = Pte(
        segments=[Segment(b"1")],
        inline_delegates=[b"2"],
        methods=[Method("a"), Method("b", [Delegate(segment=0), delegate])],
    )
    expected = f"execution_plan[1].delegates[1].{fault}"
    assert fault_of(spec.build().data, tmp_path) == expected


@pytest.mark.parametrize(
    ("spec", "place"),
    [
        (Pte(named=[Named("a", 0), Named("b", 4)]), "named_data[1].segment_index"),
        (Pte(constants=Offsets(4, [0, 0])), "constant_segment.segment_index"),
        (Pte(mutable=[Offsets(4, [0, 0])]), "mutable_data_segments[0].segment_index"),
    ],
)
def test_a_segment_index_out_of_range_is_refused(tmp_path: Path, spec: Pte, place: str) -> None:
    faulty = Pte(
        segments=[Segment(b"1")] * 4,
        named=spec.named,
        constants=spec.constants,
        mutable=spec.mutable,
    )
    expected = f"{place}: is 4, but the file has 4 segments"
    assert fault_of(faulty.build().data, tmp_path) == expected


@pytest.mark.parametrize("header", [24, 32])
def test_a_segment_outside_the_file_is_refused(tmp_path: Path, header: int) -> None:
    spec = Pte(
        header=header, base=1024, data_size=0, segments=[Segment(b"1"), Segment(b"234", 100, 4)]
    )
    assert fault_of(spec.build().data, tmp_path) == (
        "segments[1]: ends at byte 1128 (base 1024 + offset 100 + size 4), but the file has 1127;"
        " was it downloaded completely?"
    )


@pytest.mark.parametrize(
    ("offset", "size"), [(2**64 - 1, 1), (2**64 - 128, 128), (1, 2**64 - 1), (2**64 - 1, 0)]
)
def test_a_segment_whose_end_would_wrap_is_refused(tmp_path: Path, offset: int, size: int) -> None:
    spec = Pte(base=128, data_size=0, segments=[Segment(b"", offset, size)], trailing=bytes(512))
    assert fault_of(spec.build().data, tmp_path) == (
        f"segments[0]: base 128 + offset {offset} + size {size} does not fit 64 bits"
    )


@pytest.mark.parametrize("header", [None, 24, 32])
def test_a_segment_that_holds_data_needs_a_segment_base(tmp_path: Path, header: int | None) -> None:
    spec = Pte(header=header, base=0, segments=[Segment(), Segment(size=4)], data_size=0)
    assert fault_of(spec.build().data, tmp_path) == (
        "segments[1]: holds 4 bytes, but the file has no segment base offset"
    )


def test_an_empty_segment_may_point_anywhere(tmp_path: Path) -> None:
    spec = Pte(segments=[Segment(b"1"), Segment(b"", offset=2**40)])
    assert layout_of(spec, tmp_path).segments[1].size == 0


@pytest.mark.parametrize(("offset", "end"), [(101, 101), (97, 101), (2**64 - 1, 2**64 + 3)])
def test_a_constant_outside_its_segment_is_refused(tmp_path: Path, offset: int, end: int) -> None:
    sized = [] if offset == end else [Tensor("w", [4], 2)]
    spec = Pte(
        segments=[Segment(bytes(100))],
        constants=Offsets(0, [0, 0, offset]),
        methods=[Method(values=sized)],
    )
    assert fault_of(spec.build().data, tmp_path) == (
        f"constant_segment.offsets[2]: ends at {end}, but its segment has 100 bytes"
    )


@pytest.mark.parametrize("length", [0, 16, 23])
def test_a_header_that_is_too_short_is_refused(tmp_path: Path, length: int) -> None:
    data = patched(STORE.build().data, 12, struct.pack("<I", length))
    assert fault_of(data, tmp_path) == (
        f"extended header length (byte 12): is {length}, but a header has at least 24 bytes"
    )


@pytest.mark.parametrize("number", [2**20, 2**63, 2**64 - 1])
@pytest.mark.parametrize(
    ("at", "place"), [(16, "program size (byte 16)"), (24, "segment base offset (byte 24)")]
)
def test_a_header_that_points_outside_the_file_is_refused(
    tmp_path: Path, at: int, place: str, number: int
) -> None:
    data = patched(STORE.build().data, at, u64(number))
    assert fault_of(data, tmp_path) == (
        f"{place}: is {number}, but the file has {len(data)} bytes; was it downloaded completely?"
    )


@pytest.mark.parametrize("number", [2**20, 2**64 - 1])
def test_segment_data_that_go_on_after_the_file_are_refused(tmp_path: Path, number: int) -> None:
    built = STORE.build()
    data = patched(built.data, 32, u64(number))
    assert fault_of(data, tmp_path) == (
        "segment base offset + segment data size (bytes 24 and 32):"
        f" is {built.base + number}, but the file has {len(data)} bytes;"
        " was it downloaded completely?"
    )


@pytest.mark.parametrize("header", [24, 32])
def test_a_file_cut_anywhere_is_refused(tmp_path: Path, header: int) -> None:
    spec = Pte(
        header=header,
        segments=[Segment(b"c" * 30), Segment(b"d" * 10)],
        named=[Named("a", 0)],
        methods=[Method("forward", [Delegate(segment=1)])],
    )
    data = spec.build().data
    for size in range(len(data)):
        assert fault_of(data[:size], tmp_path)
