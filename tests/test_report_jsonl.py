"""JSON lines: each line an element of the document's `files`, as soon as the file is done."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from aligncheck import audit
from aligncheck.errors import BadFile
from aligncheck.outcome import Outcome, Tally
from aligncheck.report import json_v1, jsonl
from tests.support import samples


def outcomes(folder: Path) -> list[Outcome]:
    path = samples.weak_first(samples.ptd).build().write(folder / "weak.ptd")
    bad = Outcome(path="b\n\ud800.pte", error=BadFile("b", "is\nbad"))
    return [Outcome(path=str(path), audit=audit(path, samples.REQUESTS)), bad]


def test_a_line_is_what_the_document_has_of_a_file(tmp_path: Path) -> None:
    made = outcomes(tmp_path)
    document = json.loads("".join(json_v1.render(made, Tally())))
    lines = "".join(jsonl.render(made, Tally())).splitlines()
    assert [json.loads(line) for line in lines] == document["files"]


def test_names_with_line_feeds_do_not_break_lines(tmp_path: Path) -> None:
    pieces = list(jsonl.render(outcomes(tmp_path), Tally()))
    assert [piece.count("\n") for piece in pieces] == [1, 1]
    assert all(piece.endswith("}\n") and piece.isascii() for piece in pieces)


def test_a_line_is_there_before_the_next_file_is_looked_at(tmp_path: Path) -> None:
    looked_at = []

    def watched() -> Iterator[Outcome]:
        for outcome in outcomes(tmp_path):
            looked_at.append(outcome.path)
            yield outcome

    lines = jsonl.render(watched(), Tally())
    next(lines)
    assert len(looked_at) == 1


def test_without_files_there_is_nothing() -> None:
    assert list(jsonl.render([], Tally())) == []
