"""Limits that the system sets for one process: for inputs that could hang or eat memory."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

MIB = 2**20


class Hang(BaseException):
    """It took too long. Nothing that catches errors may catch this one."""


def limit_memory(mib: int) -> None:
    """Lets this process have so much more memory than it has now. Never to be undone."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = pages * resource.getpagesize() + mib * MIB
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raises Hang in what takes longer."""
    signal.signal(signal.SIGALRM, _ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _ring(_signal: int, _frame: FrameType | None) -> None:
    raise Hang
