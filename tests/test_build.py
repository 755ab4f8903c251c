"""The builder behind the torch-free tests: upstream's decoders read what it writes as it says."""

from __future__ import annotations

import pytest

from tests.exporter import upstream
from tests.exporter.view import Delegate as SeenDelegate
from tests.exporter.view import Named as Seen
from tests.support import samples
from tests.support.build import Delegate, Method, Named, Offsets, Ptd, Pte, Segment, Tensor

pytestmark = pytest.mark.exporter

SEGMENTS = [Segment(b"k" * 64), Segment(b"d" * 10), Segment(), Segment(b"n" * 20, alignment=256)]
FULL = Pte(
    segments=SEGMENTS,
    named=[Named("a", 3), Named("b", 3), Named("empty", 2)],
    constants=Offsets(0, [0, 0, 16]),
    mutable=[Offsets(2, [0])],
    methods=[
        Method("one", [Delegate(backend="X", segment=1)], [Tensor("w", [4], 1), None]),
        Method(
            "two", [Delegate(segment=1)], [Tensor("v", [2, 3], 2), Tensor("p", [1], 1, 0, True)]
        ),
    ],
    trailing=b"signature",
)
INLINE = Pte(
    header=None,
    inline_delegates=[b"first", b"second" * 9],
    methods=[Method("m", [Delegate(inline=1), Delegate(inline=0)])],
)


@pytest.mark.parametrize("header", [24, 32])
@pytest.mark.parametrize("header_end", [None, 72])
def test_upstream_sees_a_programs_segments_where_the_builder_put_them(
    header: int, header_end: int | None
) -> None:
    spec = Pte(segments=SEGMENTS, header=header, header_end=header_end)
    seen, built = upstream.decode(spec.build().data), spec.build()
    assert seen.segment_base_offset == built.base
    assert [*map(tuple, seen.segments)] == [*map(tuple, built.segments)]


def test_upstream_sees_named_data_where_the_builder_put_them() -> None:
    seen, built = upstream.decode(FULL.build().data), FULL.build()
    assert seen.named_data == (
        Seen("a", 3, *built.segments[3]),
        Seen("b", 3, *built.segments[3]),
        Seen("empty", 2, *built.segments[2]),
    )


def test_upstream_sees_constants_where_the_builder_put_them() -> None:
    seen, built = upstream.decode(FULL.build().data), FULL.build()
    first, second = built.constants
    assert seen.constants == (Seen("w", 0, first, 4), Seen("v", 0, second, 6))
    assert seen.mutable_segments == (2,)


def test_upstream_sees_delegates_where_the_builder_put_them() -> None:
    seen, built = upstream.decode(FULL.build().data), FULL.build()
    payload = built.segments[1]
    assert seen.delegates == (
        SeenDelegate("one", "X", 1, *payload),
        SeenDelegate("two", "Backend", 1, *payload),
    )


def test_upstream_sees_inline_delegates_where_the_builder_put_them() -> None:
    seen, built = upstream.decode(INLINE.build().data), INLINE.build()
    first, second = built.inline_delegates
    assert first is not None
    assert second is not None
    assert seen.delegates == (
        SeenDelegate("m", "Backend", None, *second),
        SeenDelegate("m", "Backend", None, *first),
    )


def test_upstream_sees_a_data_file_as_the_builder_made_it() -> None:
    spec = Ptd(segments=SEGMENTS, named=[Named("a", 3), Named("b", 0)])
    seen, built = upstream.decode(spec.build().data), spec.build()
    assert [*map(tuple, seen.segments)] == [*map(tuple, built.segments)]
    assert seen.named_data == (Seen("a", 3, *built.segments[3]), Seen("b", 0, *built.segments[0]))


def test_the_payloads_that_upstream_reads_are_those_that_were_given() -> None:
    assert upstream.payloads(FULL.build().data) == {"a": b"n" * 20, "b": b"n" * 20, "empty": b""}
    spec = Ptd(segments=SEGMENTS, named=[Named("a", 3)])
    assert upstream.payloads(spec.build().data) == {"a": b"n" * 20}


@pytest.mark.parametrize("make", samples.FORMATS.values(), ids=samples.FORMATS)
def test_the_hand_made_bug_looks_to_upstream_like_the_reported_one(make: samples.Make) -> None:
    seen = upstream.decode(samples.weak_first(make).build().data)
    offsets = {named.name: named.offset for named in seen.named_data}
    assert (offsets["weak"], offsets["strong"]) == (640, 640)


@pytest.mark.parametrize("spec", [FULL, INLINE, Ptd(segments=SEGMENTS)])
def test_the_schema_compiler_accepts_what_the_builder_writes(spec: Pte | Ptd) -> None:
    tables = upstream.flatc_json(spec.build().data)
    claimed = [segment["size"] for segment in tables.get("segments", [])]
    assert claimed == [segment.claimed_size for segment in spec.segments]
