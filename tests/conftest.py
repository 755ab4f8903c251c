"""The tests over the shared corpus are there only where the corpus is."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from aligncheck.rewrite import following
from tests.support.corpus import CORPUS, VARIABLE
from tests.support.fixing import VIOLATED

collect_ignore: list[str] = []

if not CORPUS.is_dir():
    if os.environ.get(VARIABLE):
        raise pytest.UsageError(f"{VARIABLE}: there is no folder {CORPUS}")
    collect_ignore += ["test_corpus.py", "test_corpus_damaged.py"]

if sys.version_info < (3, 11):  # the package that ships SARIF's schema needs 3.11
    collect_ignore.append("test_report_sarif.py")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with a violation, alone in its folder."""
    file = tmp_path / "model.ptd"
    file.write_bytes(VIOLATED)
    return file


@pytest.fixture(params=[False, True], ids=["compared at the end", "compared meanwhile"])
def both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file is fixed in the way of small files, and then in that of large ones."""
    if request.param:
        monkeypatch.setattr(following, "WORTHWHILE", 0)
