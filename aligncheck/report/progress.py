"""A progress bar for files that take longer than a moment, drawn by rich."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from aligncheck.report import prose

if TYPE_CHECKING:
    from rich.progress import Progress

_MOMENT = 0.5  # seconds


class Bar:
    """Draws on `stream` how far one file is, if that is a terminal and the file takes a while."""

    def __init__(self, path: str, stream: TextIO | None) -> None:
        self._path = path
        self._stream = stream
        self._begin = time.monotonic()
        self._drawn: Progress | None = None

    def update(self, done: int, total: int) -> None:
        """To be called with the bytes that are done and the bytes in all."""
        if self._drawn is None:
            if time.monotonic() - self._begin < _MOMENT or not _is_terminal(self._stream):
                return
            self._drawn = self._draw()
        self._drawn.update(self._drawn.task_ids[0], completed=done, total=total)

    def _draw(self) -> Progress:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

        console = Console(file=self._stream)
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn())
        progress = Progress(*columns, console=console, transient=True)
        progress.add_task(prose.shown(self._path, 40), total=None)
        progress.start()
        return progress

    def stop(self) -> None:
        """Takes the bar away."""
        if self._drawn is not None:
            self._drawn.stop()


def _is_terminal(stream: TextIO | None) -> bool:
    """False also for a stream that was closed before the program began."""
    return stream is not None and stream.isatty()


@contextmanager
def bar(path: str, stream: TextIO | None) -> Iterator[Bar]:
    """A bar that is taken away at the end."""
    drawn = Bar(path, stream)
    try:
        yield drawn
    finally:
        drawn.stop()
