"""Reading programs (.pte), built by hand: each offset is compared with the builder's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from aligncheck.formats import read_container
from tests.support.build import (
    Delegate,
    Method,
    Named,
    Offsets,
    Pte,
    Segment,
    Tensor,
)
from tests.support.reading import ends_of_reads, layout_of, of_kind, spans

STORE = Pte(
    segments=[Segment(b"c" * 64), Segment(), Segment(b"weights" * 9), Segment(b"x" * 5)],
    named=[Named("a", 2), Named("b", 3), Named("c", 2)],
)


@pytest.mark.parametrize("length", [24, 25, 31, 32, 33, 40, 100])
def test_an_extended_header_of_any_legal_length_is_read(tmp_path: Path, length: int) -> None:
    spec = Pte(segments=STORE.segments, named=STORE.named, header=length)
    container, built = layout_of(spec, tmp_path), spec.build()
    assert container.format == "pte"
    assert container.size == len(built.data)
    assert container.metadata_end == built.metadata_end
    assert container.segment_base_offset == built.base
    assert container.header is not None
    assert container.header.length == length
    assert container.header.base_place == 24


@pytest.mark.parametrize("length", [24, 25, 31])
def test_a_header_under_32_bytes_has_no_segment_data_size(tmp_path: Path, length: int) -> None:
    header = layout_of(Pte(segments=STORE.segments, header=length), tmp_path).header
    assert header is not None
    assert (header.data_size, header.data_size_place) == (None, None)


@pytest.mark.parametrize("length", [32, 40])
def test_a_longer_header_has_a_segment_data_size(tmp_path: Path, length: int) -> None:
    header = layout_of(Pte(segments=[Segment(b"1234567")], header=length), tmp_path).header
    assert header is not None
    assert (header.data_size, header.data_size_place) == (7, 32)


@pytest.mark.parametrize("end", [40, 48, 64, 72, 136])
def test_the_flatbuffer_may_go_on_at_any_byte_after_the_header(tmp_path: Path, end: int) -> None:
    spec = Pte(segments=STORE.segments, named=STORE.named, header_end=end)
    assert [(s.absolute_offset, s.size) for s in layout_of(spec, tmp_path).segments] == [
        *spec.build().segments
    ]


def test_a_file_without_header_is_all_metadata_and_may_list_empty_segments(tmp_path: Path) -> None:
    spec = Pte(header=None, segments=[Segment(), Segment()])
    container = layout_of(spec, tmp_path)
    assert container.header is None
    assert container.metadata_end == container.size == len(spec.build().data)
    assert container.segment_base_offset == 0
    assert [(s.absolute_offset, s.size) for s in container.segments] == [(0, 0), (0, 0)]


def test_segments_lie_where_they_were_written(tmp_path: Path) -> None:
    container, built = layout_of(STORE, tmp_path), STORE.build()
    assert [(s.absolute_offset, s.size) for s in container.segments] == [*built.segments]
    assert [s.offset for s in container.segments] == [0, 0, 128, 256]


def test_the_place_of_a_segment_field_is_where_its_bytes_are(tmp_path: Path) -> None:
    container, built = layout_of(STORE, tmp_path), STORE.build()
    assert tuple(s.offset_place for s in container.segments) == built.offset_places
    assert tuple(s.size_place for s in container.segments) == built.size_places


def test_a_segment_offset_of_0_has_no_place(tmp_path: Path) -> None:
    first = layout_of(STORE, tmp_path).segments[0]
    assert (first.offset, first.offset_place) == (0, None)


def test_named_data_lie_where_their_segments_do(tmp_path: Path) -> None:
    entries = of_kind(layout_of(STORE, tmp_path), "named_data")
    built = STORE.build()
    assert [(entry.name, entry.segment) for entry in entries] == [("a", 2), ("b", 3), ("c", 2)]
    assert spans(entries) == [built.segments[2], built.segments[3], built.segments[2]]


@pytest.mark.parametrize(("key", "name"), [("", ""), (b"\xff\x00", "\\xff\0"), ("größe", "größe")])
def test_a_key_may_be_any_bytes(tmp_path: Path, key: str | bytes, name: str) -> None:
    spec = Pte(segments=[Segment(b"1")], named=[Named(key, 0)])
    assert [entry.name for entry in layout_of(spec, tmp_path).entries] == [name]


def test_bytes_after_the_last_segment_are_legal(tmp_path: Path) -> None:
    spec = Pte(segments=STORE.segments, trailing=b"signature")
    container = layout_of(spec, tmp_path)
    assert container.size == container.segments[-1].end + 9


def test_segments_may_be_in_any_order_and_far_apart(tmp_path: Path) -> None:
    spec = Pte(segments=[Segment(b"late", offset=4000), Segment(b"early", offset=3)])
    container, built = layout_of(spec, tmp_path), spec.build()
    assert [s.absolute_offset - built.base for s in container.segments] == [4000, 3]


CONSTANTS = Pte(
    segments=[Segment(), Segment(b"k" * 100)],
    constants=Offsets(1, [0, 0, 16, 48]),
    methods=[Method("forward", values=[None, Tensor("w", [2, 6], 1), Tensor("b", [3], 3)])],
)


def test_constants_are_named_by_the_tensors_that_use_them(tmp_path: Path) -> None:
    constants = of_kind(layout_of(CONSTANTS, tmp_path), "constant")
    assert [(c.name, c.size) for c in constants] == [("w", 12), ("constant 2", None), ("b", 3)]
    assert tuple(c.absolute_offset for c in constants) == CONSTANTS.build().constants
    assert {c.segment for c in constants} == {1}


def test_the_place_of_a_constant_is_its_element_of_the_offsets(tmp_path: Path) -> None:
    constants = of_kind(layout_of(CONSTANTS, tmp_path), "constant")
    assert tuple(c.place for c in constants) == CONSTANTS.build().constant_places


def test_the_container_knows_its_constant_segment(tmp_path: Path) -> None:
    assert layout_of(CONSTANTS, tmp_path).constant_segment == 1


@pytest.mark.parametrize("offsets", [[], [0]])
def test_a_constant_segment_with_at_most_a_placeholder_is_none(
    tmp_path: Path, offsets: list[int]
) -> None:
    container = layout_of(Pte(segments=[Segment()], constants=Offsets(0, offsets)), tmp_path)
    assert container.constant_segment is None
    assert container.entries == ()


@pytest.mark.parametrize(
    ("scalar_type", "width"),
    # ScalarType.Char, Half, Float, Long, Bool, ComplexDouble; 19 is no type with whole bytes.
    [(1, 1), (5, 2), (6, 4), (4, 8), (11, 1), (10, 16), (19, None), (99, None)],
)
def test_the_size_of_a_constant_is_that_of_its_tensor(
    tmp_path: Path, scalar_type: int, width: int | None
) -> None:
    tensor = Tensor("w", [2, 3], 1, scalar_type)
    spec = Pte(
        segments=[Segment(bytes(96))],
        constants=Offsets(0, [0, 0]),
        methods=[Method(values=[tensor])],
    )
    (constant,) = layout_of(spec, tmp_path).entries
    assert constant.size == (None if width is None else 6 * width)


def test_methods_that_share_a_constant_give_it_the_first_name_and_the_largest_size(
    tmp_path: Path,
) -> None:
    methods = [
        Method("encode", values=[Tensor(None, [2], 1)]),
        Method("decode", values=[Tensor("first", [9], 1)]),
        Method("forward", values=[Tensor("second", [4], 1)]),
    ]
    spec = Pte(segments=[Segment(bytes(16))], constants=Offsets(0, [0, 0]), methods=methods)
    (constant,) = layout_of(spec, tmp_path).entries
    assert (constant.name, constant.size) == ("first", 9)


@pytest.mark.parametrize(
    "tensor",
    [Tensor("state", [4], 1, planned=True), Tensor("elsewhere", [4], 1, external=True)],
)
def test_a_planned_or_external_tensor_describes_no_constant(tmp_path: Path, tensor: Tensor) -> None:
    methods = [Method(values=[tensor])]
    spec = Pte(segments=[Segment(bytes(16))], constants=Offsets(0, [0, 0]), methods=methods)
    (constant,) = layout_of(spec, tmp_path).entries
    assert (constant.name, constant.size) == ("constant 1", None)


@pytest.mark.parametrize("header", [None, 24, 32])
def test_constants_of_old_files_lie_in_the_flatbuffer(tmp_path: Path, header: int | None) -> None:
    spec = Pte(
        header=header,
        inline_constants=[b"", b"one", b"four" * 9, None],
        methods=[Method(values=[Tensor("w", [36], 2)])],
    )
    constants = of_kind(layout_of(spec, tmp_path), "constant")
    assert [c.name for c in constants] == ["constant 1", "w", "constant 3"]
    assert spans(constants) == [*spec.build().inline_constants[1:]]
    assert {c.segment for c in constants} == {None}


def test_an_inline_constant_without_bytes_holds_no_data(tmp_path: Path) -> None:
    (constant,) = layout_of(Pte(inline_constants=[b"", None]), tmp_path).entries
    assert (constant.absolute_offset, constant.size, constant.holds_data) == (None, 0, False)


DELEGATES = Pte(
    segments=[Segment(b"payload" * 5), Segment(b"other")],
    inline_delegates=[b"small", b"inline"],
    methods=[
        Method("forward", [Delegate(backend="Xnn", segment=0), Delegate(backend="Npu", inline=1)]),
        Method(None, [Delegate(backend=None, segment=0), Delegate(backend="Dsp", segment=1)]),
    ],
)


def test_delegates_are_named_by_method_index_and_backend(tmp_path: Path) -> None:
    assert [entry.name for entry in of_kind(layout_of(DELEGATES, tmp_path), "delegate")] == [
        "forward/delegate 0 (Xnn)",
        "forward/delegate 1 (Npu)",
        "method 1/delegate 0 (unnamed backend)",
        "method 1/delegate 1 (Dsp)",
    ]


def test_delegates_lie_in_segments_or_inline_and_may_share_a_segment(tmp_path: Path) -> None:
    delegates = of_kind(layout_of(DELEGATES, tmp_path), "delegate")
    built = DELEGATES.build()
    first, second = built.segments
    assert spans(delegates) == [first, built.inline_delegates[1], first, second]
    assert [delegate.segment for delegate in delegates] == [0, None, 0, 1]


def test_a_delegate_knows_its_backend_and_method(tmp_path: Path) -> None:
    delegates = of_kind(layout_of(DELEGATES, tmp_path), "delegate")
    assert [(d.method, d.backend) for d in delegates] == [
        ("forward", "Xnn"),
        ("forward", "Npu"),
        ("method 1", "unnamed backend"),
        ("method 1", "Dsp"),
    ]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_named_data_come_first_and_the_others_keep_their_indexes(
    tmp_path: Path, count: int
) -> None:
    spec = Pte(
        segments=CONSTANTS.segments,
        named=[Named(f"key {index}", 1) for index in range(count)],
        constants=CONSTANTS.constants,
        methods=[Method("forward", [Delegate(backend="Npu", segment=1)])],
    )
    container = layout_of(spec, tmp_path)
    assert list(container.named_data) == of_kind(container, "named_data")
    assert [entry.name for entry in container.named_data] == [f"key {i}" for i in range(count)]
    assert [entry.kind for _, entry in container.others()] == [*["constant"] * 3, "delegate"]
    assert all(container.entries[index] is entry for index, entry in container.others())


def test_mutable_segments_are_no_entries(tmp_path: Path) -> None:
    spec = Pte(
        segments=[Segment(), Segment(b"state" * 4), Segment(b"more")],
        mutable=[Offsets(1, [0, 0, 16]), Offsets(2, [0, 0])],
    )
    container = layout_of(spec, tmp_path)
    assert container.mutable_segments == (1, 2)
    assert container.entries == ()


def test_a_program_is_told_by_its_content_and_not_by_its_name(tmp_path: Path) -> None:
    path = STORE.build().write(tmp_path / "weights.ptd")
    assert read_container(str(path)).format == "pte"


def test_the_payload_is_never_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = 8 * 2**30
    built = Pte(
        base=4096, data_size=size, segments=[Segment(size=size)], named=[Named("w", 0)]
    ).build()
    path = built.write(tmp_path / "large.pte")
    os.truncate(path, 4096 + size)
    ends = ends_of_reads(monkeypatch)
    container = read_container(str(path))
    assert container.segments[0].size == size
    assert max(ends) <= 4096
