"""A folder that must not be written, and a disk that is full: real ones, made by the system."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import places
from tests.support.build import Named, Ptd, Segment
from tests.support.calls import in_child
from tests.support.cli import ROOT
from tests.support.fixing import VIOLATED, fixing, state

KIB = 2**10


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that everybody may enter; those of pytest are for their owner alone."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        path.chmod(0o755)
        yield path


def notes(path: Path, note: Path) -> None:
    """Fixes a file, and notes what was told."""
    ran = fixing(path)
    note.write_text(json.dumps([ran.code, ran.err]), encoding="utf-8")


def told(note: Path) -> tuple[int, str]:
    code, err = json.loads(note.read_text(encoding="utf-8"))
    return code, err


def test_in_a_folder_that_must_not_be_written_nothing_changes(folder: Path) -> None:
    closed, note = folder / "closed", folder / "note"
    closed.mkdir()
    path = closed / "model.ptd"
    path.write_bytes(VIOLATED)
    path.chmod(0o666)
    note.touch()
    note.chmod(0o666)
    closed.chmod(0o555)
    before = state(path)
    assert in_child(places.as_nobody(lambda: notes(path, note))) == 0
    expected = f"aligncheck: {path}: cannot be written: Permission denied\n"
    assert (told(note), state(path)) == ((2, expected), before)
    assert os.listdir(closed) == [path.name]
    closed.chmod(0o755)


def test_a_file_that_must_not_be_written_stays(folder: Path) -> None:
    opened, note = folder / "opened", folder / "note"
    opened.mkdir()
    path = opened / "model.ptd"
    path.write_bytes(VIOLATED)
    path.chmod(0o444)
    note.touch()
    for place, mode in ((note, 0o666), (opened, 0o777)):
        place.chmod(mode)
    before = state(path)
    assert in_child(places.as_nobody(lambda: notes(path, note))) == 0
    expected = f"aligncheck: {path}: cannot be written: permission denied\n"
    assert (told(note), state(path)) == ((2, expected), before)
    assert os.listdir(opened) == [path.name]


def test_a_limit_on_the_size_of_files_loses_nothing(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    path, note = tmp_path / "model" / "model.ptd", tmp_path / "note"
    path.write_bytes(VIOLATED)
    before = state(path)
    # The new file is longer than the old one, and longer than the limit.
    limited = places.with_files_up_to(len(VIOLATED), lambda: notes(path, note))
    assert in_child(limited) == 0
    expected = f"aligncheck: {path}: cannot be written: File too large\n"
    assert (told(note), state(path)) == ((2, expected), before)
    assert os.listdir(path.parent) == [path.name]


FULL = """
import json, os, sys
from tests.support.cli import run
folder, source = sys.argv[1:]
path = os.path.join(folder, "model.ptd")
data = open(source, "rb").read()
with open(path, "wb") as file:
    file.write(data)
ran = run("--fix", "--isolated", "-q", "-r", "strong=4096", path)
same = open(path, "rb").read() == data
print(json.dumps([ran.code, ran.err, same, os.listdir(folder)]))
"""


def _check_that_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    disk, source = tmp_path / "disk", tmp_path / "source.ptd"
    disk.mkdir()
    data = os.urandom(36 * KIB)
    spec = Ptd(segments=[Segment(data, offset=1)], named=[Named("strong", 0)])
    spec.build().write(source)
    command = [sys.executable, "-c", FULL, str(disk), str(source)]
    env = ["env", f"PYTHONPATH={ROOT}", *command]
    ran = places.on_a_small_disk(disk, 64, env)
    path = disk / "model.ptd"
    expected = f"aligncheck: {path}: cannot be written: No space left on device\n"
    assert json.loads(ran.stdout) == [2, expected, True, ["model.ptd"]], ran.stderr


# Only there where a process may mount something: elsewhere it is the test above that shows it.
if places.can_mount():
    test_a_full_disk_loses_nothing = _check_that_a_full_disk_loses_nothing
