"""Writing a fixed file: what is kept, and what is never lost."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from aligncheck import BadFile, FixError, fix
from tests.support.fixing import FIXED, VIOLATED, failing, refusal, state
from tests.support.samples import REQUESTS

pytestmark = pytest.mark.usefixtures("both_ways")
OTHER_USER = 12345 if os.geteuid() == 0 else os.geteuid()


def test_the_fixed_file_is_the_one_that_the_other_order_would_have_given(path: Path) -> None:
    result = fix(path, REQUESTS)
    assert path.read_bytes() == FIXED
    assert result.applied
    assert len(result.before.findings) == 1
    assert result.after.findings == ()
    assert result.after.container.path == str(path)
    assert os.listdir(path.parent) == [path.name]


def test_where_nothing_is_violated_nothing_is_touched(path: Path) -> None:
    path.write_bytes(FIXED)
    os.utime(path, ns=(1, 1))
    before = state(path)
    result = fix(path, REQUESTS)
    assert state(path) == before
    assert (result.applied, result.after) == (False, result.before)


def test_a_second_fix_touches_nothing(path: Path) -> None:
    fix(path, REQUESTS)
    before = state(path)
    assert not fix(path, REQUESTS).applied
    assert state(path) == before


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o4755, 0o1664])
def test_permission_bits_are_kept(path: Path, mode: int) -> None:
    path.chmod(mode)
    fix(path, REQUESTS)
    assert path.stat().st_mode & 0o7777 == mode


def test_the_owner_is_kept(path: Path) -> None:
    os.chown(path, OTHER_USER, -1)
    path.chmod(0o4711)
    fix(path, REQUESTS)
    assert path.stat().st_uid == OTHER_USER
    assert path.stat().st_mode & 0o7777 == 0o4711


def test_a_user_who_may_not_give_files_away_can_still_fix(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fchown", failing(PermissionError(errno.EPERM, "not permitted")))
    fix(path, REQUESTS)
    assert path.read_bytes() == FIXED


def test_extended_attributes_are_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attributes = _Attributes(monkeypatch, path)
    attributes.set(path, "user.origin", b"https://example.org")
    fix(path, REQUESTS)
    assert path.read_bytes() == FIXED
    assert attributes.get(path, "user.origin") == b"https://example.org"


class _Attributes:
    """Extended attributes; kept by inode in memory where the file system has none."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
        self._kept: dict[tuple[int, str], bytes] = {}
        try:
            os.setxattr(path, "user.probe", b"")
        except (AttributeError, OSError):
            for name in ("listxattr", "getxattr", "setxattr"):
                monkeypatch.setattr(os, name, getattr(self, f"_{name}"), raising=False)

    def set(self, path: Path, name: str, value: bytes) -> None:
        os.setxattr(path, name, value)

    def get(self, path: Path, name: str) -> bytes:
        return os.getxattr(path, name)

    def _listxattr(self, file: Path | int) -> list[str]:
        return [name for inode, name in self._kept if inode == os.stat(file).st_ino]

    def _getxattr(self, file: Path | int, name: str) -> bytes:
        return self._kept[os.stat(file).st_ino, name]

    def _setxattr(self, file: Path | int, name: str, value: bytes) -> None:
        self._kept[os.stat(file).st_ino, name] = value


@pytest.mark.parametrize("chain", [1, 2])
def test_a_symbolic_link_stays_one_and_its_target_is_fixed(path: Path, chain: int) -> None:
    folder = path.parent / "links"
    folder.mkdir()
    link = path
    for i in range(chain):
        previous, link = link, folder / f"link{i}.ptd"
        link.symlink_to(os.path.relpath(previous, folder))
    fix(link, REQUESTS)
    assert link.is_symlink()
    assert not path.is_symlink()
    assert path.read_bytes() == link.read_bytes() == FIXED
    assert sorted(os.listdir(folder)) == [f"link{i}.ptd" for i in range(chain)]


