"""A fix may be killed at any moment: the file is the old or the new one, and the next tidies up.

Also: several fixes of one file at once, in processes of their own.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.build import Named, Ptd, Segment
from tests.support.calls import calls_of, in_child, killed_before
from tests.support.cli import ROOT, run
from tests.support.fixing import FIXED, VIOLATED, fixing, state
from tests.support.peek import peek
from tests.support.samples import ASKED

pytestmark = pytest.mark.usefixtures("both_ways")
CALLS = range(1, 151)
"""More than a fix makes: the last of them kill none, which a test makes sure of."""
SUFFIX = ".aligncheck-tmp"


def left_beside(path: Path) -> list[str]:
    return [str(other) for other in sorted(path.parent.iterdir()) if other != path]


def removed(paths: list[str]) -> str:
    return "".join(f"aligncheck: removed {path}, left by a fix that was killed\n" for path in paths)


def test_a_fix_makes_no_more_calls_than_it_is_killed_at(path: Path) -> None:
    assert 60 < len(calls_of(lambda: fixing(path))) < len(CALLS)


def test_a_fix_is_killed_between_any_two_system_calls(path: Path) -> None:
    ends = set()
    for last in CALLS:
        path.write_bytes(VIOLATED)
        ended = killed_before(last, lambda: fixing(path))
        left = left_beside(path)
        ends.add((ended, path.read_bytes() == FIXED, len(left)))
        assert path.read_bytes() in {VIOLATED, FIXED}, last
        # The next one says what it found, does the work that was left, and takes it away.
        again = fixing(path)
        assert (again.code, again.err) == (0, removed(left)), last
        assert path.read_bytes() == FIXED, last
        assert left_beside(path) == [], last
    killed = -signal.SIGKILL
    assert ends == {(killed, False, 0), (killed, False, 1), (killed, True, 0), (0, True, 0)}


def test_a_copy_to_another_name_is_killed_between_any_two_system_calls(path: Path) -> None:
    output = path.parent / "copy.ptd"
    args = ("--fix", "--isolated", "-q", *ASKED, "-o", str(output), str(path))
    before = state(path)
    for last in CALLS:
        output.write_bytes(b"older")
        killed_before(last, lambda: run(*args))
        assert output.read_bytes() in {b"older", FIXED}, last
        assert run(*args).code == 0
        assert output.read_bytes() == FIXED
        assert sorted(os.listdir(path.parent)) == ["copy.ptd", "model.ptd"], last
        assert state(path) == before


def large(path: Path) -> bytes:
    """A file that it takes a moment to fix, and its data."""
    data = random.Random(1).randbytes(2**23)
    Ptd(segments=[Segment(data, offset=1)], named=[Named("strong", 0)]).build().write(path)
    return data


def command(path: Path) -> subprocess.Popen[str]:
    args = ("-m", "aligncheck", "--fix", "--isolated", "-q", *ASKED, str(path))
    return subprocess.Popen(
        [sys.executable, *args],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def test_a_fix_is_killed_at_random_moments(path: Path) -> None:
    moments = random.Random(5)
    data = large(path)
    before = path.read_bytes()
    for _ in range(12):
        path.write_bytes(before)
        with command(path) as process:
            time.sleep(moments.uniform(0.05, 0.4))
            process.kill()
        left = left_beside(path)
        after = path.read_bytes()
        assert after == before or data_of(after) == data
        assert fixing(path).err == removed(left)
        assert data_of(path.read_bytes()) == data
        assert left_beside(path) == []


def data_of(file: bytes) -> bytes:
    """The data of a file that is fixed."""
    found = peek(file)
    start, size = found.segments[0]
    assert start % 256 == 0
    return file[start : start + size]


REFUSALS = {
    "is being fixed by somebody else just now",
    "was changed by somebody else during the fix",
}


def test_of_many_fixes_of_one_file_at_once_each_is_done_or_refused(path: Path) -> None:
    data = large(path)
    processes = [command(path) for _ in range(5)]
    ends = []
    for process in processes:
        _, told = process.communicate()
        ends.append((process.returncode, told.removeprefix(f"aligncheck: {path}: ").strip()))
    assert (0, "") in ends
    assert set(ends) <= {(0, ""), *((2, refusal) for refusal in REFUSALS)}
    assert data_of(path.read_bytes()) == data
    assert left_beside(path) == []


NEIGHBOURS = [
    f".model.ptd.old.abcdefgh{SUFFIX}",
    f"..model.ptd.abcdefgh{SUFFIX}",
    f".model.ptd.abcdefgh{SUFFIX}.txt",
    f".model.ptd{SUFFIX}",
    f".model.pte.abcdefgh{SUFFIX}",
]


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_a_file_with_a_similar_name_is_not_touched(path: Path, name: str) -> None:
    (path.parent / name).write_bytes(b"mine")
    ran = fixing(path)
    assert (ran.code, ran.err) == (0, "")
    assert (path.parent / name).read_bytes() == b"mine"


def test_what_a_fix_of_a_file_with_a_long_name_left_is_not_taken_for_another_ones(
    tmp_path: Path,
) -> None:
    one, other = (tmp_path / f"{'long' * 20}-{number}.ptd" for number in (1, 2))
    for file in (one, other):
        file.write_bytes(VIOLATED)
    for last in CALLS:
        killed_before(last, lambda: fixing(one))
        if len(os.listdir(tmp_path)) > 2:
            break
    assert fixing(other).err == ""
    assert len(os.listdir(tmp_path)) == 3


def test_what_a_killed_fix_left_is_taken_away_also_if_nothing_has_to_be_fixed_any_more(
    path: Path,
) -> None:
    left = path.parent / f".model.ptd.abcdefgh{SUFFIX}"
    left.write_bytes(b"half")
    path.write_bytes(FIXED)
    assert fixing(path).err == removed([str(left)])
    assert left_beside(path) == []


def test_a_child_that_fails_is_told_from_one_that_does_not() -> None:
    # Else the tests with children could pass by doing nothing.
    assert in_child(lambda: None) == 0
    assert in_child(lambda: 1 / 0) == 1
