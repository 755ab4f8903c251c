"""Files of the real exporter: the reported bug and its controls, and real models.

The truth is what upstream's decoders say; see upstream.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from aligncheck import Audit, audit
from tests.exporter import upstream
from tests.exporter.conftest import Exported
from tests.exporter.models import STRICT_ALIGNMENT, STRICT_KEY, Model, run
from tests.exporter.stores import MATRIX, Case, Payload, Registration, program, store
from tests.exporter.view import Format, View, view_of

pytestmark = pytest.mark.exporter

each_case = pytest.mark.parametrize("case", MATRIX, ids=lambda case: case.filename)
each_format = pytest.mark.parametrize("container", ["pte", "ptd"])
each_lost = pytest.mark.parametrize(
    "case", [case for case in MATRIX if case.violations], ids=lambda case: case.filename
)


def written(case: Case, folder: Path) -> tuple[Path, View]:
    """The case's file, and where upstream finds everything in it."""
    content = store(case.registrations, case.format)
    path = folder / case.filename
    path.write_bytes(content)
    return path, upstream.decode(content)


def found(result: Audit) -> set[tuple[str, int, str]]:
    return {(f.entry.name, f.required, f.cause) for f in result.findings if f.entry}


@each_case
def test_exactly_the_lost_requests_are_found(case: Case, tmp_path: Path) -> None:
    path, _ = written(case, tmp_path)
    result = audit(path, case.requests)
    assert found(result) == set(case.violations)
    assert len(result.findings) == len(case.violations)
    assert result.unmatched == ()


@each_lost
def test_a_finding_says_where_upstream_put_the_data(case: Case, tmp_path: Path) -> None:
    path, view = written(case, tmp_path)
    offsets = {named.name: named.offset for named in view.named_data}
    (finding,) = audit(path, case.requests).findings
    (violation,) = case.violations
    assert finding.absolute_offset == offsets[violation.key]
    assert finding.remainder == finding.absolute_offset % violation.required != 0
    assert (finding.rule, finding.level) == ("AC101", "error")


@each_format
def test_the_order_of_registration_decides_which_request_is_lost(
    container: Format, tmp_path: Path
) -> None:
    orders = {case.name: case for case in MATRIX if case.format == container}
    for name, offset in {"weak_first": 640, "strong_first": 768}.items():
        path, _ = written(orders[name], tmp_path)
        offsets = {e.name: e.absolute_offset for e in audit(path).container.entries}
        assert offsets["weak"] == offsets["strong"] == offset


@each_case
def test_the_segment_base_is_the_one_that_the_case_needs(case: Case, tmp_path: Path) -> None:
    path, view = written(case, tmp_path)
    assert view.segment_base_offset == case.base
    assert audit(path).container.segment_base_offset == case.base


@each_case
def test_everything_in_a_store_is_where_upstream_finds_it(case: Case, tmp_path: Path) -> None:
    path, view = written(case, tmp_path)
    assert view_of(audit(path).container) == view


@each_case
def test_the_bytes_at_an_entry_are_those_that_upstream_returns(case: Case, tmp_path: Path) -> None:
    path, _ = written(case, tmp_path)
    content = path.read_bytes()
    entries = audit(path).container.entries
    assert {e.name: cut(content, e.absolute_offset, e.size) for e in entries} == {
        registration.key: registration.data for registration in case.registrations
    }
    assert upstream.payloads(content) == {r.key: r.data for r in case.registrations}


def cut(content: bytes, offset: int | None, size: int | None) -> bytes:
    assert offset is not None
    assert size is not None
    return content[offset : offset + size]


@pytest.mark.parametrize("in_segments", [True, False], ids=["segments", "inline"])
@pytest.mark.parametrize("segment_alignment", [16, 128, 4096])
def test_everything_in_a_program_is_where_upstream_finds_it(
    in_segments: bool, segment_alignment: int, tmp_path: Path
) -> None:
    content = program(
        named=[Registration("named", b"n" * 3, 48), Registration("alias", b"n" * 3, 7)],
        constants={"first": b"c" * 5, "second": b"d" * 33, "third": b"e"},
        mutable=[b"m" * 7],
        methods={
            "one": [Payload("A", b"a" * 77), Payload("B", b"b" * 5)],
            "two": [Payload("A", b"a" * 77)],
        },
        delegates_in_segments=in_segments,
        segment_alignment=segment_alignment,
    )
    path = tmp_path / "program.pte"
    path.write_bytes(content)
    assert view_of(audit(path).container) == upstream.decode(content)


