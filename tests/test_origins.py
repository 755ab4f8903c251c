"""Requests from everywhere on one file: each is asked, each is named, and all count together."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.support.cli import ROOT, run

DECLARED = "segment-alignment = 96\n[requests]\n'*' = 24\n"


@pytest.fixture
def key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A model in the working folder, with a sidecar and a configuration; a name of its data."""
    shutil.copy(ROOT / "tests" / "data" / "xnnpack.pte", tmp_path / "model.pte")
    truth = json.loads((ROOT / "tests" / "data" / "truth.json").read_text(encoding="utf-8"))
    name = str(truth["xnnpack.pte"]["named_data"][0][0])
    recorded = {"key": name, "alignment": 40, "origin": "NpuBackend"}
    sidecar = {"version": 1, "requests": [recorded]}
    (tmp_path / "model.pte.align.json").write_text(json.dumps(sidecar), encoding="utf-8")
    (tmp_path / "aligncheck.toml").write_text(DECLARED, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return name


def asked(key: str) -> tuple[str, ...]:
    return ("model.pte", "-r", f"{key}=56", "-s", "80", "--target", "mmap-4k", "-f", "json")


def test_every_origin_is_in_the_json_with_its_alignment(key: str) -> None:
    (file,) = json.loads(run(*asked(key)).out)["files"]
    (entry,) = [entry for entry in file["entries"] if entry["name"] == key]
    assert [(r["alignment"], r["origin"], r["level"]) for r in entry["requests"]] == [
        (56, f"--require {key}=56", "error"),
        (40, "NpuBackend (recorded)", "error"),
        (24, "aligncheck.toml *=24", "error"),
        (16, "XnnpackBackend", "warning"),
    ]
    assert entry["required"] == 1680  # the LCM of 56, 40, 24 and 16


def test_what_is_asked_of_segments_is_a_finding_with_all_who_asked(key: str) -> None:
    (file,) = json.loads(run(*asked(key)).out)["files"]
    segments = [f for f in file["findings"] if f["rule"] == "AC104"]
    assert {f["required"] for f in segments} == {61440}  # the LCM of 96, 80 and 4096
    for origin in ("--segment-alignment", "--target mmap-4k", "aligncheck.toml segment-alignment"):
        assert any(origin in f["message"] for f in segments)


def test_every_origin_is_in_the_text(key: str) -> None:
    shown = " ".join(run("model.pte", "-r", f"{key}=56", "-v").out.split())
    for origin in (f"56 by --require {key[:8]}", "40 by NpuBackend", "24 by aligncheck.toml"):
        assert origin in shown
    assert "16 by XnnpackBackend" in shown


def test_a_plain_run_names_everyone_who_asked_for_the_same_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(ROOT / "tests" / "data" / "weak_first.ptd", tmp_path)
    weak = {"key": "weak", "alignment": 16, "origin": "XnnpackBackend"}
    strong = {"key": "strong", "alignment": 4096, "origin": "NpuBackend"}
    sidecar = json.dumps({"version": 1, "requests": [strong, weak]})
    (tmp_path / "weak_first.ptd.align.json").write_text(sidecar, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    ran = run("weak_first.ptd")
    shown = " ".join(ran.out.split())
    assert "asked by NpuBackend (recorded)" in shown
    assert "16 by XnnpackBackend (recorded)" in shown
    assert ran.code == 1


def test_a_stale_key_is_a_warning_that_strict_counts(key: str) -> None:
    Path("model.pte.align.json").write_text(
        json.dumps(
            {"version": 1, "requests": [{"key": "gone", "alignment": 8, "origin": "NpuBackend"}]}
        ),
        encoding="utf-8",
    )
    ran = run("model.pte", "-q", "--isolated")
    expected = "AC201 warning: model.pte.align.json asks for gone, which the file does not have"
    assert ran.out == f"model.pte: {expected}: is it stale?\n"
    assert ran.code == 0
    assert run("model.pte", "-q", "--isolated", "--strict").code == 1
    assert run("model.pte", "-q", "--isolated", "--no-sidecar").out == ""


def test_named_requests_for_several_files_need_not_fit_each(key: str) -> None:
    shutil.copy("model.pte", "other.pte")
    shutil.move("model.pte.align.json", "shared.json")
    Path("other.json").write_text(
        json.dumps({"version": 1, "requests": [{"key": "gone", "alignment": 8, "origin": "B"}]}),
        encoding="utf-8",
    )
    ran = run("model.pte", "other.pte", "--requests", "shared.json", "--requests", "other.json")
    assert "AC201" not in ran.out
    assert ran.err == "aligncheck: no entry is named, or matches, gone\n"


def test_a_configuration_can_exclude_a_file_that_is_named(key: str) -> None:
    Path("aligncheck.toml").write_text("exclude = ['model.*']", encoding="utf-8")
    assert run("model.pte").out.startswith("0 files, 0 entries")
    assert run("model.pte", "--isolated").out.startswith("1 file, ")


def test_a_bad_configuration_is_told_with_its_place(key: str) -> None:
    Path("aligncheck.toml").write_text("requests = { w = 'x' }", encoding="utf-8")
    ran = run("model.pte")
    assert (ran.code, "aligncheck.toml: requests.w: 'x' is no number of bytes" in ran.err) == (
        2,
        True,
    )


def test_a_named_configuration_is_for_all_files(key: str) -> None:
    Path("strict.toml").write_text("segment-alignment = 4096", encoding="utf-8")
    findings = json.loads(run("model.pte", "--config", "strict.toml", "-f", "json").out)
    rules = {f["rule"] for f in findings["files"][0]["findings"]}
    assert "AC104" in rules
    assert run("model.pte", "--config", "strict.toml", "--isolated").code == 2
