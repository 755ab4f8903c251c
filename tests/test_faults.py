"""Any system call of a fix may fail: status 2, a clear message, the old file, no other one.

The package's own function is tested in the same way in tests/test_rewrite_faults.py; this is the
command, at every step and with every error.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.calls import before_each_call, calls_of
from tests.support.fixing import FIXED, VIOLATED, fixing, state

pytestmark = pytest.mark.usefixtures("both_ways")
ERRORS = (errno.ENOSPC, errno.EIO, errno.EPERM, errno.EACCES, errno.EINTR)
READ, WRITTEN = "cannot be read: {}", "cannot be written: {}"
STEPS = {
    "open": ("open", "model.ptd", READ),
    "read": ("pread", "", "byte 0: " + READ),
    "make the new file": ("open", ".aligncheck-tmp", WRITTEN),
    "give it its size": ("ftruncate", "", WRITTEN),
    "copy": ("copy_file_range", "", WRITTEN),
    "write": ("write", "", WRITTEN),
    "bring it to the disk": ("fsync", "", WRITTEN),
    "give it the permissions": ("fchmod", "", WRITTEN),
    "give it its name": ("replace", "", WRITTEN),
}
"""The call, a part of the path that it is made with, and the message."""


def fail(monkeypatch: pytest.MonkeyPatch, name: str, path: str, error: OSError) -> None:
    """Makes a call fail whenever a path that it is made with contains the given text."""
    call: Callable[..., Any] = getattr(os, name)

    def failing(*args: Any, **kwargs: Any) -> Any:
        if path in str(args[0]) or not path:
            raise error
        return call(*args, **kwargs)

    monkeypatch.setattr(os, name, failing)


@pytest.mark.parametrize("number", ERRORS, ids=errno.errorcode.get)
@pytest.mark.parametrize("step", STEPS)
def test_a_step_that_fails_is_told_and_loses_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch, step: str, number: int
) -> None:
    name, part, message = STEPS[step]
    before, error = state(path), OSError(number, os.strerror(number))
    fail(monkeypatch, name, part, error)
    ran = fixing(path)
    monkeypatch.undo()
    if (step, number) == ("copy", errno.EPERM):
        # A kernel that may not copy leaves it to us.
        assert (ran.code, path.read_bytes()) == (0, FIXED)
    else:
        assert (ran.code, state(path)) == (2, before)
        assert ran.err == f"aligncheck: {path}: {message.format(os.strerror(number))}\n"
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("number", ERRORS, ids=errno.errorcode.get)
def test_a_write_that_stops_half_way_and_then_fails_loses_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    before, write = state(path), os.write
    monkeypatch.delattr(os, "copy_file_range", raising=False)
    sizes: list[int] = []

    def short(fd: int, data: bytes) -> int:
        if sizes:
            raise OSError(number, os.strerror(number))
        sizes.append(write(fd, data[:5]))
        return sizes[0]

    monkeypatch.setattr(os, "write", short)
    ran = fixing(path)
    monkeypatch.undo()
    assert (ran.code, state(path), sizes) == (2, before, [5])
    assert ran.err == f"aligncheck: {path}: cannot be written: {os.strerror(number)}\n"
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("number", ERRORS, ids=errno.errorcode.get)
def test_what_cannot_be_removed_is_left_and_the_error_is_the_first_one(
    path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    before = state(path)
    fail(monkeypatch, "ftruncate", "", OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    fail(monkeypatch, "unlink", "", OSError(number, os.strerror(number)))
    ran = fixing(path)
    monkeypatch.undo()
    assert (ran.code, state(path)) == (2, before)
    assert ran.err == f"aligncheck: {path}: cannot be written: No space left on device\n"
    # The next fix, on a system that is well again, takes it away.
    again = fixing(path)
    assert (again.code, path.read_bytes()) == (0, FIXED)
    assert again.err.endswith(", left by a fix that was killed\n")
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("number", ERRORS, ids=errno.errorcode.get)
def test_a_leftover_that_cannot_be_removed_does_not_stop_a_fix(
    path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    left = path.parent / ".model.ptd.abcdefgh.aligncheck-tmp"
    left.write_bytes(b"half")
    fail(monkeypatch, "unlink", "", OSError(number, os.strerror(number)))
    ran = fixing(path)
    assert (ran.code, ran.err, path.read_bytes()) == (0, "", FIXED)
    assert left.read_bytes() == b"half"


def fresh(folder: Path) -> Path:
    """The file with a violation, in a folder of its own."""
    folder.mkdir()
    file = folder / "model.ptd"
    file.write_bytes(VIOLATED)
    return file


def at_call(last: int, error: BaseException) -> Callable[[int, str], None]:
    """Raises the error at one call, by its number; Ctrl-C comes to the main thread only."""

    def act(number: int, _name: str) -> None:
        main = threading.current_thread() is threading.main_thread()
        if number == last and (main or isinstance(error, OSError)):
            raise error

    return act


CALLS = range(1, 151)
"""More than a fix makes: the last of them hit none, which a test makes sure of."""


def test_a_fix_makes_no_more_calls_than_are_tried_below(tmp_path: Path) -> None:
    names = calls_of(lambda: fixing(fresh(tmp_path / "model")))
    assert 60 < len(names) < len(CALLS)


@pytest.mark.parametrize("last", CALLS)
def test_whichever_call_fails_the_file_is_the_old_or_the_new_one(tmp_path: Path, last: int) -> None:
    # What the table above does not list: closing, seeking, owners, attributes, the folder.
    file = fresh(tmp_path / "model")
    with before_each_call(at_call(last, OSError(errno.EIO, os.strerror(errno.EIO)))):
        ran = fixing(file)
    assert (ran.code, file.read_bytes()) in {(2, VIOLATED), (0, FIXED)}
    assert ran.code == 0 or ran.err.startswith(f"aligncheck: {file}: ")
    assert os.listdir(file.parent) == [file.name]


@pytest.mark.parametrize("last", CALLS)
def test_whenever_ctrl_c_comes_the_file_is_the_old_or_the_new_one(
    tmp_path: Path, last: int
) -> None:
    file = fresh(tmp_path / "model")
    with before_each_call(at_call(last, KeyboardInterrupt())):
        ran = fixing(file)
    assert (ran.code, file.read_bytes()) in {(130, VIOLATED), (130, FIXED), (0, FIXED)}
    assert os.listdir(file.parent) == [file.name]
