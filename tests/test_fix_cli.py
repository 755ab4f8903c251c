"""`--fix` and its companions on the command line: what is written, told and returned."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.build import Built, Delegate, Method, Named, Ptd, Pte, Segment, patched
from tests.support.cli import run
from tests.support.fixing import FIXED, VIOLATED, State, state

STRONG = ("-r", "strong=256")
FIX = ("--fix", *STRONG)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with the reported bug, its control, and what is no program."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "weak.ptd").write_bytes(VIOLATED)
    (tmp_path / "strong.ptd").write_bytes(FIXED)
    (tmp_path / "broken.pte").write_text("404: Not Found\n")
    conflict().write(tmp_path / "conflict.ptd")
    for path in tmp_path.iterdir():
        os.utime(path, ns=(10**18, 10**18))
    return tmp_path


def conflict() -> Built:
    """Two segments that share bytes and cannot both be aligned, and one that can."""
    segments = [Segment(b"a" * 9, offset=0), Segment(b"a" * 9, offset=4), Segment(b"b", offset=32)]
    named = [Named("first", 0), Named("second", 1), Named("strong", 2)]
    return Ptd(base=1024, segments=segments, named=named).build()


def everything(folder: Path) -> dict[str, State]:
    return {name: state(folder / name) for name in sorted(os.listdir(folder))}


def fix_of(*args: str | Path) -> Any:
    """The `fix` object of the only file."""
    (file,) = json.loads(run("-f", "json", *args).out)["files"]
    return file["fix"]


def test_a_file_is_fixed_in_place() -> None:
    assert run(*FIX, "weak.ptd").code == 0
    assert Path("weak.ptd").read_bytes() == FIXED


def test_a_changed_file_is_listed() -> None:
    ran = run(*FIX, "weak.ptd", "strong.ptd")
    assert "weak.ptd: fixed, 644 -> 772 bytes (+128)" in ran.lines
    assert "strong.ptd" not in ran.out
    assert ran.lines[-1].startswith("2 files, 6 entries: nothing violated, 1 file fixed")


def test_a_second_run_does_nothing(folder: Path) -> None:
    run(*FIX, "weak.ptd")
    before = everything(folder)
    ran = run(*FIX, "weak.ptd")
    assert (ran.code, len(ran.lines)) == (0, 1)
    assert everything(folder) == before


@pytest.mark.parametrize("options", [(), ("--exit-zero",), ("--diff",), ("-q",), ("-v",)])
def test_a_clean_file_is_not_touched(folder: Path, options: tuple[str, ...]) -> None:
    before = everything(folder)
    assert run(*FIX, *options, "strong.ptd").code == 0
    assert everything(folder) == before


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("weak.ptd",), 0),
        (("strong.ptd",), 0),
        (("conflict.ptd", "-r", "second=8"), 1),
        (("weak.ptd", "conflict.ptd", "-r", "second=8"), 1),
        (("conflict.ptd", "-r", "second=8", "--exit-zero"), 0),
        (("weak.ptd", "--exit-non-zero-on-fix"), 1),
        (("strong.ptd", "--exit-non-zero-on-fix"), 0),
        (("weak.ptd", "--exit-non-zero-on-fix", "--exit-zero"), 1),
        (("broken.pte",), 2),
        (("broken.pte", "weak.ptd", "--exit-zero"), 2),
        (("missing.pte", "weak.ptd"), 2),
    ],
)
def test_the_exit_status_of_a_fix(args: tuple[str, ...], code: int) -> None:
    assert run(*FIX, *args).code == code


def test_a_file_that_cannot_be_fixed_does_not_keep_the_others_from_it() -> None:
    ran = run(*FIX, "broken.pte", "weak.ptd")
    assert Path("weak.ptd").read_bytes() == FIXED
    assert "broken.pte" in ran.err


def test_what_cannot_be_fixed_is_told_with_its_reason_and_the_rest_is_fixed() -> None:
    ran = run(*FIX, "conflict.ptd", "-r", "second=8")
    assert "Not fixed: second (8 by --require second=8): other data overlaps it" in ran.out
    assert "conflict.ptd: fixed, 1057 -> 1281 bytes (+224)" in ran.lines
    assert Path("conflict.ptd").read_bytes()[1280:] == b"b"


def test_inline_data_is_said_to_need_a_new_export(folder: Path) -> None:
    delegate = Delegate(backend="B", inline=0)
    spec = Pte(inline_delegates=[b"payload"], methods=[Method("m", [delegate])])
    before = spec.build().write(folder / "inline.pte").read_bytes()
    ran = run("--fix", "-r", "m/*=1GiB", "inline.pte")
    assert ran.code == 1
    assert "Not fixed: m/delegate 0 (B)" in ran.out
    assert "only a new export can move it" in " ".join(ran.out.split())
    assert (folder / "inline.pte").read_bytes() == before


def test_bytes_that_would_be_lost_are_an_error(folder: Path) -> None:
    Path("weak.ptd").write_bytes(patched(VIOLATED, 600, b"?"))
    before = everything(folder)
    ran = run(*FIX, "weak.ptd")
    assert ran.code == 2
    assert "aligncheck: weak.ptd: cannot be fixed without losing data" in ran.err
    assert everything(folder) == before


def test_diff_shows_each_move_and_the_growth_and_writes_nothing(folder: Path) -> None:
    before = everything(folder)
    ran = run("--diff", *STRONG, "weak.ptd")
    assert everything(folder) == before
    assert ran.code == 1
    assert ran.lines[0] == "weak.ptd: would be fixed, 644 -> 772 bytes (+128)"
    rows = [line.split() for line in ran.lines]
    assert ["640", "768", "+128", "segment", "1:", "weak,", "strong"] in rows
    assert "1 violation, 1 file would be fixed" in ran.lines[-1]


@pytest.mark.parametrize("options", [("--diff",), ("--diff", "--fix"), ("--fix", "--diff", "-q")])
@pytest.mark.parametrize(("name", "code"), [("weak.ptd", 1), ("strong.ptd", 0), ("broken.pte", 2)])
def test_diff_writes_nothing_and_exits_with_1_if_something_would_change(
    folder: Path, options: tuple[str, ...], name: str, code: int
) -> None:
    before = everything(folder)
    assert run(*options, *STRONG, name).code == code
    assert everything(folder) == before


def test_diff_exits_with_0_on_request() -> None:
    assert run("--diff", *STRONG, "weak.ptd", "--exit-zero").code == 0


def test_diff_of_what_cannot_be_fixed_says_so_and_exits_with_1() -> None:
    ran = run("--diff", "conflict.ptd", "-r", "second=8")
    assert ran.code == 1
    assert "Not fixed: second" in ran.out


def test_the_fix_in_json() -> None:
    expected = {
        "applied": True,
        "old_size": 644,
        "new_size": 772,
        "moves": [{"segment": 1, "from": 640, "to": 768}],
        "unfixable": [],
    }
    assert fix_of("--diff", *STRONG, "weak.ptd") == expected | {"applied": False}
    assert fix_of(*FIX, "weak.ptd") == expected


def test_the_fix_of_a_clean_file_in_json() -> None:
    nothing = {"applied": False, "old_size": 772, "new_size": 772, "moves": [], "unfixable": []}
    assert fix_of(*FIX, "strong.ptd") == nothing


def test_what_cannot_be_fixed_in_json() -> None:
    (item,) = fix_of(*FIX, "conflict.ptd", "-r", "second=8")["unfixable"]
    assert item.keys() == {"entry", "reason"}
    assert item["entry"] == "second"
    assert "overlaps" in item["reason"]


def test_an_audit_has_no_fix_in_json() -> None:
    (file,) = json.loads(run("-f", "json", "weak.ptd").out)["files"]
    assert "fix" not in file
