"""Moving bytes: by the kernel where it can, piece by piece, and never all at once."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from aligncheck import fix
from aligncheck.rewrite import copying
from tests.support.build import Built, Named, Ptd, Segment
from tests.support.fixing import FIXED, failing
from tests.support.peek import peek
from tests.support.samples import REQUESTS

pytestmark = pytest.mark.usefixtures("both_ways")
GIB = 2**30
MIB = 2**20


def test_the_kernel_copies_where_it_can(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[int] = []

    def copy(source: int, fd: int, count: int, start: int, at: int) -> int:
        copied.append(count)
        return os.pwrite(fd, os.pread(source, count, start), at)

    monkeypatch.setattr(os, "copy_file_range", copy, raising=False)
    fix(path, REQUESTS)
    assert path.read_bytes() == FIXED
    assert sum(copied) >= len("psamesame")


@pytest.mark.parametrize(("alignment", "shareable"), [(1 << 13, True), (1 << 12, False)])
def test_blocks_that_stay_blocks_are_copied_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alignment: int, *, shareable: bool
) -> None:
    """So that a file system can let both files have them."""
    copied: list[tuple[int, int, int]] = []

    def copy(source: int, fd: int, count: int, start: int, at: int) -> int:
        copied.append((start, at, count))
        return os.pwrite(fd, os.pread(source, count, start), at)

    monkeypatch.setattr(os, "copy_file_range", copy, raising=False)
    monkeypatch.setattr(copying, "_KERNEL_CHUNK", 1 << 14)
    base = 4096 if shareable else 4096 + 128
    segments = [Segment(b"a" * 100_000), Segment(b"b" * 100_000, offset=200_000)]
    built = Ptd(base=base, segments=segments, named=[Named("a", 0)]).build()
    path = built.write(tmp_path / "model.ptd")
    fix(path, {"a": alignment})
    whole = [part for part in copied if part[0] % 4096 == part[1] % 4096 == 0 and part[2] >= 4096]
    assert bool(sum(count for _, _, count in whole) > 190_000) == shareable


NO_KERNEL_COPY = [errno.ENOSYS, errno.EXDEV, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM]


@pytest.mark.parametrize("number", NO_KERNEL_COPY, ids=errno.errorcode.get)
def test_where_the_kernel_cannot_copy_the_result_is_the_same(
    path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    refused = failing(OSError(number, os.strerror(number)))
    monkeypatch.setattr(os, "copy_file_range", refused, raising=False)
    fix(path, REQUESTS)
    assert path.read_bytes() == FIXED


def test_where_there_is_no_such_call_the_result_is_the_same(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "copy_file_range", raising=False)
    fix(path, REQUESTS)
    assert path.read_bytes() == FIXED


def test_a_kernel_that_stops_half_way_is_relieved(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    def copy(source: int, fd: int, count: int, start: int, at: int) -> int:
        calls.append(count)
        some = count // 2 if len(calls) == 1 else 0
        return os.pwrite(fd, os.pread(source, some, start), at)

    monkeypatch.setattr(os, "copy_file_range", copy, raising=False)
    fix(path, REQUESTS)
    assert path.read_bytes() == FIXED


def test_short_copies_are_continued(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def copy(source: int, fd: int, count: int, start: int, at: int) -> int:
        return os.pwrite(fd, os.pread(source, min(count, 7), start), at)

    monkeypatch.setattr(os, "copy_file_range", copy, raising=False)
    fix(path, REQUESTS)
    assert path.read_bytes() == FIXED


def test_short_reads_and_writes_are_continued(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pread, write = os.pread, os.write
    monkeypatch.delattr(os, "copy_file_range", raising=False)
    monkeypatch.setattr(os, "pread", lambda fd, count, at: pread(fd, min(count, 5), at))
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:3]))
    fix(path, REQUESTS)
    assert path.read_bytes() == FIXED


@pytest.mark.parametrize("lacking", ["SEEK_DATA", "SEEK_HOLE"])
def test_a_system_without_sparse_files_gives_the_same(
    path: Path, monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    monkeypatch.delattr(os, lacking, raising=False)
    fix(path, REQUESTS)
    assert path.read_bytes() == FIXED


def test_a_file_larger_than_any_buffer_is_moved_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "copy_file_range", raising=False)
    data = bytes(range(251)) * (3 * MIB // 251)
    built = Ptd(base=1024, segments=[Segment(data, offset=1)], named=[Named("a", 0)]).build()
    path = built.write(tmp_path / "large.ptd")
    fix(path, {"a": 4096})
    assert path.read_bytes()[4096:] == data


SIZE = 5 * GIB
MARKS = {0: b"first", 3 * GIB + 5: b"middle", SIZE - 4: b"last"}


def giant(path: Path) -> Built:
    """5 GiB that are almost all holes, misaligned, and a small segment after them."""
    segments = [Segment(b"0"), Segment(size=SIZE, offset=64), Segment(size=4, offset=64 + SIZE)]
    named = [Named("giant", 1), Named("after", 2)]
    built = Ptd(base=1024, segments=segments, named=named).build()
    with path.open("wb") as file:
        file.write(built.data)
        for at, mark in MARKS.items():
            file.seek(built.segments[1].offset + at)
            file.write(mark)
        file.seek(built.segments[2].offset)
        file.write(b"tail")
    return built


# The peak of a process's memory is told by Linux in this file. getrusage would count the memory of
# the process that started it, too: of pytest with all that it has imported.
MEASURED = """
import sys, resource
import aligncheck

def peak():
    try:
        lines = open("/proc/self/status").read().splitlines()
    except FileNotFoundError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))

idle = peak()
aligncheck.fix(sys.argv[1], {"giant": 4096})
print(peak() - idle)
"""


def test_a_file_of_several_gib_is_fixed_in_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "giant.ptd"
    giant(path)
    before = path.stat().st_blocks
    command = [sys.executable, "-c", MEASURED, str(path)]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    assert int(run.stdout) < 64 * MIB
    # What was a hole is one still: the copy takes no more room on the disk.
    assert path.stat().st_blocks * 512 <= before * 512 + MIB
    check_giant(path)


def check_giant(path: Path) -> None:
    with path.open("rb") as file:
        after = peek(file.read(1024))
        (start, size), (tail, _) = after.segments[1:]
        assert (start, size, tail) == (4096, SIZE, 4096 + SIZE)
        for at, mark in MARKS.items():
            file.seek(start + at)
            assert file.read(len(mark)) == mark
        file.seek(tail)
        assert file.read() == b"tail"
