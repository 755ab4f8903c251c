"""Everything that can be said of an outcome: every report there is, found by looking."""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from aligncheck import report
from aligncheck.outcome import Outcome, Tally
from aligncheck.report import prose, quiet, text

Report = Callable[[Sequence[Outcome]], str]


def _lines(outcomes: Sequence[Outcome]) -> str:
    return "\n".join(quiet.render(outcomes))


def _text(outcomes: Sequence[Outcome]) -> str:
    parts = (text.render(outcome, io.StringIO(), verbose=True) for outcome in outcomes)
    return "".join(parts) + prose.summary(_tally(outcomes))


def _tally(outcomes: Sequence[Outcome]) -> Tally:
    tally = Tally()
    list(tally.watch(outcomes))
    return tally


def _machine(render: Callable[..., Iterator[str]]) -> Report:
    """A report for machines: made from the outcomes and the tally, and some from the version."""
    wants_version = "version" in inspect.signature(render).parameters
    more: dict[str, Any] = {"version": "1"} if wants_version else {}
    return lambda outcomes: "".join(render(outcomes, _tally(outcomes), **more))


def _found() -> Iterator[tuple[str, Report]]:
    for module in iter_modules(report.__path__):
        render = getattr(import_module(f"{report.__name__}.{module.name}"), "render", None)
        if render is not None and module.name not in {"text", "quiet"}:
            yield module.name, _machine(render)


REPORTS: dict[str, Report] = {"text": _text, "quiet": _lines, **dict(_found())}
"""By the module's name."""
