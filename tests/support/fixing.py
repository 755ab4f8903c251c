"""Planning and carrying out a fix of what tests/support/build.py has built."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from aligncheck import FixError, Plan, audit, fix, plan
from tests.support.build import Built
from tests.support.cli import Ran, run
from tests.support.peek import Peek, peek
from tests.support.samples import ASKED, Spec, ptd, strong_first, weak_first

VIOLATED = weak_first(ptd).build().data
"""The reported bug, to be fixed with `samples.REQUESTS`."""
FIXED = strong_first(ptd).build().data
"""The same with the requests registered in the other order: to the byte what a fix has to give."""
NONE: Mapping[str, int] = {}
State = tuple[int, int, int, bytes]


def planned(
    spec: Spec,
    folder: Path,
    requests: Mapping[str, int] = NONE,
    segment_alignment: int | None = None,
) -> Plan:
    """The plan for a file that is built as specified."""
    path = spec.build().write(folder / "planned")
    return plan(audit(path, requests, segment_alignment=segment_alignment))


def moved(made: Plan) -> dict[int, tuple[int, int]]:
    """Where each segment that moves was and where it goes."""
    return {move.segment: (move.old, move.new) for move in made.moves}


def given_up(made: Plan) -> list[tuple[str | int | None, int, str]]:
    """What is not fixed: an entry's name or a segment's index, the alignment, and why."""
    return [
        (item.entry.name if item.entry else item.segment, item.request.alignment, item.reason)
        for item in made.unfixable
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """A file before (as the builder knows it) and after (as the second reader sees it)."""

    before: Built
    data: bytes
    after: Peek
    plan: Plan

    def payload(self, segment: int) -> bytes:
        """The bytes of a segment in the new file."""
        offset, size = self.after.segments[segment]
        return self.data[offset : offset + size]


def fixed(
    spec: Spec,
    folder: Path,
    requests: Mapping[str, int] = NONE,
    segment_alignment: int | None = None,
) -> Fixed:
    """A file that is built as specified and fixed in place."""
    built = spec.build()
    path = built.write(folder / "fixed")
    result = fix(path, requests, segment_alignment=segment_alignment)
    data = path.read_bytes()
    return Fixed(before=built, data=data, after=peek(data), plan=result.plan)


def state(path: Path) -> State:
    """All that a file must keep where nothing may happen to it."""
    status = path.stat()
    return status.st_ino, status.st_mtime_ns, status.st_mode, path.read_bytes()


def fixing(path: Path) -> Ran:
    """The command that fixes a file with the reported bug."""
    return run("--fix", "--isolated", "-q", *ASKED, path)


def refusal(path: Path, requests: Mapping[str, int], output: Path | None = None) -> str:
    """The error for a fix that must fail and leave all files in the folder as they were."""
    folder = path.parent
    before = {name: state(folder / name) for name in os.listdir(folder)}
    with pytest.raises(FixError) as caught:
        fix(path, requests, output=output)
    assert {name: state(folder / name) for name in os.listdir(folder)} == before
    return str(caught.value)


def failing(error: BaseException) -> Callable[..., object]:
    """A function that only raises."""

    def fail(*_: object, **__: object) -> object:
        raise error

    return fail
