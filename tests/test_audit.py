"""Judging a file: which requests its offsets violate, and how the alignment was lost."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aligncheck import Audit, BadRequest, Container, Finding, Request, audit
from aligncheck.model import Level, alignment_of, lcm_of
from aligncheck.requests import Asked
from tests.support import samples
from tests.support.build import Delegate, Method, Named, Offsets, Ptd, Pte, Segment, Tensor
from tests.support.samples import CLEAN, FORMATS, REQUESTS, Make, Spec

both_formats = pytest.mark.parametrize("make", FORMATS.values(), ids=FORMATS)


def audited(
    spec: Spec, folder: Path, requests: Mapping[str, int], segment_alignment: int | None = None
) -> Audit:
    path = spec.build().write(folder / "sample")
    return audit(path, requests, segment_alignment=segment_alignment)


def only(result: Audit) -> Finding:
    """The finding, which must be the only one."""
    (finding,) = result.findings
    return finding


def shown(finding: Finding) -> tuple[object, ...]:
    """A finding of an entry, in short."""
    assert finding.entry is not None
    numbers = (finding.absolute_offset, finding.required, finding.actual, finding.remainder)
    return (finding.rule, finding.level, finding.entry.name, *numbers, finding.cause)


@both_formats
def test_a_request_that_was_dropped_when_equal_data_was_merged_is_found(
    tmp_path: Path, make: Make
) -> None:
    finding = only(audited(samples.weak_first(make), tmp_path, REQUESTS))
    assert shown(finding) == ("AC101", "error", "strong", 640, 256, 128, 128, "shared-segment")
    assert (finding.segment, finding.sharer) == (1, "weak")
    assert finding.requests == (Request(alignment=256, origin="requests strong=256"),)


@both_formats
@pytest.mark.parametrize("sample", CLEAN.values(), ids=CLEAN)
def test_the_controls_are_clean(tmp_path: Path, make: Make, sample: samples.Sample) -> None:
    result = audited(sample(make), tmp_path, REQUESTS)
    assert result.findings == ()
    assert result.unknown == 0


@both_formats
def test_a_lone_request_above_the_alignment_of_the_base_is_found(
    tmp_path: Path, make: Make
) -> None:
    finding = only(audited(samples.lone(make), tmp_path, {"strong": 4096}))
    assert shown(finding) == ("AC101", "error", "strong", 384, 4096, 128, 384, "segment-base")


@both_formats
def test_alignments_need_not_be_powers_of_two(tmp_path: Path, make: Make) -> None:
    finding = only(audited(samples.lcm(make), tmp_path, {"a": 3, "b": 4}))
    assert shown(finding) == ("AC101", "error", "a", 256, 3, 256, 1, "segment-base")


@both_formats
def test_an_entry_is_judged_by_the_lcm_of_its_requests(tmp_path: Path, make: Make) -> None:
    result = audited(samples.lcm(make), tmp_path, {"a": 3, "a*": 4})
    finding = only(result)
    assert (finding.required, finding.remainder) == (12, 4)
    assert [request.alignment for request in finding.requests] == [3]


def test_all_requests_on_a_segment_together_ask_for_their_lcm(tmp_path: Path) -> None:
    spec = Ptd(
        segments=[Segment(b"1"), Segment(b"2"), Segment()],
        named=[Named("a", 0), Named("b", 0), Named("empty", 2)],
    )
    result = audited(spec, tmp_path, {"a": 3, "b": 4, "empty": 64}, segment_alignment=10)
    assert result.segment_targets() == (60, 10, 1)


@pytest.mark.parametrize(
    ("spec", "rule", "name"),
    [
        (Ptd(base=136, segments=[Segment(b"1")], named=[Named("n", 0)]), "AC101", "n"),
        (
            Pte(base=1032, segments=[Segment(b"1" * 9)], constants=Offsets(0, [0, 0])),
            "AC102",
            "constant 1",
        ),
        (
            Pte(
                base=1032,
                segments=[Segment(b"1")],
                methods=[Method("m", [Delegate(backend="B", segment=0)])],
            ),
            "AC103",
            "m/delegate 0 (B)",
        ),
    ],
)
def test_each_kind_of_entry_has_its_rule(tmp_path: Path, spec: Spec, rule: str, name: str) -> None:
    finding = only(audited(spec, tmp_path, {name: 16}))
    assert finding.entry is not None
    assert (finding.rule, finding.entry.name, finding.remainder) == (rule, name, 8)


def test_a_segment_has_a_rule_of_its_own(tmp_path: Path) -> None:
    spec = Ptd(base=384, segments=[Segment(b"1"), Segment(b"2", offset=128), Segment()])
    result = audited(spec, tmp_path, {}, segment_alignment=512)
    finding = only(result)
    assert (finding.rule, finding.entry, finding.segment) == ("AC104", None, 0)
    assert (finding.absolute_offset, finding.required, finding.remainder) == (384, 512, 384)
    assert finding.cause == "segment-base"
    assert finding.requests == (Request(alignment=512, origin="segment_alignment"),)


def test_a_misaligned_inline_payload_is_found_without_being_asked_for(tmp_path: Path) -> None:
    spec = Pte(
        header_end=48,  # 8 bytes less than a multiple of 16 after the flatbuffer's first 8
        inline_delegates=[b"payload"],
        methods=[Method("m", [Delegate(backend="B", inline=0)])],
    )
    finding = only(audited(spec, tmp_path, {}))
    (span,) = spec.build().inline_delegates
    assert span is not None
    assert shown(finding)[:4] == ("AC103", "error", "m/delegate 0 (B)", span.offset)
    assert (finding.required, finding.remainder, finding.cause) == (16, 8, "offset")
    assert finding.segment is None


def test_a_misaligned_constant_is_found_without_being_asked_for(tmp_path: Path) -> None:
    spec = Pte(
        segments=[Segment(bytes(64))],
        constants=Offsets(0, [0, 0, 24]),
        methods=[Method(values=[Tensor("w", [8], 2)])],
    )
    finding = only(audited(spec, tmp_path, {}))
    (_, offset) = spec.build().constants
    assert shown(finding) == ("AC102", "error", "w", offset, 16, 8, 8, "offset")


def cause_of(
    folder: Path, base: int, offset: int, requests: Mapping[str, int], *others: str
) -> tuple[str, str | None]:
    """Cause and sharer for the entry `strict`, which shares its segment with the others."""
    named = [Named(name, 0) for name in ("strict", *others)]
    spec = Ptd(base=base, segments=[Segment(b"data", offset=offset)], named=named)
    findings = audited(spec, folder, requests).findings
    (finding,) = [f for f in findings if f.entry and f.entry.name == "strict"]
    return finding.cause, finding.sharer


def test_the_cause_is_the_base_if_the_offset_from_it_would_do(tmp_path: Path) -> None:
    assert cause_of(tmp_path, 640, 256, {"strict": 256}) == ("segment-base", None)


def test_the_base_is_the_cause_before_sharing_is(tmp_path: Path) -> None:
    requests = {"strict": 256, "weak": 16}
    assert cause_of(tmp_path, 640, 256, requests, "weak") == ("segment-base", None)


def test_the_cause_is_sharing_if_another_name_asks_for_less_and_gets_it(tmp_path: Path) -> None:
    requests = {"strict": 256, "weak": 16}
    assert cause_of(tmp_path, 640, 64, requests, "weak") == ("shared-segment", "weak")


def test_the_sharer_that_asks_for_the_least_is_named(tmp_path: Path) -> None:
    requests = {"strict": 256, "x": 64, "a": 16, "weaker": 8}
    cause = cause_of(tmp_path, 640, 64, requests, "x", "a", "weaker")
    assert cause == ("shared-segment", "weaker")


@pytest.mark.parametrize(
    ("requests", "why"),
    [
        ({"strict": 256}, "nothing is known of the other name"),
        ({"strict": 256, "other": 128}, "the other name does not get what it asks for"),
        ({"strict": 128, "other": 128}, "the other name asks for as much"),
        ({"strict": 128, "other": 512}, "the other name asks for more"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_sharing_is_no_cause_if(tmp_path: Path, requests: dict[str, int], why: str) -> None:
    assert cause_of(tmp_path, 640, 64, requests, "other") == ("offset", None), why


def test_the_cause_is_the_offset_if_nothing_else_explains_it(tmp_path: Path) -> None:
    assert cause_of(tmp_path, 640, 64, {"strict": 256}) == ("offset", None)


def test_an_entry_elsewhere_is_no_sharer(tmp_path: Path) -> None:
    spec = Ptd(
        base=640,
        segments=[Segment(b"1", offset=64), Segment(b"2", offset=128)],
        named=[Named("strict", 0), Named("weak", 1)],
    )
    assert only(audited(spec, tmp_path, {"strict": 256, "weak": 16})).cause == "offset"


def test_two_delegates_on_one_segment_share_it(tmp_path: Path) -> None:
    methods = [Method("m", [Delegate(backend="A", segment=0), Delegate(backend="B", segment=0)])]
    spec = Pte(base=1024, segments=[Segment(b"1", offset=64)], methods=methods)
    finding = only(audited(spec, tmp_path, {"*(A)": 16, "*(B)": 256}))
    assert (finding.cause, finding.sharer) == ("shared-segment", "m/delegate 0 (A)")


def test_named_data_for_which_nothing_is_known_is_counted_and_not_called_fine(
    tmp_path: Path,
) -> None:
    result = audited(samples.weak_first(samples.ptd), tmp_path, {"weak": 16})
    assert result.findings == ()
    assert result.unknown == 2


def test_data_in_a_file_without_a_request_is_unknown_for_names_only(tmp_path: Path) -> None:
    spec = Pte(
        segments=[Segment(b"1")],
        named=[Named("n", 0)],
        methods=[Method(delegates=[Delegate(segment=0)])],
    )
    assert audited(spec, tmp_path, {}).unknown == 1


def test_empty_data_has_no_alignment_to_lose(tmp_path: Path) -> None:
    spec = Pte(
        base=1000,
        segments=[Segment(b"1"), Segment(b"", offset=3)],
        named=[Named("empty", 1)],
        methods=[Method("m", [Delegate(backend="B", segment=1)])],
    )
    requests = {"empty": 64, "m/delegate 0 (B)": 64}
    assert audited(spec, tmp_path, requests).findings == ()


def test_a_file_without_header_has_nothing_to_lose_at_offset_0(tmp_path: Path) -> None:
    spec = Pte(header=None, segments=[Segment()], named=[Named("empty", 0)])
    result = audited(spec, tmp_path, {"empty": 4096}, segment_alignment=4096)
    assert result.findings == ()


def test_keys_that_nothing_answers_to_are_told(tmp_path: Path) -> None:
    result = audited(samples.lone(samples.pte), tmp_path, {"strong": 2, "absent": 4, "no*": 4})
    assert result.unmatched == ("absent", "no*")


def test_findings_come_in_the_order_of_the_file(tmp_path: Path) -> None:
    spec = Ptd(
        base=256,
        segments=[Segment(b"1", offset=192), Segment(b"2", offset=64)],
        named=[Named("late", 0), Named("early", 1), Named("also", 1)],
    )
    findings = audited(spec, tmp_path, {"*": 128}, segment_alignment=128).findings
    assert [(f.absolute_offset, f.rule, f.entry and f.entry.name) for f in findings] == [
        (320, "AC101", "also"),
        (320, "AC101", "early"),
        (320, "AC104", None),
        (448, "AC101", "late"),
        (448, "AC104", None),
    ]


class Levels:
    """Asks for alignments of the first entry, each at a level."""

    def __init__(self, *wishes: tuple[int, Level]) -> None:
        self.wishes = wishes

    def ask(self, container: Container) -> Asked:
        assert container.entries
        requests = [Request(alignment=a, origin="own", level=level) for a, level in self.wishes]
        return Asked(entries=[(0, request) for request in requests])


@pytest.mark.parametrize(
    ("asker", "level"),
    [
        (Levels((256, "error")), "error"),
        (Levels((256, "warning")), "warning"),
        (Levels((256, "warning"), (512, "error")), "error"),
        (Levels((256, "warning"), (64, "error")), "warning"),
    ],
)
def test_a_finding_is_as_grave_as_the_gravest_request_that_is_violated(
    tmp_path: Path, asker: Levels, level: Level
) -> None:
    path = samples.lone(samples.ptd).build().write(tmp_path / "lone.ptd")
    result = audit(path, [asker])
    assert only(result).level == level
    assert (result.violations, result.warnings) == ((1, 0) if level == "error" else (0, 1))


def test_paths_may_be_strings_or_paths(tmp_path: Path) -> None:
    path = samples.lone(samples.ptd).build().write(tmp_path / "lone.ptd")
    assert audit(str(path), {"strong": 4096}) == audit(path, {"strong": 4096})


@pytest.mark.parametrize("number", [0, -16, 2**30 + 1])
def test_an_alignment_out_of_range_is_refused(tmp_path: Path, number: int) -> None:
    path = samples.lone(samples.ptd).build().write(tmp_path / "lone.ptd")
    with pytest.raises(BadRequest):
        audit(path, {"strong": number})
    with pytest.raises(BadRequest):
        audit(path, segment_alignment=number)


ALIGNMENTS = st.integers(1, 600) | st.sampled_from([2**n for n in range(31)])


@given(
    base=st.integers(500, 5000),
    offset=st.integers(0, 5000),
    alignments=st.lists(ALIGNMENTS, min_size=1, max_size=4),
)
def test_there_is_a_finding_if_and_only_if_a_request_does_not_divide_the_offset(
    base: int, offset: int, alignments: list[int]
) -> None:
    spec = Ptd(base=base, segments=[Segment(b"1", offset=offset)], named=[Named("n", 0)])
    asker = Levels(*((alignment, "error") for alignment in alignments))
    with TemporaryDirectory() as folder:
        findings = audit(spec.build().write(Path(folder, "x.ptd")), [asker]).findings
    missed = [a for a in alignments if (base + offset) % a]
    assert [request.alignment for f in findings for request in f.requests] == missed
    if missed:
        assert findings[0].remainder == (base + offset) % findings[0].required


@given(st.integers(1, 2**64 - 1))
def test_the_alignment_of_an_offset_is_the_largest_power_of_two_that_divides_it(
    offset: int,
) -> None:
    alignment = alignment_of(offset)
    assert alignment is not None
    assert alignment in {2**n for n in range(64)}
    assert offset % alignment == 0
    assert offset % (2 * alignment) == alignment


def test_every_number_divides_offset_0() -> None:
    assert alignment_of(0) is None


@given(st.lists(ALIGNMENTS, max_size=6), st.integers(1, 2**64 - 1))
def test_an_offset_meets_the_lcm_if_and_only_if_it_meets_each_alignment(
    alignments: list[int], offset: int
) -> None:
    assert (offset % lcm_of(alignments) == 0) == all(offset % a == 0 for a in alignments)


def test_the_lcm_of_a_thousand_alignments_stays_small() -> None:
    assert lcm_of(range(1, 1000)) < 2**64 * 2**30
