"""Comparing what has been copied while more is being copied.

A file of many GiB is read again while it is still in memory, and on another processor than the one
that copies.
"""

from __future__ import annotations

import os
import threading
from queue import SimpleQueue

from aligncheck.formats.source import Source
from aligncheck.rewrite.copying import Range, same_bytes

WORTHWHILE = 1 << 26
"""Smaller files are compared after they were written: that takes no longer."""
POSSIBLE = hasattr(os, "pread")  # else two threads would move one another's place in a file


class Follower:
    """A thread that compares the ranges it is given, of two files that stay open meanwhile."""

    def __init__(self, old: Source, new: Source) -> None:
        self._old, self._new = old, new
        self._copied: SimpleQueue[Range | None] = SimpleQueue()
        self._equal: list[Range] = []
        self._failed: BaseException | None = None
        self._stopped = False
        self.done = 0
        """Bytes that have been compared."""
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the thread, with what is to be compared still or without."""
        self._stopped = True
        self._copied.put(None)
        self._thread.join()

    def compare(self, copied: Range) -> None:
        """Compares a range, later. Raises what went wrong with an earlier one."""
        self._copied.put(copied)
        if self._failed is not None:
            raise self._failed

    def finish(self) -> list[Range]:
        """The ranges, when all are compared and equal. Raises BadFile for one that is not."""
        self._copied.put(None)
        self._thread.join()
        if self._failed is not None:
            raise self._failed
        return self._equal

    def _run(self) -> None:
        try:
            while not self._stopped and (copied := self._copied.get()) is not None:
                self._compare(copied)
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            self._failed = error

    def _compare(self, copied: Range) -> None:
        start, at, size = copied
        for count in same_bytes(self._old, start, self._new, at, size):
            self.done += count
            if self._stopped:
                return
        self._equal.append(copied)
