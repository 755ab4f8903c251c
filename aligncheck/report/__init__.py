"""Reports: one module a format, each a pure function from outcomes to text."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aligncheck.outcome import Outcome, Tally

REPORTS = {
    "json": "json_v1",
    "jsonl": "jsonl",
    "github": "github",
    "sarif": "sarif",
    "junit": "junit",
    "svg": "svg",
    "html": "html",
}
"""The formats for programs and the pictures: by name, the module that makes them."""


def renderer(name: str) -> Callable[[Iterable[Outcome], Tally], Iterator[str]]:
    """The function that makes a report, piece by piece as the outcomes go by.

    Only the module of that report is imported.
    """
    module = importlib.import_module(f"{__name__}.{REPORTS[name]}")
    render: Callable[[Iterable[Outcome], Tally], Iterator[str]] = module.render
    return render