def test_everything_in_a_real_model_is_where_upstream_finds_it(model: Model) -> None:
    for path in model.files:
        assert view_of(audit(path).container) == upstream.decode(path.read_bytes())


def test_nothing_is_violated_in_a_real_model_that_nobody_asked_about(model: Model) -> None:
    for path in model.files:
        assert audit(path).findings == ()


def test_the_schema_compiler_agrees_about_segments_and_keys(model: Model) -> None:
    for path in model.files:
        content = upstream.flatc_json(path.read_bytes())
        container = audit(path).container
        segments = [(s["offset"], s["size"]) for s in content["segments"]]
        keys = [(n["key"], n["segment_index"]) for n in content.get("named_data", ())]
        named = [entry for entry in container.entries if entry.kind == "named_data"]
        assert [(s.offset, s.size) for s in container.segments] == segments
        assert [(entry.name, entry.segment) for entry in named] == keys


def test_the_bytes_of_a_delegate_are_those_that_upstream_returns(model: Model) -> None:
    assert pieces(model, "delegate") == upstream.delegate_payloads(model.path.read_bytes())


def test_the_bytes_of_a_constant_are_those_that_upstream_returns(model: Model) -> None:
    # Upstream does not know where a constant ends: it returns the padding after it as well.
    ours = pieces(model, "constant")
    theirs = upstream.constant_payloads(model.path.read_bytes())
    assert ours == [whole[: len(data)] for data, whole in zip(ours, theirs, strict=True)]
    assert {
        byte for data, whole in zip(ours, theirs, strict=True) for byte in whole[len(data) :]
    } <= {0}


def pieces(model: Model, kind: str) -> list[bytes]:
    content = model.path.read_bytes()
    entries = [entry for entry in audit(model.path).container.entries if entry.kind == kind]
    return [cut(content, entry.absolute_offset, entry.size) for entry in entries]


@pytest.mark.parametrize(
    ("name", "kinds"),
    {
        "xnnpack": {"named_data", "delegate"},
        "portable": {"constant"},
        "methods": {"named_data", "delegate"},
        "external": set(),
        "xnnpack_external": {"delegate"},
        "mutable": {"constant"},
        "inline": {"named_data", "delegate"},
        "two_backends": {"named_data", "delegate"},
    }.items(),
)
def test_a_model_holds_what_it_was_made_to_show(
    name: str, kinds: set[str], exported: Exported
) -> None:
    model = exported(name)
    assert {entry.kind for entry in audit(model.path).container.entries} == kinds
    if model.data:
        assert {entry.kind for entry in audit(model.data).container.entries} == {"named_data"}


def test_a_request_is_lost_between_two_backends_of_one_export(exported: Exported) -> None:
    path = exported("two_backends").path
    (other,) = upstream.payloads(path.read_bytes()).keys() - {STRICT_KEY}
    (finding,) = audit(path, {STRICT_KEY: STRICT_ALIGNMENT, other: 16}).findings
    assert finding.entry is not None
    assert finding.entry.name == STRICT_KEY
    assert (finding.cause, finding.sharer) == ("shared-segment", other)


def test_methods_with_equal_delegates_share_a_segment(exported: Exported) -> None:
    entries = audit(exported("methods").path).container.entries
    segments = {e.method: e.segment for e in entries if e.kind == "delegate"}
    assert segments["decode"] == segments["forward"] != segments["prefill"]


def test_an_inline_delegate_has_no_segment(exported: Exported) -> None:
    entries = audit(exported("inline").path).container.entries
    (delegate,) = (entry for entry in entries if entry.kind == "delegate")
    assert delegate.segment is None


def test_initial_states_lie_in_a_mutable_segment(exported: Exported) -> None:
    path = exported("mutable").path
    container = audit(path).container
    (index,) = container.mutable_segments
    segment = container.segments[index]
    states = upstream.mutable_payloads(path.read_bytes())
    assert [len(state) for state in states] == [5 * 4, 3 * 4]
    assert cut(path.read_bytes(), segment.absolute_offset, segment.size) == b"".join(states)


def test_every_runnable_model_runs_in_the_official_runtime(model: Model) -> None:
    if model.runnable:
        outputs = run(model)
        assert len(outputs) == 2 * len(model.inputs)
        assert all(bool(tensor.isfinite().all()) for output in outputs for tensor in output)


def test_a_mutable_model_goes_on_from_the_state_in_its_file(exported: Exported) -> None:
    first, second = run(exported("mutable"))
    # A buffer of 2.5 that each call doubles, plus 1.
    assert first[1].tolist() == [6.0, 6.0, 6.0]
    assert second[1].tolist() == [11.0, 11.0, 11.0]
