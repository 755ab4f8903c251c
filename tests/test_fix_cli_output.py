"""`-o` and `--output-dir`: copies instead of changes in place, and what they must not overwrite."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from aligncheck.report import progress
from tests.support.cli import run
from tests.support.fixing import FIXED, VIOLATED, State, state

FIX = ("--fix", "-r", "strong=256")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with the reported bug, its control, and another file of that name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "weak.ptd").write_bytes(VIOLATED)
    (tmp_path / "strong.ptd").write_bytes(FIXED)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "weak.ptd").write_bytes(VIOLATED)
    return tmp_path


def everything(folder: Path) -> dict[str, State]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): state(path) for path in files}


def test_a_copy_is_fixed_and_the_input_left_alone(folder: Path) -> None:
    before = everything(folder)
    ran = run(*FIX, "weak.ptd", "-o", "new.ptd")
    assert ran.code == 0
    after = everything(folder)
    assert Path("new.ptd").read_bytes() == FIXED
    del after["new.ptd"]
    assert after == before


def test_the_copy_is_the_file_that_is_listed() -> None:
    assert "new.ptd: fixed, 644 -> 772 bytes (+128)" in run(*FIX, "weak.ptd", "-o", "new.ptd").lines


def test_a_copy_of_a_clean_file_is_the_same_to_the_byte() -> None:
    assert run(*FIX, "strong.ptd", "-o", "new.ptd").code == 0
    assert Path("new.ptd").read_bytes() == FIXED


def test_a_copy_with_nothing_asked_is_the_same_to_the_byte() -> None:
    assert run("--fix", "weak.ptd", "-o", "new.ptd").code == 0
    assert Path("new.ptd").read_bytes() == VIOLATED


def test_a_copy_replaces_an_older_one() -> None:
    Path("new.ptd").write_bytes(b"older")
    run(*FIX, "weak.ptd", "-o", "new.ptd")
    assert Path("new.ptd").read_bytes() == FIXED


def test_a_folder_takes_several_copies_and_is_made(folder: Path) -> None:
    before = everything(folder)
    ran = run(*FIX, "weak.ptd", "strong.ptd", "--output-dir", "a/b")
    assert ran.code == 0
    assert Path("a/b/weak.ptd").read_bytes() == Path("a/b/strong.ptd").read_bytes() == FIXED
    after = everything(folder)
    assert {name: after[name] for name in before} == before
    assert after.keys() - before.keys() == {"a/b/weak.ptd", "a/b/strong.ptd"}


ALIASES = ["weak.ptd", "./weak.ptd", "sub/../weak.ptd", "link.ptd", "hard.ptd"]


@pytest.mark.parametrize("name", ALIASES)
def test_the_input_is_not_overwritten_under_another_name(folder: Path, name: str) -> None:
    Path("link.ptd").symlink_to("weak.ptd")
    os.link("weak.ptd", "hard.ptd")
    before = everything(folder)
    ran = run(*FIX, "weak.ptd", "-o", name)
    assert ran.code == 2
    assert f"{name}: is weak.ptd itself" in ran.err
    assert everything(folder) == before


def test_the_target_of_a_linked_input_is_not_overwritten(folder: Path) -> None:
    Path("link.ptd").symlink_to("weak.ptd")
    before = everything(folder)
    assert run(*FIX, "link.ptd", "-o", "weak.ptd").code == 2
    assert everything(folder) == before


def test_the_folder_of_the_input_is_no_folder_for_copies(folder: Path) -> None:
    before = everything(folder)
    ran = run(*FIX, "weak.ptd", "--output-dir", ".")
    assert (ran.code, "is weak.ptd itself" in ran.err) == (2, True)
    assert everything(folder) == before


USAGE = {
    "two files": ((*FIX, "weak.ptd", "strong.ptd", "-o", "new.ptd"), "-o takes one file, not 2"),
    "a folder of two": ((*FIX, ".", "-o", "new.ptd"), "-o takes one file, not 3"),
    "-o alone": (("weak.ptd", "-o", "new.ptd"), "-o and --output-dir go with --fix"),
    "a folder alone": (("weak.ptd", "--output-dir", "new"), "-o and --output-dir go with --fix"),
    "with --diff": (("--diff", *FIX, "weak.ptd", "-o", "new.ptd"), "go with --fix"),
    "both": ((*FIX, "weak.ptd", "-o", "new.ptd", "--output-dir", "new"), "do not go together"),
    "one name twice": (
        (*FIX, "weak.ptd", "sub/weak.ptd", "--output-dir", "new"),
        "weak.ptd would overwrite another file",
    ),
    "over an input": (
        (*FIX, "weak.ptd", "sub/weak.ptd", "--output-dir", "sub"),
        "weak.ptd would overwrite another file",
    ),
}


@pytest.mark.parametrize(("args", "fault"), USAGE.values(), ids=USAGE)
def test_bad_usage_writes_nothing(folder: Path, args: tuple[str, ...], fault: str) -> None:
    before = everything(folder)
    ran = run(*args)
    assert ran.code == 2
    assert fault in " ".join(ran.err.split())
    assert everything(folder) == before
    assert not Path("new").exists()


def test_another_input_is_not_overwritten_through_a_link(folder: Path) -> None:
    Path("out").mkdir()
    Path("out/weak.ptd").symlink_to("../strong.ptd")
    before = everything(folder)
    ran = run("--fix", "weak.ptd", "strong.ptd", "--output-dir", "out")
    assert ran.code == 2
    assert "weak.ptd would overwrite another file" in " ".join(ran.err.split())
    assert everything(folder) == before


def test_a_folder_that_cannot_be_made_is_an_error(folder: Path) -> None:
    before = everything(folder)
    ran = run(*FIX, "weak.ptd", "--output-dir", "strong.ptd")
    assert ran.code == 2
    assert "strong.ptd: cannot be made" in ran.err
    assert everything(folder) == before


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def drawn(stream: io.StringIO) -> str:
    """What a bar that is updated at once writes."""
    with progress.bar("weak.ptd", stream) as bar:
        bar.update(1, 2)
        bar.update(2, 2)
    return stream.getvalue()


def test_no_bar_is_drawn_for_a_moment() -> None:
    assert drawn(_Terminal()) == ""


def test_a_bar_is_drawn_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_MOMENT", 0)
    assert "weak.ptd" in drawn(_Terminal())


def test_no_bar_is_drawn_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_MOMENT", 0)
    assert drawn(io.StringIO()) == ""


def test_a_fix_that_takes_long_writes_nothing_to_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_MOMENT", 0)
    ran = run(*FIX, "weak.ptd")
    assert (ran.code, ran.err) == (0, "")
