"""From the paths that a user gives to the files to audit."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

_SUFFIXES = (".pte", ".ptd")


def find_files(paths: Iterable[str]) -> list[str]:
    """The given files, and the *.pte and *.ptd files below the given folders; sorted, each once.

    A path that does not exist is kept: auditing it tells what is wrong.
    """
    return sorted({found for path in paths for found in _expand(path)})


def _expand(path: str) -> Iterator[str]:
    if not os.path.isdir(path):
        yield path
        return
    # A folder that cannot be listed is yielded itself: auditing it tells what is wrong.
    unreadable: list[OSError] = []
    for folder, _, names in os.walk(path, onerror=unreadable.append):
        for name in names:
            if name.lower().endswith(_SUFFIXES):
                yield os.path.join(folder, name)
    yield from (os.fsdecode(error.filename) for error in unreadable)