@pytest.mark.parametrize("kind", ["fifo", "folder"])
def test_what_is_not_a_regular_file_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "odd.ptd"
    os.mkfifo(path) if kind == "fifo" else path.mkdir()
    with pytest.raises(BadFile, match=r"is not a regular file|is a directory"):
        fix(path, REQUESTS)
    assert os.listdir(tmp_path) == ["odd.ptd"]


@pytest.mark.parametrize("kind", ["fifo", "folder"])
def test_what_is_not_a_regular_file_is_not_overwritten(path: Path, kind: str) -> None:
    output = path.parent / "odd.ptd"
    os.mkfifo(output) if kind == "fifo" else output.mkdir()
    with pytest.raises(FixError, match="not a regular file"):
        fix(path, REQUESTS, output=output)
    assert output.is_fifo() or output.is_dir()
    assert sorted(os.listdir(path.parent)) == ["model.ptd", "odd.ptd"]


def test_a_copy_leaves_the_input_alone(path: Path) -> None:
    before = state(path)
    output = path.parent / "copy.ptd"
    result = fix(path, REQUESTS, output=output)
    assert output.read_bytes() == FIXED
    assert state(path) == before
    assert result.after.container.path == str(output)


def test_a_copy_is_made_also_where_nothing_is_violated(path: Path) -> None:
    output = path.parent / "copy.ptd"
    assert fix(path, output=output).applied
    assert output.read_bytes() == VIOLATED


def test_a_copy_takes_the_place_of_an_older_one(path: Path) -> None:
    output = path.parent / "copy.ptd"
    output.write_bytes(b"older")
    path.chmod(0o640)
    fix(path, REQUESTS, output=output)
    assert output.read_bytes() == FIXED
    assert output.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("alias", ["same", "dotted", "symlink", "hardlink"])
def test_the_input_is_not_overwritten_under_another_name(path: Path, alias: str) -> None:
    other = path.parent / "other.ptd"
    if alias == "symlink":
        other.symlink_to(path)
    elif alias == "hardlink":
        os.link(path, other)
    names = {"same": path, "dotted": path.parent / "." / ".." / path.parent.name / path.name}
    assert f"is {path} itself" in refusal(path, REQUESTS, names.get(alias, other))


def test_progress_goes_up_and_never_past_all(path: Path) -> None:
    seen: list[tuple[int, int]] = []
    fix(path, REQUESTS, on_progress=lambda done, total: seen.append((done, total)))
    counts = [done for done, _ in seen]
    assert counts == sorted(counts)
    assert all(0 <= done <= total for done, total in seen)
    assert seen[-1][0] == seen[-1][1] > 0


def test_the_file_is_on_the_disk_before_it_gets_its_name_and_the_name_is_afterwards(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    fsync, replace, write = os.fsync, os.replace, os.write
    copy = os.copy_file_range

    def watched_write(fd: int, data: bytes) -> int:
        events.append("write")
        return write(fd, data)

    def watched_copy(*args: int) -> int:
        events.append("write")
        return copy(*args)

    def watched_fsync(fd: int) -> None:
        events.append("folder" if stat.S_ISDIR(os.fstat(fd).st_mode) else "file")
        fsync(fd)

    def watched_replace(source: str, target: str) -> None:
        events.append("name")
        replace(source, target)

    monkeypatch.setattr(os, "write", watched_write)
    monkeypatch.setattr(os, "copy_file_range", watched_copy)
    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(os, "replace", watched_replace)
    fix(path, REQUESTS)
    # Before that once or more in the background, while the file is compared.
    assert events[-3:] == ["file", "name", "folder"]
    assert events.count("file") > 1
    assert "write" in events


def test_a_folder_that_cannot_be_synchronised_is_no_failure(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync = os.fsync

    def only_files(fd: int) -> None:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        fsync(fd)

    monkeypatch.setattr(os, "fsync", only_files)
    fix(path, REQUESTS)
    assert path.read_bytes() == FIXED
