"""`--output-file`: the report goes to a file, and never over a model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import samples
from tests.support.cli import command, run


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return samples.weak_first(samples.ptd).build().write(Path("weak.ptd"))


def refused(*args: str) -> bool:
    ran = run(*args)
    return (ran.code, "--output-file would overwrite a model." in ran.err) == (2, True)


def test_the_report_is_in_the_file_and_nothing_on_standard_output(model: Path) -> None:
    ran = run(model, "-f", "json", "--output-file", "report.json")
    assert (ran.code, ran.out) == (0, "")
    assert json.loads(Path("report.json").read_text(encoding="utf-8"))["summary"]["files"] == 1


@pytest.mark.parametrize("make", [os.link, os.symlink, lambda _old, _new: None])
def test_the_model_is_not_overwritten_by_any_of_its_names(model: Path, make: object) -> None:
    assert callable(make)
    make(str(model), "other")
    before = model.read_bytes()
    name = "other" if Path("other").exists() else "./weak.ptd"
    assert refused("weak.ptd", "--output-file", name)
    assert model.read_bytes() == before


def test_nor_is_what_a_fix_writes(model: Path) -> None:
    asked = ("weak.ptd", "-r", "strong=256", "--fix")
    assert refused(*asked, "-o", "fixed.ptd", "--output-file", "fixed.ptd")
    assert refused(*asked, "--output-dir", "out", "--output-file", "out/weak.ptd")


def test_a_folder_that_is_not_there_is_told(model: Path) -> None:
    ran = run(model, "--output-file", "nowhere/report")
    assert ran.code == 2
    assert "--output-file: No such file or directory" in ran.err


@pytest.mark.parametrize("option", [("--output-file", "/dev/full"), ()])
def test_a_full_disk_is_told_in_one_line(model: Path, option: tuple[str, ...]) -> None:
    words = " ".join(("-m aligncheck -f json weak.ptd", *option))
    shell = f'exec "$0" {words} {"" if option else "> /dev/full"}'
    ran = subprocess.run(
        ["sh", "-c", shell, sys.executable], capture_output=True, text=True, check=False
    )
    told = "aligncheck: the report cannot be written: No space left on device\n"
    assert (ran.returncode, ran.stderr) == (2, told)


def test_a_report_in_a_file_is_as_plain_as_in_a_pipe(model: Path) -> None:
    asked = ("weak.ptd", "-r", "strong=256")
    command(*asked, "--output-file", "report.txt", environment={"FORCE_COLOR": ""})
    assert "\x1b" not in Path("report.txt").read_text(encoding="utf-8")
