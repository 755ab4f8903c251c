"""Every command and every piece of Python in README.md and docs/ is run."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support import samples
from tests.support.build import Named, Ptd, Pte, Segment
from tests.support.cli import ROOT, Ran, python, run

README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
INSTALL = "pip install . && "
INSTALL_TESTS = "pip install -e '.[executorch,test]' && python -m pytest"


class Block(NamedTuple):
    """A fenced block of a page."""

    page: str
    language: str
    text: str


def blocks(page: Path) -> Iterator[Block]:
    fence = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    for language, text in fence.findall(page.read_text(encoding="utf-8")):
        yield Block(page.name, language, text)


BLOCKS = [block for page in PAGES for block in blocks(page)]


def commands(block: Block) -> Iterator[str]:
    """The lines of a block that are commands, with their comments."""
    for line in block.text.splitlines():
        if block.language == "console" and line.startswith("$ "):
            yield line.removeprefix("$ ")
        elif not block.language and line.startswith("aligncheck "):
            yield line


COMMANDS = [(block.page, command) for block in BLOCKS for command in commands(block)]
PYTHON = [block for block in BLOCKS if block.language == "python"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files of all names that the pages use."""
    shutil.copytree(ROOT / "tests" / "data", tmp_path / "tests" / "data")
    store = Ptd(segments=[Segment(b"1")], named=[Named("weights", 0)]).build()
    program = Pte(
        segments=[Segment(b"1", offset=64), Segment(b"2", offset=128)],
        named=[Named("npu.w", 0), Named("vocab", 1)],
    ).build()
    for name in ("build", "out", "models"):
        (tmp_path / name).mkdir()
        samples.weak_first(samples.pte).build().write(tmp_path / name / "model.pte")
    store.write(tmp_path / "weights.ptd")
    program.write(tmp_path / "model.pte")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def exercise(command: str) -> Ran:
    """Runs a command that a page shows; fails for one that this test does not know."""
    program, *args = shlex.split(command, comments=True)
    assert program == "aligncheck", f"teach this test to run: {command}"
    return run(*args)


def test_the_pages_hold_what_this_test_looks_for() -> None:
    # Else a change of the pages' style could make all tests here pass by running nothing.
    assert len([command for page, command in COMMANDS if page == "README.md"]) >= 6
    assert len(PYTHON) >= 2
    shown = sum(page.read_text(encoding="utf-8").count("```\n") for page in PAGES)
    assert shown >= len(BLOCKS)


def test_every_block_says_what_it_is_or_shows_commands() -> None:
    for block in BLOCKS:
        if block.language == "console":
            assert list(commands(block)), block
        elif not block.language:
            assert all(line.startswith("aligncheck ") for line in block.text.splitlines()), block
        else:
            assert block.language in {"json", "python", "toml", "yaml"}, block


def test_the_first_command_installs_and_audits_a_file_that_has_the_bug() -> None:
    first = COMMANDS[0][1]
    assert first.startswith(INSTALL)
    ran = exercise(first.removeprefix(INSTALL))
    assert ran.code == 1
    assert "AC101  strong" in ran.out
    assert ran.lines[-1].startswith("1 file, 3 entries: 1 violation")


def test_the_last_command_of_the_readme_installs_and_runs_these_tests() -> None:
    last = [command for page, command in COMMANDS if page == "README.md"][-1]
    assert last == INSTALL_TESTS
    extras = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.search(r"^executorch = \[", extras, re.MULTILINE)
    assert re.search(r"^test = \[", extras, re.MULTILINE)


@pytest.mark.parametrize(
    ("page", "command"),
    [pair for pair in COMMANDS if not pair[1].startswith("pip install ")],
    ids=lambda value: value.partition("#")[0].strip(),
)
def test_every_other_command_does_something(page: str, command: str) -> None:
    ran = exercise(command)
    # The rules have an example of a file that cannot be audited.
    assert ran.code in {0, 1} or (page, ran.code) == ("rules.md", 2), (page, ran.err)
    assert ran.out or ran.err


def test_set_up_is_the_two_commands_that_are_tested_above() -> None:
    installs = [command for _, command in COMMANDS if command.startswith("pip install ")]
    assert installs == [COMMANDS[0][1], INSTALL_TESTS]


NEEDS_TORCH = "executorch"
STANDS_FOR = {"partitioner=[...]": "partitioner=[XnnpackPartitioner()]"}
PRELUDE = """
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
exported = torch.export.export(torch.nn.Linear(4, 4), (torch.zeros(1, 4),))
"""


@pytest.mark.parametrize(
    "block", [b for b in PYTHON if NEEDS_TORCH not in b.text], ids=lambda block: block.page
)
def test_python_runs_and_prints_something(folder: Path, block: Block) -> None:
    ran = python("-W", "error", "-c", block.text, cwd=folder)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out


@pytest.mark.exporter
@pytest.mark.parametrize(
    "block", [b for b in PYTHON if NEEDS_TORCH in b.text], ids=lambda block: block.page
)
def test_python_that_exports_runs(folder: Path, block: Block) -> None:
    text = block.text
    for shown, real in STANDS_FOR.items():
        text = text.replace(shown, real)
    ran = python("-c", PRELUDE + text, cwd=folder)
    assert ran.code == 0, ran.err


@pytest.mark.parametrize(
    "block", [b for b in BLOCKS if b.language == "json"], ids=lambda block: block.page
)
def test_json_is_json(block: Block) -> None:
    assert isinstance(json.loads(block.text), dict)


def test_the_python_of_the_readme_finds_the_bug(folder: Path) -> None:
    (block, *_) = [block for block in PYTHON if block.page == "README.md"]
    assert python("-c", block.text, cwd=folder).out == "strong 640 256 shared-segment\n"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_files_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#\s]+)|^\[[^\]]+\]: (\S+)$", text, re.MULTILINE)
    for target in (inline or reference for inline, reference in links):
        if "://" not in target:
            assert (page.parent / target).exists(), target
