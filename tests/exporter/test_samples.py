"""The sample files in tests/data, and what truth.json says of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.data.make import TRUTH, sample_files
from tests.exporter import upstream
from tests.exporter.models import MODELS
from tests.exporter.stores import MATRIX, Case, store
from tests.exporter.view import as_json

pytestmark = pytest.mark.exporter


def test_the_samples_are_the_matrix_and_the_models() -> None:
    programs = {case.filename for case in MATRIX} | {f"{name}.pte" for name in MODELS}
    data = {"external.ptd", "xnnpack_external.ptd"}
    assert {path.name for path in sample_files()} == programs | data


def test_the_truth_is_about_all_samples() -> None:
    truth = json.loads(TRUTH.read_text(encoding="utf-8"))
    assert list(truth) == [path.name for path in sample_files()]


@pytest.mark.parametrize("path", sample_files(), ids=lambda path: path.name)
def test_the_truth_is_what_upstream_sees(path: Path) -> None:
    truth = json.loads(TRUTH.read_text(encoding="utf-8"))
    assert truth[path.name] == as_json(upstream.decode(path.read_bytes()))


@pytest.mark.parametrize("path", sample_files(), ids=lambda path: path.name)
def test_a_sample_is_small(path: Path) -> None:
    assert path.stat().st_size < 30_000


@pytest.mark.parametrize("case", MATRIX, ids=lambda case: case.filename)
def test_the_exporter_still_writes_the_same_store(case: Case) -> None:
    (path,) = (path for path in sample_files() if path.name == case.filename)
    assert path.read_bytes() == store(case.registrations, case.format)
