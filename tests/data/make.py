"""Writes the sample files beside this script with the real exporter, and truth.json about them.

Run from the project's root, with the extra `executorch` installed: `python -m tests.data.make`.
The files were written by executorch 1.5.1 and torch 2.13.0; these write the same bytes every time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from tests.exporter import upstream
from tests.exporter.models import MODELS, export
from tests.exporter.stores import MATRIX, store
from tests.exporter.view import as_json

FOLDER = Path(__file__).parent
TRUTH = FOLDER / "truth.json"


def main() -> None:
    for path in sample_files():
        path.unlink()
    for case in MATRIX:
        (FOLDER / case.filename).write_bytes(store(case.registrations, case.format))
    for name in MODELS:
        export(name, FOLDER)
    TRUTH.write_text(truth_about(sample_files()), encoding="utf-8")


def sample_files() -> list[Path]:
    """The files that are here, by name."""
    return sorted([*FOLDER.glob("*.pte"), *FOLDER.glob("*.ptd")])


def truth_about(paths: Iterable[Path]) -> str:
    """What upstream's decoders see in the files, as JSON with a line for each."""
    lines = [
        f"{json.dumps(path.name)}: {json.dumps(as_json(upstream.decode(path.read_bytes())))}"
        for path in paths
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    main()
