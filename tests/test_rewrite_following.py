"""Comparing a large file while it is copied: nothing is compared twice, and nothing is left out."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aligncheck import FixError, fix, rewrite
from aligncheck.errors import BadFile
from aligncheck.rewrite import copying, following, temporary
from aligncheck.rewrite.copying import Range
from aligncheck.rewrite.verify import _except, _merged
from tests.support.build import Named, Ptd, Segment
from tests.support.fixing import FIXED, VIOLATED, failing, refusal
from tests.support.samples import REQUESTS

SIZE = 1 << 20
LARGE = Ptd(
    segments=[Segment(b"ab" * (SIZE // 2), offset=1), Segment(b"c" * SIZE)],
    named=[Named("a", 0), Named("c", 1)],
).build()
ASKED = {"a": 4096, "c": 4096}


@pytest.fixture(autouse=True)
def _small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "WORTHWHILE", SIZE)
    monkeypatch.setattr(copying, "_KERNEL_CHUNK", 1 << 16)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with a violation, alone in its folder, that counts as large here."""
    return LARGE.write(tmp_path / "large.ptd")


def reads_of(monkeypatch: pytest.MonkeyPatch, work: Callable[[], object]) -> dict[str, int]:
    """How many bytes are read by which thread."""
    counts: dict[str, int] = {}
    pread = os.pread

    def counted(fd: int, size: int, start: int) -> bytes:
        main = threading.current_thread() is threading.main_thread()
        name = "main" if main else "other"
        counts[name] = counts.get(name, 0) + size
        return pread(fd, size, start)

    monkeypatch.setattr(os, "pread", counted)
    work()
    return counts


