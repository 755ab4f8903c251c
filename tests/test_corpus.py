"""Files that many writers made, against what ExecuTorch's own decoders say of them.

They are in a corpus beside the project and not collected where that is missing: tests/conftest.py.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from aligncheck import Audit, BadFile, Container, audit
from aligncheck.formats import read_container
from tests.support.corpus import CORPUS
from tests.support.samples import REQUESTS

TRUTH: dict[str, Any] = json.loads((CORPUS / "truth.json").read_text(encoding="utf-8"))
FOLDERS = ("seed", "releases", "real")
FILES = sorted(path for folder in FOLDERS for path in (CORPUS / folder).iterdir())
SUPPORTED = [path for path in FILES if TRUTH[path.name]["format"] in {"pte", "ptd"}]
OTHERS = [path for path in FILES if path not in SUPPORTED]
every_file = pytest.mark.parametrize("path", SUPPORTED, ids=lambda path: path.name)


def named_data(container: Container) -> dict[str, int | None]:
    entries = container.entries
    return {e.name: e.absolute_offset for e in entries if e.kind == "named_data"}


def constants(container: Container) -> list[int | None]:
    """Of the constant segment: upstream's decoders tell nothing of inline ones."""
    inside = (e for e in container.entries if e.segment is not None)
    return [e.absolute_offset for e in inside if e.kind == "constant"]


def delegates(container: Container) -> list[list[object]]:
    return [
        [e.method, e.backend, "inline", None]
        if e.segment is None
        else [e.method, e.backend, "segment", e.absolute_offset]
        for e in container.entries
        if e.kind == "delegate"
    ]


def test_the_truth_is_about_every_file() -> None:
    assert sorted(TRUTH) == sorted(path.name for path in FILES)
    assert len(SUPPORTED) > 50


@every_file
def test_format_and_size_are_as_upstream_has_them(path: Path) -> None:
    container, truth = read_container(str(path)), TRUTH[path.name]
    assert container.format == truth["format"]
    assert container.size == truth["size"]


@every_file
def test_segments_lie_where_upstream_sees_them(path: Path) -> None:
    container, truth = read_container(str(path)), TRUTH[path.name]
    assert container.segment_base_offset == truth["segment_base_offset"]
    assert [
        {"absolute_offset": s.absolute_offset, "size": s.size} for s in container.segments
    ] == truth["segments"]


@every_file
def test_named_data_lie_where_upstream_sees_them(path: Path) -> None:
    assert named_data(read_container(str(path))) == TRUTH[path.name]["named_data"]


@every_file
def test_constants_and_delegates_lie_where_upstream_sees_them(path: Path) -> None:
    container, truth = read_container(str(path)), TRUTH[path.name]
    assert constants(container) == truth.get("constants", [])
    assert delegates(container) == truth.get("delegates", [])


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.name)
def test_a_file_that_is_something_else_is_refused_in_one_line(path: Path) -> None:
    with pytest.raises(BadFile) as caught:
        audit(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert str(caught.value).isprintable()


NAMES = {
    "bundled-program.bpte": "is a bundled program, which is not supported; ",
    "git-lfs-pointer.pte": "is a Git LFS pointer, not the model; run `git lfs pull`",
    "legacy-0.6-linear.ptd": "is a .ptd in the layout of ExecuTorch 0.6, which is not supported; ",
    "not-a-pte.pte": "byte 4: the identifier is b'A_PT', not ET12 (a program) or FT01 ",
    "tensors-0.6.0.ptd": "is a .ptd in the layout of ExecuTorch 0.6, which is not supported; ",
    "text-placeholder.pte": "is text, not a .pte or .ptd",
    "zip-renamed.pte": "is a zip archive (a TorchScript or torch.save file?); ",
}


def test_each_file_that_is_something_else_is_called_by_its_name() -> None:
    assert sorted(path.name for path in OTHERS) == sorted(NAMES)
    for path in OTHERS:
        with pytest.raises(BadFile) as caught:
            audit(path)
        assert caught.value.reason.startswith(NAMES[path.name])


def seed(name: str, requests: dict[str, int]) -> Audit:
    return audit(CORPUS / "seed" / name, requests)


def shown(result: Audit) -> list[tuple[object, ...]]:
    return [
        (f.rule, f.entry and f.entry.name, f.absolute_offset, f.required, f.remainder, f.cause)
        for f in result.findings
    ]


@pytest.mark.parametrize("suffix", ["pte", "ptd"])
def test_the_reported_bug_is_found(suffix: str) -> None:
    assert shown(seed(f"weak_first.{suffix}", REQUESTS)) == [
        ("AC101", "strong", 640, 256, 128, "shared-segment")
    ]


@pytest.mark.parametrize("suffix", ["pte", "ptd"])
@pytest.mark.parametrize("name", ["strong_first", "distinct_weak_first", "distinct_strong_first"])
def test_the_controls_are_clean(name: str, suffix: str) -> None:
    assert shown(seed(f"{name}.{suffix}", REQUESTS)) == []


@pytest.mark.parametrize(("name", "offset"), [("base.pte", 384), ("base.ptd", 256)])
def test_a_lone_strict_request_is_violated_by_the_base(name: str, offset: int) -> None:
    assert shown(seed(name, {"strong": 4096})) == [
        ("AC101", "strong", offset, 4096, offset, "segment-base")
    ]


def test_alignments_that_are_no_powers_of_two_are_found_violated() -> None:
    assert shown(seed("lcm_3_4.ptd", {"a": 3, "b": 4})) == [
        ("AC101", "a", 256, 3, 1, "segment-base")
    ]


def test_the_bug_is_found_in_a_program_for_two_backends() -> None:
    (hashed,) = TRUTH["two_backends.pte"]["named_data"].keys() - {"npu.w"}
    assert shown(seed("two_backends.pte", {hashed: 16, "npu.w": 4096})) == [
        ("AC101", "npu.w", 2816, 4096, 2816, "shared-segment")
    ]
