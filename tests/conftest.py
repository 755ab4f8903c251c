"""The tests over the shared corpus are there only where the corpus is."""

from __future__ import annotations

import os

import pytest

from tests.support.corpus import CORPUS, VARIABLE

collect_ignore: list[str] = []

if not CORPUS.is_dir():
    if os.environ.get(VARIABLE):
        raise pytest.UsageError(f"{VARIABLE}: there is no folder {CORPUS}")
    collect_ignore.append("test_corpus.py")
