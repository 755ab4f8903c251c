"""Reading data files (.ptd), built by hand: each offset is compared with the builder's."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from aligncheck.formats import read_container
from tests.support.build import Named, Ptd, Segment, patched
from tests.support.flat import Number, Numbers, Table, Tables, Text, encode
from tests.support.reading import ends_of_reads, fault_of, layout_of, of_kind, spans

STORE = Ptd(
    segments=[Segment(b"weights" * 9), Segment(), Segment(b"x" * 5), Segment(b"y" * 300)],
    named=[Named("a", 2), Named("b", 3), Named("c", 2), Named("empty", 1)],
)


def u64(number: int) -> bytes:
    return struct.pack("<Q", number)


def test_segments_lie_where_they_were_written(tmp_path: Path) -> None:
    container, built = layout_of(STORE, tmp_path), STORE.build()
    assert container.format == "ptd"
    assert container.size == len(built.data)
    assert container.segment_base_offset == built.base
    assert [(s.absolute_offset, s.size) for s in container.segments] == [*built.segments]
    assert [s.offset for s in container.segments] == [0, 0, 128, 256]


def test_the_place_of_a_segment_field_is_where_its_bytes_are(tmp_path: Path) -> None:
    container, built = layout_of(STORE, tmp_path), STORE.build()
    assert tuple(s.offset_place for s in container.segments) == built.offset_places
    assert tuple(s.size_place for s in container.segments) == built.size_places


def test_the_header_tells_where_its_fields_are(tmp_path: Path) -> None:
    header = layout_of(STORE, tmp_path).header
    assert header is not None
    assert (header.base_place, header.data_size_place) == (32, 40)
    assert (header.length, header.data_size) == (40, 556)


@pytest.mark.parametrize(("length", "end"), [(40, 48), (40, 56), (40, 128), (41, 64), (64, 80)])
def test_a_header_may_be_longer_and_padded(tmp_path: Path, length: int, end: int) -> None:
    spec = Ptd(segments=STORE.segments, named=STORE.named, header=length, header_end=end)
    container, built = layout_of(spec, tmp_path), spec.build()
    assert container.metadata_end == built.metadata_end
    assert [(s.absolute_offset, s.size) for s in container.segments] == [*built.segments]


def test_named_data_lie_where_their_segments_do(tmp_path: Path) -> None:
    container = layout_of(STORE, tmp_path)
    named, segments = of_kind(container, "named_data"), STORE.build().segments
    assert named == [*container.entries]
    assert [(n.name, n.segment) for n in named] == [("a", 2), ("b", 3), ("c", 2), ("empty", 1)]
    assert spans(named) == [segments[2], segments[3], segments[2], segments[1]]


def test_a_file_without_data_is_read(tmp_path: Path) -> None:
    container = layout_of(Ptd(), tmp_path)
    assert (container.segments, container.entries) == ((), ())


def test_segment_alignments_may_be_any_number(tmp_path: Path) -> None:
    spec = Ptd(base=200, segment_alignment=12, segments=[Segment(b"1" * 5), Segment(b"2" * 5)])
    assert [s.absolute_offset for s in layout_of(spec, tmp_path).segments] == [200, 212]


def test_bytes_after_the_last_segment_are_legal(tmp_path: Path) -> None:
    container = layout_of(Ptd(segments=STORE.segments, trailing=b"signature"), tmp_path)
    assert container.size == container.segments[-1].end + 9


def legacy() -> bytes:
    """A .ptd as ExecuTorch 0.6 wrote it: the same identifier, other tables."""
    tensor = Table({0: Text("w"), 1: Number("I8", 6), 2: Numbers("I32", [1]), 5: None})
    segment = Table({0: None, 1: Number("U64", 4)})
    root = Table({1: Number("U32", 16), 2: Tables([tensor]), 3: Tables([segment])})
    flat = encode(root, b"FT01").data
    start = struct.unpack_from("<I", flat)[0] + 40
    header = struct.pack("<I4s4sIQQQQ", start, b"FT01", b"FH01", 40, 48, len(flat) - 8, 256, 4)
    return (header + flat[8:]).ljust(256, b"\0") + b"data"


def test_the_layout_of_executorch_0_6_is_called_by_its_name(tmp_path: Path) -> None:
    assert fault_of(legacy(), tmp_path) == (
        "is a .ptd in the layout of ExecuTorch 0.6, which is not supported;"
        " export it again with ExecuTorch 0.7 or later"
    )


def test_a_header_must_be_there(tmp_path: Path) -> None:
    fault = fault_of(Ptd(magic=b"FH02").build().data, tmp_path)
    assert fault == "byte 8: found b'FH02' where a .ptd has b'FH01'"


@pytest.mark.parametrize("length", [0, 24, 39])
def test_a_header_that_is_too_short_is_refused(tmp_path: Path, length: int) -> None:
    data = patched(STORE.build().data, 12, struct.pack("<I", length))
    assert fault_of(data, tmp_path) == (
        f"header length (byte 12): is {length}, but a header has at least 40 bytes"
    )


@pytest.mark.parametrize("number", [2**20, 2**63, 2**64 - 1])
@pytest.mark.parametrize(
    ("at", "place", "rest"),
    [
        (16, "flatbuffer offset + flatbuffer size (bytes 16 and 24)", "flatbuffer"),
        (24, "flatbuffer offset + flatbuffer size (bytes 16 and 24)", "start"),
        (32, "segment base offset (byte 32)", "nothing"),
        (40, "segment base offset + segment data size (bytes 32 and 40)", "base"),
    ],
)
def test_a_header_that_points_outside_the_file_is_refused(
    tmp_path: Path, at: int, place: str, rest: str, number: int
) -> None:
    built = STORE.build()
    start = 48
    added = {
        "flatbuffer": built.metadata_end - start,
        "start": start,
        "nothing": 0,
        "base": built.base,
    }
    fault = fault_of(patched(built.data, at, u64(number)), tmp_path)
    assert fault == (
        f"{place}: is {number + added[rest]}, but the file has {len(built.data)} bytes;"
        " was it downloaded completely?"
    )


def test_a_segment_index_out_of_range_is_refused(tmp_path: Path) -> None:
    spec = Ptd(segments=[Segment(b"1")], named=[Named("a", 0), Named("b", 1)])
    assert fault_of(spec.build().data, tmp_path) == (
        "named_data[1].segment_index: is 1, but the file has 1 segments"
    )


def test_a_key_must_be_there(tmp_path: Path) -> None:
    spec = Ptd(segments=[Segment(b"1")], named=[Named(None, 0)])
    assert fault_of(spec.build().data, tmp_path) == "named_data[0].key: is missing"


def test_a_segment_outside_the_file_is_refused(tmp_path: Path) -> None:
    spec = Ptd(base=256, data_size=0, segments=[Segment(b"1"), Segment(b"234", 64, 4)])
    assert fault_of(spec.build().data, tmp_path) == (
        "segments[1]: ends at byte 324 (base 256 + offset 64 + size 4), but the file has 323;"
        " was it downloaded completely?"
    )


@pytest.mark.parametrize(("offset", "size"), [(2**64 - 1, 1), (1, 2**64 - 1), (2**64 - 1, 0)])
def test_a_segment_whose_end_would_wrap_is_refused(tmp_path: Path, offset: int, size: int) -> None:
    spec = Ptd(base=128, data_size=0, segments=[Segment(b"", offset, size)], trailing=bytes(99))
    assert fault_of(spec.build().data, tmp_path) == (
        f"segments[0]: base 128 + offset {offset} + size {size} does not fit 64 bits"
    )


def test_a_file_cut_anywhere_is_refused(tmp_path: Path) -> None:
    data = STORE.build().data
    for size in range(len(data)):
        assert fault_of(data[:size], tmp_path)


def test_a_data_file_is_told_by_its_content_and_not_by_its_name(tmp_path: Path) -> None:
    path = STORE.build().write(tmp_path / "model.pte")
    assert read_container(str(path)).format == "ptd"


def test_the_payload_is_never_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = 8 * 2**30
    built = Ptd(
        base=4096, data_size=size, segments=[Segment(size=size)], named=[Named("w", 0)]
    ).build()
    path = built.write(tmp_path / "large.ptd")
    os.truncate(path, 4096 + size)
    ends = ends_of_reads(monkeypatch)
    assert read_container(str(path)).segments[0].size == size
    assert max(ends) <= 4096
