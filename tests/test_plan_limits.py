"""What a plan cannot meet: it says so with the reason, and does the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from aligncheck import audit
from tests.support.build import Delegate, Method, Named, Ptd, Pte, Segment
from tests.support.fixing import fixed, given_up, moved, planned

BASE = 1024
GIB = 2**30
REST = {"rest": 4096}


def overlapping(base: int = BASE) -> Ptd:
    """Two segments of 100 bytes that share 60, and a third after them."""
    segments = [
        Segment(b"a" * 100, offset=0),
        Segment(b"a" * 60 + b"b" * 40, offset=40),
        Segment(b"rest", offset=1200 - base),
    ]
    named = [Named("a", 0), Named("b", 1), Named("rest", 2)]
    return Ptd(base=base, segments=segments, named=named)


def test_overlapping_segments_that_cannot_both_be_aligned_are_given_up(tmp_path: Path) -> None:
    result = fixed(overlapping(), tmp_path, {"a": 64, "b": 64} | REST)
    # They are 40 bytes apart. What is met today, `a`, is kept.
    assert given_up(result.plan) == [("b", 64, "conflict")]
    assert moved(result.plan) == {2: (1200, 4096)}
    assert result.payload(2) == b"rest"


def test_what_is_met_today_comes_before_what_is_not(tmp_path: Path) -> None:
    # 1026 and 1066, of which only the second is a multiple of 13.
    made = planned(overlapping(1026), tmp_path, {"a": 13, "b": 13})
    assert given_up(made) == [("a", 13, "conflict")]


def test_of_overlapping_segments_what_can_be_met_is_met(tmp_path: Path) -> None:
    result = fixed(overlapping(), tmp_path, {"a": 3, "b": 19, "rest": 7})
    assert given_up(result.plan) == []
    assert result.after.offset_of("a") % 3 == 0
    assert result.after.offset_of("b") % 19 == 0
    assert result.after.offset_of("rest") % 7 == 0


def test_a_conflict_with_the_alignment_that_a_segment_has_is_one(tmp_path: Path) -> None:
    # `a` is at a multiple of 1024 and keeps that, though nobody has asked for it.
    assert given_up(planned(overlapping(), tmp_path, {"b": 16})) == [("b", 16, "conflict")]


def test_an_lcm_above_1_gib_is_given_up(tmp_path: Path) -> None:
    result = planned(overlapping(), tmp_path, {"rest": 3, "r*": GIB, "a": 5})
    assert given_up(result) == [("rest", GIB, "too-large")]
    assert moved(result)[0] == (1024, 5 * 1024)
    assert moved(result)[2][1] % 3 == 0


def test_an_lcm_of_1_gib_is_not(tmp_path: Path) -> None:
    made = planned(overlapping(), tmp_path, {"rest": GIB})
    assert given_up(made) == []
    assert moved(made) == {2: (1200, GIB)}


def test_inline_data_is_given_up(tmp_path: Path) -> None:
    spec = Pte(
        base=BASE,
        segments=[Segment(b"rest", offset=4)],
        named=[Named("rest", 0)],
        inline_delegates=[b"payload"],
        methods=[Method("m", [Delegate(backend="B", inline=0)])],
    )
    result = fixed(spec, tmp_path, {"m/*": GIB} | REST)
    assert given_up(result.plan) == [("m/delegate 0 (B)", GIB, "inline")]
    assert moved(result.plan) == {0: (1028, 4096)}


def test_a_segment_over_the_metadata_keeps_all_from_moving(tmp_path: Path) -> None:
    segments = [Segment(size=8, offset=0), Segment(b"rest", offset=BASE)]
    spec = Ptd(base=8, segments=segments, named=[Named("rest", 1)])
    made = planned(spec, tmp_path, REST)
    assert given_up(made) == [("rest", 4096, "metadata")]
    assert not made.changes


def test_a_request_on_a_segment_itself_is_given_up_by_its_index(tmp_path: Path) -> None:
    made = planned(overlapping(), tmp_path, segment_alignment=64)
    assert given_up(made) == [(1, 64, "conflict")]
    assert moved(made) == {2: (1200, 1216)}


@pytest.mark.parametrize("requests", [{"b": 64}, {"a": 64, "b": 48}, {"b": 64} | REST])
def test_what_is_given_up_is_exactly_what_is_violated_afterwards(
    tmp_path: Path, requests: dict[str, int]
) -> None:
    result = fixed(overlapping(), tmp_path, requests)
    findings = audit(tmp_path / "fixed", requests).findings
    left = [(f.entry and f.entry.name, r.alignment) for f in findings for r in f.requests]
    assert left == [(name, alignment) for name, alignment, _ in given_up(result.plan)] != []


def test_giving_up_changes_no_byte_if_that_is_all(tmp_path: Path) -> None:
    result = fixed(overlapping(), tmp_path, {"b": 64})
    assert result.data == result.before.data
    assert not result.plan.changes
