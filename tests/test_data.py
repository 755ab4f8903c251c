"""The sample files in tests/data, written by the real exporter, against upstream's decoders.

What those say is kept in truth.json, so that this runs without torch.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aligncheck import audit
from aligncheck.formats import read_container
from tests.exporter.view import as_json, view_of
from tests.support.samples import REQUESTS

DATA = Path(__file__).parent / "data"
TRUTH = json.loads((DATA / "truth.json").read_text(encoding="utf-8"))
SAMPLES = sorted(path.name for path in DATA.iterdir() if path.suffix in {".pte", ".ptd"})
MATRIX_OF_BOTH = pytest.mark.parametrize("suffix", ["pte", "ptd"])


def findings(name: str, requests: dict[str, int]) -> list[tuple[object, ...]]:
    found = audit(DATA / name, requests).findings
    return [
        (f.entry and f.entry.name, f.absolute_offset, f.required, f.remainder, f.cause)
        for f in found
    ]


def test_upstream_has_told_the_truth_about_every_sample() -> None:
    assert list(TRUTH) == SAMPLES


@pytest.mark.parametrize("name", SAMPLES)
def test_everything_lies_where_upstream_sees_it(name: str) -> None:
    assert as_json(view_of(read_container(str(DATA / name)))) == TRUTH[name]


@pytest.mark.parametrize("name", SAMPLES)
def test_what_the_exporter_writes_violates_none_of_the_formats_rules(name: str) -> None:
    assert findings(name, {}) == []


@MATRIX_OF_BOTH
def test_the_reported_bug_is_found(suffix: str) -> None:
    assert findings(f"weak_first.{suffix}", REQUESTS) == [
        ("strong", 640, 256, 128, "shared-segment")
    ]


@MATRIX_OF_BOTH
@pytest.mark.parametrize("name", ["strong_first", "distinct_weak_first", "distinct_strong_first"])
def test_the_controls_are_clean(name: str, suffix: str) -> None:
    assert findings(f"{name}.{suffix}", REQUESTS) == []


@pytest.mark.parametrize(("name", "offset"), [("base.pte", 384), ("base.ptd", 256)])
def test_a_lone_strict_request_is_violated_by_the_base(name: str, offset: int) -> None:
    assert findings(name, {"strong": 4096}) == [("strong", offset, 4096, offset, "segment-base")]


def test_alignments_that_are_no_powers_of_two_are_found_violated() -> None:
    assert findings("lcm_3_4.ptd", {"a": 3, "b": 4}) == [("a", 256, 3, 1, "segment-base")]


def test_the_bug_is_found_in_a_program_that_was_exported_for_two_backends() -> None:
    named = {name: offset for name, _, offset, _ in TRUTH["two_backends.pte"]["named_data"]}
    (strict,) = [name for name in named if "." in name]
    (hashed,) = named.keys() - {strict}
    assert named[strict] == named[hashed]
    requests = {hashed: 16, strict: 4096}
    remainder = named[strict] % 4096
    assert findings("two_backends.pte", requests) == [
        (strict, named[strict], 4096, remainder, "shared-segment")
    ]
