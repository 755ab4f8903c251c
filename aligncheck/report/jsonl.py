"""Machine output, one line a file: each is an element of the JSON document's `files`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from aligncheck.outcome import Outcome, Tally
from aligncheck.report import json_v1


def render(outcomes: Iterable[Outcome], _tally: Tally) -> Iterator[str]:
    """Each file's line as soon as its outcome is there."""
    for outcome in outcomes:
        yield f"{json_v1.dumps(json_v1.file(outcome))}\n"
