"""The tests with a real browser are there only where a Chromium is.

ALIGNCHECK_BROWSER names one that must work; without it, one is looked for by its usual names.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator

import pytest

from tests.browser.chromium import Browser, Page

VARIABLE = "ALIGNCHECK_BROWSER"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
Open = Callable[..., Page]


def _found() -> str | None:
    named = os.environ.get(VARIABLE)
    if named is None:
        return next(filter(None, map(shutil.which, NAMES)), None)
    path = shutil.which(named)
    if path is None:
        raise pytest.UsageError(f"{VARIABLE}: there is no program {named!r}")
    return path


CHROMIUM = _found()
collect_ignore_glob = [] if CHROMIUM else ["test_*.py"]


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    assert CHROMIUM is not None
    started = Browser(CHROMIUM, tmp_path_factory.mktemp("profile"))
    yield started
    started.close()


@pytest.fixture
def opened(browser: Browser) -> Iterator[Open]:
    """Opens a file as a page, which is closed when the test ends."""
    yield browser.open
    browser.close_pages()
