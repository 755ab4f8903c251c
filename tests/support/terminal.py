"""Draws docs/terminal.svg, the README's picture: what a terminal shows after a real command.

`python -m tests.support.terminal > docs/terminal.svg`
"""

from __future__ import annotations

import io
import re
import sys
import tempfile
from html import unescape
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tests.support import pages
from tests.support.cli import command

COMMANDS = (
    ("-r", "strong=256", "-r", "weak=16", "tests/data/weak_first.ptd"),
    ("--fix", "-r", "strong=256", "-r", "weak=16", "tests/data/weak_first.ptd"),
)
COLUMNS = 80
# Rich's own frame loads a font from elsewhere; this one needs nothing.
FRAME = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<title>aligncheck finds a violation and fixes it</title>
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
font-size: {char_height}px; line-height: {line_height}px; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}"
height="{terminal_height}"/></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def picture() -> str:
    """The commands and what they print, as SVG."""
    console = Console(
        file=io.StringIO(), record=True, width=COLUMNS, force_terminal=True, color_system="standard"
    )
    with tempfile.TemporaryDirectory() as name:
        pages.prepare(Path(name))
        for words in COMMANDS:
            ran = command(*words, cwd=Path(name), environment={"FORCE_COLOR": "1"})
            console.print(Text(f"$ aligncheck {' '.join(words)}", style="bold"))
            console.print(Text.from_ansi(f"{ran.err}{ran.out}"))
    drawn = console.export_svg(title="aligncheck", code_format=FRAME, unique_id="terminal")
    return "".join(f"{line.rstrip()}\n" for line in drawn.splitlines())


def words_of(svg: str) -> list[str]:
    """The words that a picture shows: the same whatever version of rich has drawn it."""
    shown = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    return unescape(" ".join(shown)).replace("\xa0", " ").split()


if __name__ == "__main__":
    sys.stdout.write(picture())
