"""The pages of the documentation: what they show, and what the program really prints.

`python -m tests.support.pages` writes the present output into the pages, where they show some.
"""

from __future__ import annotations

import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.support.cli import ROOT, Ran, command

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
_FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


class Step(NamedTuple):
    """A command that a page shows, and the output that it shows below; none if it shows none."""

    command: str
    shown: str


def fenced(page: Path, language: str) -> list[str]:
    """The texts of a page's blocks in one language."""
    text = page.read_text(encoding="utf-8")
    return [match["text"] for match in _FENCE.finditer(text) if match["language"] == language]


def steps(text: str) -> Iterator[Step]:
    """The commands of a `console` block."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, shown = part.partition("\n")
        yield Step(line, shown)


def is_set_up(line: str) -> bool:
    """True for a command that installs something: those are not run here."""
    return line.startswith("pip install ")


def prepare(folder: Path) -> None:
    """Puts the samples where the pages' commands look for them."""
    shutil.copytree(ROOT / "tests" / "data", folder / "tests" / "data")
    for name in ("build", "models", "out"):
        (folder / name).mkdir()
        shutil.copy(ROOT / "tests" / "data" / "weak_first.pte", folder / name / "model.pte")
    shutil.copy(ROOT / "tests" / "data" / "xnnpack_external.pte", folder / "model.pte")
    shutil.copy(ROOT / "tests" / "data" / "xnnpack_external.ptd", folder / "weights.ptd")


def execute(line: str, folder: Path) -> Ran:
    """Runs a command as the pages show it. Fails for one that this does not know."""
    program, *words = shlex.split(line, comments=True)
    assert program == "aligncheck", f"teach this to run: {line}"
    return command(*words, cwd=folder, environment={"NO_COLOR": "1"})


def printed(ran: Ran) -> str:
    """What a reader sees, without blanks at the ends of lines: notes on errors come first."""
    text = ran.err + ran.out
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def current(text: str, folder: Path) -> str:
    """A `console` block as it has to be; the commands run in `folder`, one after the other."""
    parts = []
    for step in steps(text):
        ran = None if is_set_up(step.command) else execute(step.command, folder)
        parts.append(f"$ {step.command}\n{printed(ran) if ran and step.shown else ''}")
    return "".join(parts)


def refreshed(page: Path, folder: Path) -> str:
    """A page with the present output in all its blocks."""

    def block(match: re.Match[str]) -> str:
        if match["language"] != "console":
            return match[0]
        return f"```console\n{current(match['text'], folder)}```"

    return _FENCE.sub(block, page.read_text(encoding="utf-8"))


def main() -> None:
    for page in PAGES:
        with tempfile.TemporaryDirectory() as name:
            prepare(Path(name))
            page.write_text(refreshed(page, Path(name)), encoding="utf-8")


if __name__ == "__main__":
    main()
