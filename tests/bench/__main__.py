"""Prints a table of all figures and writes them as JSON: `python -m tests.bench --help`."""

from __future__ import annotations

import argparse
import json
import platform
import tempfile
from pathlib import Path

from tests.bench.cases import CASES, Row


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"some of: {', '.join(CASES)}")
    parser.add_argument("--runs", type=int, default=7, help="of each command, in turn")
    parser.add_argument("--json", metavar="FILE", help="write the figures here too")
    parser.add_argument("--folder", metavar="DIR", help="for files of some GiB")
    given = parser.parse_args()
    rows: list[Row] = []
    print(f"{platform.machine()}, Python {platform.python_version()}, {given.runs} runs")
    for name in given.cases or CASES:
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            for row in CASES[name](Path(folder), given.runs):
                rows.append(row)
                print(_line(row), flush=True)
    if given.json:
        figures = [row._asdict() for row in rows]
        Path(given.json).write_text(json.dumps(figures, indent=1), encoding="utf-8")


def _line(row: Row) -> str:
    verdict = "" if row.goal is None else f"goal {row.goal:g}"
    missed = row.goal is not None and row.figure > row.goal
    figure = f"{row.figure:10.3f} {row.unit}"
    return f"{row.case:10} {row.what:32} {figure:34} {verdict}{'  MISSED' if missed else ''}"


if __name__ == "__main__":
    main()
