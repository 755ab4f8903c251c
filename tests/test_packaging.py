"""What is published: the distributions, and what they are to those who install them."""

from __future__ import annotations

import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from aligncheck import __version__
from tests.support import wheels
from tests.support.cli import ROOT, Ran

SAMPLE = ROOT / "tests" / "data" / "weak_first.ptd"
VERSION = f"aligncheck {__version__}\n"
CLIENT = """\
import aligncheck

audit = aligncheck.audit("model.pte", {"npu.*": 4096})
reveal_type(audit)
for finding in audit.findings:
    reveal_type(finding.absolute_offset)
plan = aligncheck.plan(audit)
reveal_type(plan.new_size)
aligncheck.audit("model.pte", segment_alignment="4K")
"""
"""A program of somebody else; mypy has to know the types in it, and to object to the last line."""


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The source distribution and the wheel, built once."""
    return wheels.build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="session")
def sdist(built: tuple[Path, Path]) -> Path:
    return built[0]


@pytest.fixture(scope="session")
def wheel(built: tuple[Path, Path]) -> Path:
    return built[1]


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Path:
    """A fresh virtual environment with the wheel, installed by pip."""
    folder = tmp_path_factory.mktemp("pip") / "venv"
    python = wheels.new_environment(folder)
    ran = wheels.execute(python, "-m", "pip", "install", "--quiet", wheel, cwd=folder)
    assert ran.code == 0, ran.err
    return folder


def finds_the_bug(program: Path, folder: Path) -> Ran:
    return wheels.execute(program, "-q", "-r", "strong=256", SAMPLE, cwd=folder)


def members(sdist: Path) -> set[str]:
    """The paths in a source distribution, without the folder that all of them are in."""
    with tarfile.open(sdist) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def of_the_project(*folders: str) -> Iterator[str]:
    """The files in folders of the project that are written by hand, or are samples."""
    suffixes = {".py", ".typed", ".md", ".json", ".svg", ".pte", ".ptd"}
    for folder in folders:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in suffixes or path.name == "py.typed":
                yield path.relative_to(ROOT).as_posix()


def test_the_source_distribution_holds_the_package_its_tests_and_what_these_read(
    sdist: Path,
) -> None:
    expected = {*of_the_project("aligncheck", "docs", "tests")}
    expected |= {"README.md", "LICENSE", "pyproject.toml", ".pre-commit-hooks.yaml"}
    assert expected - members(sdist) == set()


def test_the_source_distribution_holds_nothing_that_was_left_by_a_run(sdist: Path) -> None:
    waste = ("__pycache__", ".pyc", ".coverage", ".hypothesis", "_cache")
    assert [name for name in members(sdist) if any(part in name for part in waste)] == []


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.partition("/")[0] for name in names} == {
        "aligncheck",
        f"aligncheck-{__version__}.dist-info",
    }
    assert "aligncheck/py.typed" in names
    assert set(of_the_project("aligncheck")) <= set(names)


def test_twine_has_nothing_to_object_to(built: tuple[Path, Path], tmp_path: Path) -> None:
    ran = wheels.module("twine", "check", "--strict", *built, cwd=tmp_path)
    assert ran.code == 0, ran.out
    assert ran.out.count("PASSED") == 2


def test_check_wheel_contents_has_nothing_to_object_to(wheel: Path, tmp_path: Path) -> None:
    ran = wheels.module("check_wheel_contents", wheel, cwd=tmp_path)
    assert ran.code == 0, ran.out
    assert ran.out == f"{wheel}: OK\n"


def test_pip_installs_it_and_it_finds_the_bug(installed: Path, tmp_path: Path) -> None:
    program = wheels.program(installed, "aligncheck")
    assert wheels.execute(program, "--version", cwd=tmp_path) == (0, VERSION, "")
    ran = finds_the_bug(program, tmp_path)
    assert ran.code == 1
    assert "AC101 error: strong at 640 needs 256" in ran.out


def test_it_runs_as_a_module_and_draws_with_rich(installed: Path, tmp_path: Path) -> None:
    python = wheels.program(installed, "python")
    ran = wheels.execute(python, "-m", "aligncheck", "-v", SAMPLE, cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert "segment 1: weak, strong" in ran.out


def test_all_modules_of_the_wheel_can_be_imported(installed: Path, tmp_path: Path) -> None:
    script = (
        "import pkgutil, importlib, aligncheck\n"
        "for m in pkgutil.walk_packages(aligncheck.__path__, 'aligncheck.'):\n"
        "    m.name.endswith('__main__') or importlib.import_module(m.name)\n"
    )
    python = wheels.program(installed, "python")
    assert wheels.execute(python, "-W", "error", "-c", script, cwd=tmp_path) == (0, "", "")


def test_mypy_knows_the_types_in_a_program_that_uses_it(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "client.py").write_text(CLIENT, encoding="utf-8")
    python = wheels.program(installed, "python")
    ran = wheels.module(
        "mypy", "--strict", "--python-executable", python, "client.py", cwd=tmp_path
    )
    assert ran.code == 1
    notes = [line for line in ran.lines if ": note: Revealed type is" in line]
    assert ["Audit" in notes[0], '"int"' in notes[1].replace("builtins.", "")] == [True, True]
    errors = [line for line in ran.lines if ": error:" in line]
    assert len(errors) == 1, ran.out
    assert errors[0].startswith('client.py:9: error: Argument "segment_alignment"')


def test_uv_installs_it_as_a_tool(wheel: Path, tmp_path: Path) -> None:
    places = {"UV_TOOL_DIR": str(tmp_path / "tools"), "UV_TOOL_BIN_DIR": str(tmp_path / "bin")}
    ran = wheels.module("uv", "tool", "install", wheel, cwd=tmp_path, **places)
    assert ran.code == 0, ran.err
    assert finds_the_bug(tmp_path / "bin" / "aligncheck", tmp_path).code == 1


def test_pipx_installs_it(wheel: Path, tmp_path: Path) -> None:
    places = {"PIPX_HOME": str(tmp_path / "pipx"), "PIPX_BIN_DIR": str(tmp_path / "bin")}
    ran = wheels.module("pipx", "install", str(wheel), cwd=tmp_path, **places)
    assert ran.code == 0, ran.err
    assert finds_the_bug(tmp_path / "bin" / "aligncheck", tmp_path).code == 1
