"""What a run imports: no more than it needs, since a hook starts anew for each commit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support import samples
from tests.support.cli import python

OURS = """
import sys
from aligncheck.cli import main
"""
CLICKS = """
import sys
import click
@click.command()
@click.option("-q", is_flag=True)
@click.version_option("1")
@click.argument("path")
def main(**options):
    pass
"""
RUN = """
try:
    main(sys.argv[1:])
except SystemExit:
    print(*sys.modules)
"""
STANDARD = {
    "struct": "the numbers of a file",
    "bisect": "where named data end",
    "fnmatch": "requests for a pattern",
    "gc": "to switch it off",
    "math": "common multiples",
}
"""Modules of the standard library that a quiet run needs; click, too, needs some of them."""
LATER = {"json", "tomllib", "tomli", "importlib.metadata", "http", "urllib", "hashlib", "tempfile"}
LATER |= {"dataclasses", "subprocess", "threading", "concurrent", "multiprocessing", "logging"}
"""Modules that something else may need, and that a quiet run must not pay for."""


@pytest.fixture
def sample(tmp_path: Path) -> str:
    """A file beside which there is no configuration."""
    return str(samples.weak_first(samples.ptd).build().write(tmp_path / "sample.ptd"))


def modules(program: str, *args: str) -> set[str]:
    """The modules that a program has imported at its end."""
    ran = python("-c", program + RUN, *args)
    assert ran.err == ""
    return set(ran.lines[-1].split())


def beyond_click(*args: str) -> set[str]:
    """What is imported that click alone would not have imported for the same command line."""
    return modules(OURS, *args) - modules(CLICKS, *args)


@pytest.mark.parametrize("make", [samples.ptd, samples.pte])
def test_a_quiet_run_imports_little(tmp_path: Path, make: samples.Make) -> None:
    sample = samples.weak_first(make).build().write(tmp_path / "sample")
    found = {name for name in beyond_click("-q", str(sample)) if not name.startswith("_")}
    assert {name for name in found if not re.match(r"aligncheck\b", name)} <= set(STANDARD)


@pytest.mark.parametrize(("make", "other"), [(samples.ptd, "pte"), (samples.pte, "ptd")])
def test_a_run_over_one_format_does_not_import_the_other(
    tmp_path: Path, make: samples.Make, other: str
) -> None:
    sample = samples.weak_first(make).build().write(tmp_path / "sample")
    assert f"aligncheck.formats.{other}" not in modules(OURS, "-q", str(sample))


def test_a_quiet_run_imports_nothing_that_it_does_not_need(sample: str) -> None:
    assert not beyond_click("-q", sample) & LATER


@pytest.mark.exporter
def test_what_is_installed_beside_it_is_not_imported(sample: str) -> None:
    installed = modules("import numpy, flatbuffers, rich, torch, executorch\n" + CLICKS, "x")
    expensive = {"numpy", "flatbuffers", "rich", "torch", "executorch"}
    assert installed >= expensive
    assert not modules(OURS, "-q", sample) & expensive


def test_a_quiet_run_imports_neither_fixes_nor_reports(sample: str) -> None:
    found = {name for name in modules(OURS, "-q", sample) if name.startswith("aligncheck.")}
    assert not {name for name in found if re.search(r"\.(plan|rewrite|record)\b", name)}
    reports = {name for name in found if name.startswith("aligncheck.report.")}
    assert reports == {f"aligncheck.report.{name}" for name in ("prose", "progress", "quiet")}


def test_the_version_is_told_without_a_reader() -> None:
    found = {name for name in beyond_click("--version") if not name.startswith("_")}
    assert not {name for name in found if re.match(r"aligncheck\.(formats|audit|run)\b", name)}
    assert {name for name in found if not re.match(r"aligncheck\b", name)} <= {"bisect", "math"}
