"""Whatever fails: a clear error, the file as it was, and nothing left beside it."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from aligncheck import FixError, fix, rewrite
from aligncheck.rewrite import following
from aligncheck.rewrite.verify import verify
from tests.support import samples
from tests.support.fixing import FIXED, VIOLATED, State, failing, refusal, state
from tests.support.peek import peek
from tests.support.samples import REQUESTS

NO_SPACE = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
DENIED = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
BUILT = samples.weak_first(samples.ptd).build()
pytestmark = pytest.mark.usefixtures("both_ways")
STEPS = ["ftruncate", "copy_file_range", "write", "fsync", "fchmod", "replace"]


@pytest.fixture
def path(path: Path) -> Path:
    """The same file, of a time that one of its replacements can have as well."""
    os.utime(path, ns=(10**18, 10**18))
    return path


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("error", [NO_SPACE, OSError(errno.EIO, "I/O error"), DENIED])
def test_a_failing_system_call_loses_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch, step: str, error: OSError
) -> None:
    # Where the kernel cannot copy there is no such call to fail.
    monkeypatch.setattr(os, step, failing(error), raising=step != "copy_file_range")
    found = refusal(path, REQUESTS)
    assert found == f"{path}: cannot be written: {error.strerror}"


@pytest.mark.parametrize("step", STEPS)
def test_a_failing_system_call_loses_no_older_copy(
    path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    output = path.parent / "copy.ptd"
    output.write_bytes(b"older")
    monkeypatch.setattr(os, step, failing(NO_SPACE), raising=step != "copy_file_range")
    assert f"{output}: cannot be written: No space" in refusal(path, REQUESTS, output)


def test_a_folder_that_must_not_be_written_is_an_error(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = os.open

    def only_what_is_there(name: str, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_CREAT:
            raise DENIED
        return opened(name, flags, mode)

    monkeypatch.setattr(os, "open", only_what_is_there)
    assert refusal(path, REQUESTS) == f"{path}: cannot be written: Permission denied"


def test_a_file_that_must_not_be_written_is_an_error(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.chmod(0o444)
    # The superuser may write anything.
    monkeypatch.setattr(os, "access", lambda _path, mode: mode != os.W_OK)
    assert refusal(path, REQUESTS) == f"{path}: cannot be written: permission denied"


def test_a_folder_that_does_not_exist_is_an_error(path: Path) -> None:
    output = path.parent / "missing" / "copy.ptd"
    assert refusal(path, REQUESTS, output).startswith(f"{output}: cannot be written: No such file")


def test_a_system_that_takes_no_bytes_is_an_error_and_no_endless_loop(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "write", lambda _fd, _data: 0)
    assert "cannot be written" in refusal(path, REQUESTS)


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, MemoryError])
def test_an_interruption_leaves_nothing_behind(
    path: Path, interruption: type[BaseException]
) -> None:
    before = state(path)
    with pytest.raises(interruption):
        fix(path, REQUESTS, on_progress=failing(interruption()))  # type: ignore[arg-type]  # never returns
    assert state(path) == before
    assert os.listdir(path.parent) == [path.name]


KILLED = """
import os, signal, sys
import aligncheck
def kill(done, total):
    os.kill(os.getpid(), signal.SIGKILL)
