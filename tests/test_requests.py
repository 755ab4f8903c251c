"""Requests: how they are written, and which entries and segments they are for."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aligncheck.errors import AligncheckError, BadRequest
from aligncheck.model import Container, Request
from aligncheck.requests import Asked, gather
from aligncheck.requests.declared import (
    Declared,
    SegmentAlignment,
    parse_alignment,
    parse_requirement,
)
from aligncheck.requests.format_rules import FormatRules
from tests.support.build import Delegate, Method, Named, Offsets, Ptd, Pte, Segment, Tensor
from tests.support.reading import layout_of

GIB = 2**30
UNITS = {"": 1, "K": 2**10, "KiB": 2**10, "M": 2**20, "MiB": 2**20, "G": GIB, "GiB": GIB}


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", 1),
        ("3", 3),
        ("256", 256),
        ("0256", 256),
        ("0x100", 256),
        ("0XfF", 255),
        ("4K", 4096),
        ("4k", 4096),
        ("16KiB", 16384),
        ("16kib", 16384),
        ("1MiB", 1048576),
        ("2M", 2097152),
        ("1G", GIB),
        ("1GiB", GIB),
        ("0x40000000", GIB),
        (" 64 ", 64),
    ],
)
def test_bytes_are_decimal_or_hexadecimal_with_a_binary_unit(text: str, number: int) -> None:
    assert parse_alignment(text) == number


@pytest.mark.parametrize(
    "text",
    ["", " ", "x", "K", "1.5K", "1e3", "1 K", "4KB", "4B", "1_000", "0x", "0xg", "٤", "+4", "4Ki"],
)
def test_what_is_no_number_of_bytes_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="is no number of bytes; write 256, 0x100, 4K, 16KiB or"):
        parse_alignment(text)


@pytest.mark.parametrize("text", ["0", "0x0", "0K", str(GIB + 1), "2G", "1025M", "9" * 16])
def test_zero_and_more_than_1_gib_are_refused(text: str) -> None:
    with pytest.raises(BadRequest, match=r"^an alignment is 1 byte to 1 GiB, not \d+$"):
        parse_alignment(text)


@pytest.mark.parametrize("text", ["-1", "-0x10", "-4K"])
def test_a_negative_number_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match=f"^'{text}' is no number of bytes"):
        parse_alignment(text)


@given(st.integers(1, GIB), st.sampled_from([str, hex]))
def test_every_alignment_up_to_1_gib_can_be_written(number: int, write: type[str]) -> None:
    assert parse_alignment(write(number)) == number


@given(st.integers(1, 1023), st.sampled_from(sorted(UNITS)))
def test_a_unit_multiplies(count: int, unit: str) -> None:
    number = count * UNITS[unit]
    if number <= GIB:
        assert parse_alignment(f"{count}{unit}") == number
    else:
        with pytest.raises(BadRequest):
            parse_alignment(f"{count}{unit}")


@given(st.text(max_size=30) | st.from_regex(r"[0-9a-fxXkKmMgGiIbB]{1,40}", fullmatch=True))
def test_any_text_is_an_alignment_in_range_or_refused(text: str) -> None:
    try:
        number = parse_alignment(text)
    except BadRequest:
        return
    assert 1 <= number <= GIB


def test_a_very_long_number_is_refused_and_not_computed() -> None:
    with pytest.raises(BadRequest, match="is no number of bytes"):
        parse_alignment("9" * 1_000_000)


@pytest.mark.parametrize(
    ("text", "key", "number"),
    [
        ("weak=16", "weak", 16),
        ("npu.*=4K", "npu.*", 4096),
        ("a=b=0x40", "a=b", 64),
        ("==8", "=", 8),
        (" spaced key =8", " spaced key ", 8),
        ("forward/delegate 0 (X)=64", "forward/delegate 0 (X)", 64),
    ],
)
def test_a_requirement_is_split_at_its_last_equals_sign(text: str, key: str, number: int) -> None:
    assert parse_requirement(text) == (key, number)


@pytest.mark.parametrize("text", ["", "weak", "=16", "16"])
def test_a_requirement_needs_a_key_and_bytes(text: str) -> None:
    with pytest.raises(BadRequest, match=r"is not KEY=BYTES, for example 'npu\.\*=4K'$"):
        parse_requirement(text)


@pytest.mark.parametrize("text", ["weak=", "weak=0", "weak=-4", "weak=2G", "weak=x"])
def test_the_bytes_of_a_requirement_are_checked(text: str) -> None:
    with pytest.raises(BadRequest):
        parse_requirement(text)


@given(st.text(min_size=1, max_size=20), st.integers(1, GIB))
def test_any_key_can_be_given(key: str, number: int) -> None:
    assert parse_requirement(f"{key}={number}") == (key, number)


def test_a_bad_request_is_one_of_the_packages_errors_and_a_value_error() -> None:
    with pytest.raises(AligncheckError):
        parse_alignment("x")
    with pytest.raises(ValueError, match="1 byte to 1 GiB"):
        SegmentAlignment(0, origin="test")


@pytest.mark.parametrize("number", [0, -1, GIB + 1, 2**64])
def test_an_alignment_out_of_range_is_refused_by_the_api_too(number: int) -> None:
    with pytest.raises(BadRequest, match=f"not {number}$"):
        Declared([("weak", number)], origin="test")


NAMES = ["npu.w", "npu.b", "npu.*", "w[0]", "w0", "NPU.x", "two\nlines", "npu.w"]


@pytest.fixture
def store(tmp_path: Path) -> Container:
    return layout_of(
        Ptd(segments=[Segment(b"1")], named=[Named(name, 0) for name in NAMES]), tmp_path
    )


@pytest.mark.parametrize(
    ("key", "answering"),
    [
        ("npu.b", [1]),
        ("npu.w", [0, 7]),
        ("npu.?", [0, 1, 2, 7]),
        ("npu*", [0, 1, 2, 7]),
        ("*", [0, 1, 2, 3, 4, 5, 6, 7]),
        ("w[0-9]", [4]),
        ("[wn]*", [0, 1, 2, 3, 4, 7]),
        ("two*lines", [6]),
        ("none", []),
        ("none*", []),
        ("npu", []),
        ("w\\[0\\]", []),
    ],
)
def test_a_key_is_a_name_or_else_a_glob_over_names(
    store: Container, key: str, answering: list[int]
) -> None:
    asked = Declared([(key, 64)], origin="test").ask(store)
    assert sorted(index for index, _ in asked.entries) == answering
    assert asked.unmatched == ([] if answering else [key])


@pytest.mark.parametrize(("key", "only"), [("npu.*", 2), ("w[0]", 3)])
def test_a_key_that_is_a_name_is_no_glob(store: Container, key: str, only: int) -> None:
    asked = Declared([(key, 64)], origin="test").ask(store)
    assert [index for index, _ in asked.entries] == [only]


def test_the_origin_of_a_request_tells_the_key_and_the_number(store: Container) -> None:
    asked = Declared([("npu.?", 64)], origin="--require", level="warning").ask(store)
    expected = Request(alignment=64, origin="--require npu.?=64", level="warning")
    assert {request for _, request in asked.entries} == {expected}


def test_an_entry_may_be_asked_for_by_several_keys(store: Container) -> None:
    asked = Declared([("npu.b", 3), ("npu.*b", 4)], origin="test").ask(store)
    assert [(index, r.alignment) for index, r in asked.entries] == [(1, 3), (1, 4)]


def test_constants_and_delegates_answer_to_their_names(tmp_path: Path) -> None:
    spec = Pte(
        segments=[Segment(bytes(16)), Segment(b"2")],
        constants=Offsets(0, [0, 0]),
        methods=[Method("run", [Delegate(backend="Npu", segment=1)], [Tensor("w", [4], 1)])],
    )
    container = layout_of(spec, tmp_path)
    for key in ("w", "run/delegate 0 (Npu)", "*(Npu)"):
        assert Declared([(key, 64)], origin="test").ask(container).unmatched == []


def test_a_glob_of_many_stars_does_not_take_for_ever(tmp_path: Path) -> None:
    spec = Ptd(segments=[Segment(b"1")], named=[Named("a" * 2_000, 0)])
    container = layout_of(spec, tmp_path)
    start = time.monotonic()
    assert Declared([("*a" * 30 + "b", 64)], origin="test").ask(container).entries == []
    assert time.monotonic() - start < 5


def test_a_segment_alignment_is_asked_of_every_segment_that_holds_data(tmp_path: Path) -> None:
    spec = Ptd(segments=[Segment(), Segment(b"1"), Segment(), Segment(b"2")])
    asked = SegmentAlignment(64, origin="test").ask(layout_of(spec, tmp_path))
    assert asked.segments == [
        (1, Request(alignment=64, origin="test")),
        (3, Request(alignment=64, origin="test")),
    ]
    assert asked.entries == []


def format_requests(spec: Pte | Ptd, folder: Path) -> dict[str, list[int]]:
    container = layout_of(spec, folder)
    result: dict[str, list[int]] = {entry.name: [] for entry in container.entries}
    for index, request in FormatRules().ask(container).entries:
        result[container.entries[index].name].append(request.alignment)
    return result


def test_the_format_asks_16_of_constants_and_inline_data_and_nothing_of_the_rest(
    tmp_path: Path,
) -> None:
    spec = Pte(
        segments=[Segment(bytes(32)), Segment(b"payload")],
        named=[Named("named", 1)],
        constants=Offsets(0, [0, 0, 16]),
        inline_delegates=[b"payload"],
        methods=[Method("m", [Delegate(segment=1), Delegate(inline=0)], [Tensor("w", [4], 1)])],
    )
    assert format_requests(spec, tmp_path) == {
        "named": [],
        "w": [16],
        "constant 2": [16],
        "m/delegate 0 (Backend)": [],
        "m/delegate 1 (Backend)": [16],
    }


def test_the_format_asks_16_of_inline_constants(tmp_path: Path) -> None:
    assert format_requests(Pte(inline_constants=[b"", b"1"]), tmp_path) == {"constant 1": [16]}


def test_the_format_asks_nothing_of_data_that_is_not_there(tmp_path: Path) -> None:
    spec = Pte(
        inline_constants=[b"", b"", None],
        inline_delegates=[None],
        methods=[Method("m", [Delegate(inline=0)])],
    )
    assert format_requests(spec, tmp_path) == {
        "constant 1": [],
        "constant 2": [],
        "m/delegate 0 (Backend)": [],
    }


class Fixed:
    """An asker of somebody's own."""

    def __init__(self, indexes: Sequence[int], alignment: int) -> None:
        self.indexes = indexes
        self.alignment = alignment

    def ask(self, container: Container) -> Asked:
        assert container.entries
        request = Request(alignment=self.alignment, origin="own")
        return Asked(entries=[(i, request) for i in self.indexes], unmatched=[str(self.alignment)])


def test_askers_are_asked_in_their_order(store: Container) -> None:
    asked = gather(store, [Fixed([2, 0], 8), Fixed([2], 4)])
    assert [(index, r.alignment) for index, r in asked.entries] == [(2, 8), (0, 8), (2, 4)]
    assert asked.unmatched == ["8", "4"]
