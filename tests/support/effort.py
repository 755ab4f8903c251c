"""How much work something is, in numbers that are the same on every machine."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import NamedTuple


class Effort(NamedTuple):
    """Function calls, and bytes of memory at the most."""

    calls: int
    memory: int


class TooMuch(BaseException):
    """The budget is used up. Nothing that catches errors may catch this one."""


def effort(work: Callable[[], object], most_calls: int) -> Effort:
    """Does the work and counts it. Raises TooMuch instead of going on for ever."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}
        if calls > most_calls:
            sys.setprofile(None)
            raise TooMuch(f"more than {most_calls} calls")

    before = sys.getprofile()
    tracemalloc.start()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
        memory = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return Effort(calls, memory)
