"""Stores written by the real exporter, fixed, and read back by upstream's own decoders."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aligncheck import fix
from tests.exporter import upstream
from tests.exporter.stores import MATRIX, Case, Payload, Registration, program, store
from tests.exporter.view import Format, View

pytestmark = pytest.mark.exporter

each_lost = pytest.mark.parametrize(
    "case", [case for case in MATRIX if case.violations], ids=lambda case: case.filename
)
each_format = pytest.mark.parametrize("container", ["pte", "ptd"])


def fixed(
    content: bytes, requests: Mapping[str, int], segment_alignment: int | None = None
) -> bytes:
    """The same file, fixed in place."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "model")
        path.write_bytes(content)
        fix(path, requests, segment_alignment=segment_alignment)
        return path.read_bytes()


def offsets(view: View) -> dict[str, int]:
    return {named.name: named.offset or 0 for named in (*view.named_data, *view.constants)}


def content_of(case: Case) -> bytes:
    return store(case.registrations, case.format)


def case_named(name: str, container: Format) -> Case:
    return next(case for case in MATRIX if (case.name, case.format) == (name, container))


@each_format
def test_weak_first_becomes_strong_first(container: Format) -> None:
    case = case_named("weak_first", container)
    after = upstream.decode(fixed(content_of(case), {"strong": 256, "weak": 16}))
    control = upstream.decode(content_of(case_named("strong_first", container)))
    assert offsets(after)["strong"] == offsets(after)["weak"] == 768
    assert offsets(after) == offsets(control)
    assert after.segments == control.segments


@each_lost
def test_what_was_lost_is_met_in_the_eyes_of_upstream(case: Case) -> None:
    after = offsets(upstream.decode(fixed(content_of(case), case.requests)))
    assert {key: after[key] % asked for key, asked in case.requests.items() if key in after} == {
        key: 0 for key in case.requests if key in after
    }
    assert {violation.key for violation in case.violations} <= case.requests.keys() & after.keys()


@each_lost
def test_upstream_reads_the_same_payload_for_every_key(case: Case) -> None:
    content = content_of(case)
    after = fixed(content, case.requests)
    assert after != content
    assert upstream.payloads(after) == {r.key: r.data for r in case.registrations}


@each_lost
def test_the_number_of_segments_is_unchanged(case: Case) -> None:
    before = upstream.decode(content_of(case))
    after = upstream.decode(fixed(content_of(case), case.requests))
    assert len(after.segments) == len(before.segments)
    assert [span.size for span in after.segments] == [span.size for span in before.segments]


@each_lost
def test_a_fixed_store_is_fixed_already(case: Case) -> None:
    once = fixed(content_of(case), case.requests)
    assert fixed(once, case.requests) == once


@each_format
def test_the_schema_compiler_still_reads_the_file(container: Format) -> None:
    case = case_named("weak_first", container)
    content = content_of(case)
    before, after = upstream.flatc_json(content), upstream.flatc_json(fixed(content, case.requests))
    # Offset 640 - 512 has become 768 - 512, and nothing else is different.
    (one, two) = ([segment.pop("offset") for segment in x["segments"]] for x in (before, after))
    assert [(a, b) for a, b in zip(one, two, strict=True) if a != b] == [(128, 256)]
    assert before == after


ALIGNMENTS = st.sampled_from([1, 2, 3, 4, 5, 12, 16, 48, 100, 128, 256, 1000, 4096, 16384])
DATA = st.sampled_from([b"", b"1", b"22", 13 * b"three", 40 * b"four", 1000 * b"5"])


@st.composite
def registrations(draw: st.DrawFn) -> list[Registration]:
    """Different keys, some of them on equal data, and some data empty."""
    asked = draw(st.lists(st.tuples(DATA, ALIGNMENTS), min_size=1, max_size=5))
    return [Registration(f"key{i}", data, alignment) for i, (data, alignment) in enumerate(asked)]


def requests_of(order: Sequence[Registration]) -> dict[str, int]:
    return {r.key: r.alignment for r in order}


def violated(view: View, requests: Mapping[str, int]) -> list[str]:
    return [
        named.name
        for named in (*view.named_data, *view.constants)
        if named.size and (named.offset or 0) % requests.get(named.name, 1)
    ]


def kept(offset: int) -> int:
    return math.gcd(offset, 2**16)


def check_store(order: list[Registration], container: Format, segment_alignment: int) -> None:
    """Everything that the issue asks of a fixed store, as upstream sees it."""
    requests = requests_of(order)
    content = store(order, container, segment_alignment=segment_alignment)
    result = fixed(content, requests)
    before, after = upstream.decode(content), upstream.decode(result)
    assert violated(after, requests) == []
    assert upstream.payloads(result) == upstream.payloads(content)
    assert len(after.segments) == len(before.segments)
    for old, new in zip(before.segments, after.segments, strict=True):
        assert (new.size, new.offset >= old.offset) == (old.size, True)
        assert kept(new.offset) >= kept(old.offset)
    assert fixed(result, requests) == result


@settings(max_examples=40, deadline=None)
@given(registrations(), st.sampled_from([16, 128, 4096]))
def test_any_store_in_a_pte(order: list[Registration], segment_alignment: int) -> None:
    check_store(order, "pte", segment_alignment)


@settings(max_examples=15, deadline=None)
@given(registrations(), st.sampled_from([16, 128, 4096]))
def test_any_store_in_a_ptd(order: list[Registration], segment_alignment: int) -> None:
    check_store(order, "ptd", segment_alignment)


@settings(max_examples=15, deadline=None)
@given(registrations().flatmap(lambda order: st.tuples(st.just(order), st.permutations(order))))
def test_the_order_of_registration_does_not_decide_what_is_met(
    orders: tuple[list[Registration], list[Registration]],
) -> None:
    requests = requests_of(orders[0])
    views = [upstream.decode(fixed(store(order, "pte"), requests)) for order in orders]
    assert [violated(view, requests) for view in views] == [[], []]


class Drawn(NamedTuple):
    """A program, what its constants hold, and what is asked of it."""

    content: bytes
    constants: list[bytes]
    requests: dict[str, int]


@st.composite
def programs(draw: st.DrawFn) -> Drawn:
    """Programs with all that a program can hold."""
    named = draw(registrations())
    constants = draw(st.lists(st.binary(min_size=1, max_size=40), max_size=3))
    delegates = [Payload("B", b"%d" % i * 77) for i in range(draw(st.integers(0, 2)))]
    content = program(
        named=named,
        constants={f"const{i}": value for i, value in enumerate(constants)},
        mutable=draw(st.sampled_from([[], [b"state"]])),
        methods={"m": delegates},
    )
    asked = draw(st.dictionaries(st.sampled_from(["const0", "const1"]), ALIGNMENTS))
    return Drawn(content, constants, requests_of(named) | asked)


@settings(max_examples=40, deadline=None)
@given(programs(), ALIGNMENTS)
def test_any_program(drawn: Drawn, segment_alignment: int) -> None:
    result = fixed(drawn.content, drawn.requests, segment_alignment)
    view = upstream.decode(result)
    assert violated(view, drawn.requests) == []
    assert [span for span in view.segments if span.size and span.offset % segment_alignment] == []
    for read in (upstream.payloads, upstream.delegate_payloads, upstream.mutable_payloads):
        assert read(result) == read(drawn.content)
    # Upstream does not know where a constant ends, and returns the padding after it as well.
    pairs = zip(upstream.constant_payloads(result), drawn.constants, strict=True)
    assert all(whole[: len(data)] == data for whole, data in pairs)
