"""Standing between a fix and the system: counting its calls, and making one of them the last."""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, NoReturn

_CALLS: dict[ModuleType, tuple[str, ...]] = {
    os: (
        *("open", "close", "read", "write", "lseek", "stat", "fstat", "listdir"),
        *("ftruncate", "copy_file_range", "fsync", "fchown", "fchmod", "listxattr"),
        *("replace", "unlink", "rename", "pread", "pwrite", "sendfile", "fdatasync"),
    ),
    fcntl: ("flock",),
}
"""Every call by which a fix reaches the system, and some that it could come to use.

Without `access`, which never fails: it says no.
"""


@contextmanager
def before_each_call(act: Callable[[int, str], None]) -> Iterator[None]:
    """Calls `act` with the number and the name of each system call, just before it is made."""
    number = 0

    def wrap(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            nonlocal number
            number += 1
            act(number, name)
            return call(*args, **kwargs)

        return wrapped

    kept = [(module, name, getattr(module, name)) for module in _CALLS for name in _CALLS[module]]
    for module, name, call in kept:
        setattr(module, name, wrap(name, call))
    try:
        yield
    finally:
        for module, name, call in kept:
            setattr(module, name, call)


def calls_of(work: Callable[[], object]) -> list[str]:
    """The names of all system calls of some work, in their order."""
    names: list[str] = []
    with before_each_call(lambda _number, name: names.append(name)):
        work()
    return names


def killed_before(last: int, work: Callable[[], object]) -> int:
    """Does the work in a child that is killed just before one of its calls.

    Returns the signal that ended it, as a negative number, or 0.
    """

    def act(number: int, _name: str) -> None:
        if number == last:
            os.kill(os.getpid(), signal.SIGKILL)

    return in_child(lambda: _with(act, work))


def _with(act: Callable[[int, str], None], work: Callable[[], object]) -> None:
    with before_each_call(act):
        work()


def in_child(work: Callable[[], object]) -> int:
    """Does the work in a copy of this process. Returns how it ended: 0, 1 or minus a signal."""
    child = os.fork()
    if not child:
        _run_and_exit(work)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _run_and_exit(work: Callable[[], object]) -> NoReturn:
    try:
        work()
        os._exit(0)
    finally:
        os._exit(1)