aligncheck.fix(sys.argv[1], {"strong": 256}, on_progress=kill)
"""


def test_a_killed_fix_leaves_the_file_and_the_next_one_cleans_up(path: Path) -> None:
    before = state(path)
    command = [sys.executable, "-c", KILLED, str(path)]
    assert subprocess.run(command, check=False).returncode == -9
    assert state(path) == before
    (left,) = set(path.parent.iterdir()) - {path}
    result = fix(path, REQUESTS)
    assert path.read_bytes() == FIXED
    assert result.removed == (str(left),)
    assert os.listdir(path.parent) == [path.name]


def test_files_that_only_look_like_something_left_behind_stay(path: Path) -> None:
    names = {f".{path.name}.swp", f"{path.name}.aligncheck-tmp", ".other.ptd.x.aligncheck-tmp"}
    for name in names:
        (path.parent / name).write_bytes(b"mine")
    fix(path, REQUESTS)
    assert set(os.listdir(path.parent)) == names | {path.name}


def test_of_two_fixes_at_the_same_time_one_is_refused(path: Path) -> None:
    errors: list[str] = []

    def fix_too(_done: int, _total: int) -> None:
        if not errors:
            with pytest.raises(FixError) as caught:
                fix(path, REQUESTS)
            errors.append(str(caught.value))

    fix(path, REQUESTS, on_progress=fix_too)
    assert errors == [f"{path}: is being fixed by somebody else just now"]
    assert path.read_bytes() == FIXED


def test_a_fix_does_not_clean_up_after_one_that_is_at_work(path: Path) -> None:
    other, output = path.parent / "other.ptd", path.parent / "copy.ptd"
    other.write_bytes(FIXED)

    def fix_too(_done: int, _total: int) -> None:
        fix(other, REQUESTS, output=output)

    fix(path, {"strong": 512}, output=output, on_progress=fix_too)
    # The one that ends last has its name.
    assert peek(output.read_bytes()).offset_of("strong") % 512 == 0
    assert sorted(os.listdir(path.parent)) == ["copy.ptd", "model.ptd", "other.ptd"]


def _append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more")


def _touch(path: Path) -> None:
    os.utime(path, ns=(2 * 10**18, 2 * 10**18))


def _replace(path: Path) -> None:
    other = path.parent / "other"
    other.write_bytes(VIOLATED[:-1] + b"!")
    os.utime(other, ns=(10**18, 10**18))
    other.replace(path)


def _truncate(path: Path) -> None:
    os.truncate(path, len(VIOLATED) - 2)


CHANGES = [_append, _touch, _replace, _truncate]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("to_copy", [False, True])
def test_a_file_that_is_changed_meanwhile_is_not_replaced(
    path: Path, change: Callable[[Path], None], *, to_copy: bool
) -> None:
    states: list[State] = []

    def meddle(_done: int, _total: int) -> None:
        if not states:
            change(path)
            states.append(state(path))

    output = path.parent / "copy.ptd" if to_copy else None
    with pytest.raises(FixError):
        fix(path, REQUESTS, output=output, on_progress=meddle)
    assert [state(path)] == states
    assert os.listdir(path.parent) == [path.name]


def test_the_error_says_that_the_file_was_changed(path: Path) -> None:
    with pytest.raises(FixError, match="was changed by somebody else during the fix"):
        fix(path, REQUESTS, on_progress=lambda _done, _total: _append(path))


def test_a_file_that_vanishes_meanwhile_does_not_come_back(path: Path) -> None:
    with pytest.raises(FixError):
        fix(path, REQUESTS, on_progress=lambda _done, _total: path.unlink(missing_ok=True))
    assert os.listdir(path.parent) == []


HEADER = range(4, 48, 3)
FLATBUFFER = range(48, BUILT.metadata_end, 7)
PAYLOAD = (512, 515, 768, 771)
TRAILING = (772, 780)


@pytest.mark.parametrize("byte", [*HEADER, *FLATBUFFER, *PAYLOAD, *TRAILING])
def test_a_byte_that_was_written_wrongly_is_noticed(
    path: Path, monkeypatch: pytest.MonkeyPatch, byte: int
) -> None:
    monkeypatch.setattr(following, "WORTHWHILE", 2**26)  # what was compared is not read again
    path.write_bytes(VIOLATED + b"signature")
    right = (FIXED + b"signature")[byte]

    verified = verify

    def verify_something_else(*args: Any, **kwargs: Any) -> Iterator[tuple[int, int]]:
        (new,) = path.parent.glob(".*")
        with new.open("r+b") as file:
            file.seek(byte)
            file.write(bytes([right ^ 1]))
        return verified(*args, **kwargs)

    monkeypatch.setattr(rewrite, "verify", verify_something_else)
    assert "the new file would not do" in refusal(path, REQUESTS)


# What changes is written anew after it was copied.
CHANGING = (40, *(place for place in BUILT.offset_places if place))
STAYING = [
    byte
    for byte in (*HEADER, *FLATBUFFER, *PAYLOAD, *TRAILING)
    if not any(place <= byte < place + 8 for place in CHANGING)
]


@pytest.mark.parametrize("byte", STAYING)
def test_a_copy_that_is_wrong_is_noticed(
    path: Path, monkeypatch: pytest.MonkeyPatch, byte: int
) -> None:
    path.write_bytes(VIOLATED + b"signature")

    def copy(source: int, fd: int, count: int, start: int, at: int) -> int:
        data = bytearray(os.pread(source, count, start))
        if at <= byte < at + count:
            data[byte - at] ^= 1
        return os.pwrite(fd, data, at)

    monkeypatch.setattr(os, "copy_file_range", copy, raising=False)
    assert "the new file would not do" in refusal(path, REQUESTS)
