"""Real models, fixed: the official runtime computes the same with them, to the bit."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from aligncheck import Fix, fix
from tests.exporter import upstream
from tests.exporter.conftest import Exported
from tests.exporter.models import Model, run
from tests.exporter.view import View

pytestmark = pytest.mark.exporter

RUNNABLE = ["external", "inline", "methods", "mutable", "portable", "xnnpack", "xnnpack_external"]
each_model = pytest.mark.parametrize("name", RUNNABLE)
each_page = pytest.mark.parametrize("page", [4096, 16384])


def copied(model: Model, folder: Path) -> tuple[Path, Path | None]:
    """The program and its .ptd, for a fix in place."""
    paths = [Path(shutil.copy(path, folder)) for path in model.files]
    return paths[0], paths[1] if model.data else None


def view(path: Path) -> View:
    return upstream.decode(path.read_bytes())


def same(before: list[list[Any]], after: list[list[Any]]) -> bool:
    """True if all outputs of all calls are equal to the bit."""
    assert before
    assert [len(outputs) for outputs in before] == [len(outputs) for outputs in after]
    return all(
        a.dtype == b.dtype and a.shape == b.shape and a.numpy().tobytes() == b.numpy().tobytes()
        for one, two in zip(before, after, strict=True)
        for a, b in zip(one, two, strict=True)
    )


def fix_all(
    model: Model,
    folder: Path,
    requests: Mapping[str, int],
    segment_alignment: int | None = None,
) -> tuple[Path, Path | None]:
    """Copies of the model's files, all fixed."""
    path, data = copied(model, folder)
    for file in (path, data) if data else (path,):
        fix(file, requests, segment_alignment=segment_alignment)
    return path, data


def keys(model: Model) -> list[str]:
    return [named.name for path in model.files for named in view(path).named_data]


def test_a_changed_weight_would_be_noticed(exported: Exported, tmp_path: Path) -> None:
    model = exported("portable")
    path, _ = copied(model, tmp_path)
    content = bytearray(path.read_bytes())
    content[view(path).constants[0].offset or 0] ^= 1
    path.write_bytes(content)
    assert not same(run(model), run(model, path=path))


def test_every_model_that_runs_is_here(model: Model) -> None:
    assert (model.name in RUNNABLE) == model.runnable


@each_page
@each_model
def test_a_model_with_aligned_segments_computes_the_same(
    name: str, page: int, exported: Exported, tmp_path: Path
) -> None:
    model = exported(name)
    path, data = fix_all(model, tmp_path, {}, page)
    spans = [span for file in (path, data) if file for span in view(file).segments]
    assert [span for span in spans if span.size and span.offset % page] == []
    assert same(run(model), run(model, path=path, data=data))


@each_page
@each_model
def test_a_model_with_aligned_named_data_computes_the_same(
    name: str, page: int, exported: Exported, tmp_path: Path
) -> None:
    model = exported(name)
    path, data = fix_all(model, tmp_path, dict.fromkeys(keys(model), page))
    named = [item for file in (path, data) if file for item in view(file).named_data]
    assert [item.name for item in named if (item.offset or 0) % page] == []
    assert same(run(model), run(model, path=path, data=data))


@each_page
@pytest.mark.parametrize("name", ["portable", "mutable"])
def test_a_model_whose_constants_are_laid_out_anew_computes_the_same(
    name: str, page: int, exported: Exported, tmp_path: Path
) -> None:
    model = exported(name)
    constants = [item.name for item in view(model.path).constants]
    path, _ = copied(model, tmp_path)
    result = fix(path, dict.fromkeys(constants, page))
    assert [item.name for item in view(path).constants if (item.offset or 0) % page] == []
    assert result.plan.constant_moves or len(constants) == 1
    assert same(run(model), run(model, path=path))


def test_the_last_constant_alone_moves_alone(exported: Exported, tmp_path: Path) -> None:
    model = exported("portable")
    last = view(model.path).constants[-1]
    path, _ = copied(model, tmp_path)
    fix(path, {last.name: 4096})
    before, after = view(model.path).constants, view(path).constants
    assert (after[-1].offset or 0) % 4096 == 0
    assert (
        upstream.constant_payloads(path.read_bytes())[-1]
        == (upstream.constant_payloads(model.path.read_bytes())[-1])
    )
    assert len(before) == len(after)
    assert same(run(model), run(model, path=path))


def test_a_model_that_cannot_be_run_holds_the_same(exported: Exported, tmp_path: Path) -> None:
    model = exported("two_backends")
    path, _ = fix_all(model, tmp_path, dict.fromkeys(keys(model), 16384))
    old, new = model.path.read_bytes(), path.read_bytes()
    assert old != new
    assert upstream.payloads(new) == upstream.payloads(old)
    assert upstream.delegate_payloads(new) == upstream.delegate_payloads(old)


def test_an_inline_delegate_is_given_up_and_still_runs(exported: Exported, tmp_path: Path) -> None:
    model = exported("inline")
    path, _ = copied(model, tmp_path)
    result = fix(path, {"forward/delegate 0 (XnnpackBackend)": 2**20} | one_more(model))
    assert [item.reason for item in result.plan.unfixable] == ["inline"]
    assert same(run(model), run(model, path=path))


def one_more(model: Model) -> dict[str, int]:
    """A request that can be met, so that there is something to write."""
    return {keys(model)[0]: 4096}


@each_model
def test_a_second_fix_changes_nothing(name: str, exported: Exported, tmp_path: Path) -> None:
    model = exported(name)
    path, _ = copied(model, tmp_path)
    fix(path, segment_alignment=16384)
    once = path.read_bytes()
    result: Fix = fix(path, segment_alignment=16384)
    assert not result.applied
    assert path.read_bytes() == once


def test_the_mutable_state_of_a_fixed_model_goes_on(exported: Exported, tmp_path: Path) -> None:
    model = exported("mutable")
    path, _ = fix_all(model, tmp_path, {}, 4096)
    assert upstream.mutable_payloads(path.read_bytes()) == (
        upstream.mutable_payloads(model.path.read_bytes())
    )
    first, second = run(model, path=path)
    assert first[1].tolist() != second[1].tolist()
