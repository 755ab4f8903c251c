"""The tests over the shared corpus are there only where the corpus is."""

from __future__ import annotations

import os
import sys

import pytest

from tests.support.corpus import CORPUS, VARIABLE

collect_ignore: list[str] = []

if not CORPUS.is_dir():
    if os.environ.get(VARIABLE):
        raise pytest.UsageError(f"{VARIABLE}: there is no folder {CORPUS}")
    collect_ignore += ["test_corpus.py", "test_corpus_damaged.py"]

if sys.version_info < (3, 11):  # the package that ships SARIF's schema needs 3.11
    collect_ignore.append("test_report_sarif.py")