def test_each_byte_of_a_large_file_is_compared_once_and_meanwhile(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = reads_of(monkeypatch, lambda: fix(path, ASKED))
    assert counts["other"] == 2 * 2 * SIZE, "both files, both segments"
    assert counts["main"] < SIZE // 16, "the metadata"


def test_a_small_file_is_compared_without_a_thread(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_bytes(VIOLATED)
    assert set(reads_of(monkeypatch, lambda: fix(path, REQUESTS))) == {"main"}
    assert path.read_bytes() == FIXED


def test_where_threads_cannot_read_one_file_there_is_none(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "POSSIBLE", False)
    assert set(reads_of(monkeypatch, lambda: fix(path, ASKED))) == {"main"}


def test_a_system_that_cannot_read_at_a_place_gives_the_same(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fix(path, ASKED)
    expected = path.read_bytes()
    LARGE.write(path)
    monkeypatch.delattr(os, "pread")
    monkeypatch.setattr(following, "POSSIBLE", False)
    fix(path, ASKED)
    assert path.read_bytes() == expected


def test_a_large_file_is_brought_to_the_disk_while_it_is_copied(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    copy, flush = os.copy_file_range, temporary.Temporary.flush

    def copied(*args: int) -> int:
        steps.append("copy")
        return copy(*args)

    def flushed(file: temporary.Temporary) -> None:
        steps.append("flush")
        flush(file)

    monkeypatch.setattr(os, "copy_file_range", copied)
    monkeypatch.setattr(temporary.Temporary, "flush", flushed)
    fix(path, ASKED)
    assert steps.index("flush") < len(steps) // 4
    assert steps[-1] == "flush"


def test_a_difference_ends_the_copying_soon(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[int] = []
    before = set(threading.enumerate())

    def copy(_source: int, fd: int, count: int, _start: int, at: int) -> int:
        copied.append(count)
        done = os.pwrite(fd, b"?" * count, at)
        for thread in set(threading.enumerate()) - before:  # time to see it
            thread.join(0.05)
        return done

    monkeypatch.setattr(os, "copy_file_range", copy)
    found = refusal(path, ASKED)
    assert "the new file would not do: byte 4096: does not hold bytes" in found
    assert sum(copied) < SIZE


def test_a_disk_that_fails_ends_the_copying_soon(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied: list[int] = []
    copy = os.copy_file_range
    before = set(threading.enumerate())

    def counted(*args: int) -> int:
        copied.append(args[2])
        for thread in set(threading.enumerate()) - before:  # time to see it
            thread.join(0.05)
        return copy(*args)

    monkeypatch.setattr(os, "copy_file_range", counted)
    monkeypatch.setattr(os, "fsync", failing(OSError(errno.EIO, os.strerror(errno.EIO))))
    assert refusal(path, ASKED) == f"{path}: cannot be written: {os.strerror(errno.EIO)}"
    assert sum(copied) < SIZE


def test_an_old_file_that_is_cut_meanwhile_is_the_one_that_is_named(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = os.copy_file_range
    calls: list[int] = []

    def cutting(*args: int) -> int:
        calls.append(1)
        if len(calls) == 5:
            os.truncate(path, args[3])
        return copy(*args)

    monkeypatch.setattr(os, "copy_file_range", cutting)
    with pytest.raises(BadFile, match="the file ends here") as caught:
        fix(path, ASKED, output=path.parent / "copy.ptd")
    assert caught.value.path == str(path)
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, MemoryError])
def test_no_thread_outlives_an_interruption(
    path: Path, interruption: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = set(threading.enumerate())
    copy = os.copy_file_range
    at_work: list[set[threading.Thread]] = []

    def interrupted(*args: int) -> int:
        at_work.append(set(threading.enumerate()) - before)
        if len(at_work) == 5:
            raise interruption
        return copy(*args)

    monkeypatch.setattr(os, "copy_file_range", interrupted)
    with pytest.raises(interruption):
        fix(path, ASKED)
    assert at_work[-1]
    assert set(threading.enumerate()) <= before
    assert os.listdir(path.parent) == [path.name]
    assert path.read_bytes() == LARGE.data


def test_what_goes_wrong_in_the_thread_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "same_bytes", failing(BadFile("x", "cannot be read: no")))
    assert refusal(path, ASKED).endswith("the new file would not do: cannot be read: no")
    monkeypatch.setattr(following, "same_bytes", failing(MemoryError()))
    with pytest.raises(MemoryError):
        fix(path, ASKED)
    assert path.read_bytes() == LARGE.data


def after_following(
    monkeypatch: pytest.MonkeyPatch, act: Callable[[str, list[Range]], list[Range]]
) -> None:
    """Puts other ranges in the place of those that were compared; `act` gets the new file, too."""
    followed = rewrite._Job._followed

    def otherwise(job: rewrite._Job, parts: Iterator[Range], new: Any, shown: str) -> list[Range]:
        return act(new.path, followed(job, parts, new, shown))

    monkeypatch.setattr(rewrite._Job, "_followed", otherwise)


def test_what_was_written_over_later_is_compared_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    after_following(monkeypatch, lambda _new, equal: [*equal, equal[0]])
    counts = reads_of(monkeypatch, lambda: fix(path, ASKED))
    assert counts["main"] > 2 * 2 * SIZE


def test_a_range_that_was_not_copied_is_compared(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What has to be equal is not taken from the plan, which may be wrong."""

    def forgetful(new: str, equal: list[Range]) -> list[Range]:
        _, at, size = equal[-2]
        with Path(new).open("r+b") as file:
            file.seek(at + size - 1)
            file.write(b"?")
        return [part for part in equal if part != equal[-2]]

    after_following(monkeypatch, forgetful)
    with pytest.raises(FixError, match="the new file would not do"):
        fix(path, ASKED)


RANGES = st.lists(
    st.tuples(st.integers(0, 30), st.sampled_from([0, 5, 40]), st.integers(0, 12)), max_size=6
)


def pairs(ranges: list[Range]) -> set[tuple[int, int]]:
    """Which byte of the old file is which of the new one."""
    return {(start + i, at + i) for start, at, size in ranges for i in range(size)}


def shifted(ranges: list[Range]) -> list[Range]:
    return [(start, start + shift, size) for start, shift, size in ranges]


@given(RANGES, RANGES)
def test_what_is_left_to_compare_is_what_was_not_compared(
    wanted: list[Range], equal: list[Range]
) -> None:
    apart = sorted(dict.fromkeys(shifted(wanted)))
    rest = list(_except(_merged(apart), shifted(equal)))
    assert pairs(rest) == pairs(apart) - pairs(shifted(equal))
    assert sum(size for _, _, size in rest) == len(pairs(rest)), "none twice"
