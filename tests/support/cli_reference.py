"""Writes docs/cli.md from the program: `python -m tests.support.cli_reference > docs/cli.md`.

The program's own help is rendered, section by section, as Markdown.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

import click

from aligncheck.cli import main

HEAD = """\
# Command reference

This page is made from the program's own help: `aligncheck --help` says the same.

"""
TAIL = """\
## Shell completion

The program completes its options, their values and paths. Put one line into your shell's start-up
file:

| shell | file | line |
| --- | --- | --- |
| bash 4.4 or later | `~/.bashrc` | `eval "$(_ALIGNCHECK_COMPLETE=bash_source aligncheck)"` |
| zsh | `~/.zshrc`, after `compinit` | `eval "$(_ALIGNCHECK_COMPLETE=zsh_source aligncheck)"` |
| fish | `~/.config/fish/config.fish` | `_ALIGNCHECK_COMPLETE=fish_source aligncheck \\| source` |

## Environment

| variable | effect |
| --- | --- |
| `NO_COLOR` | no colours, if it is set to anything |
| `FORCE_COLOR` | colours also where the output is no terminal |
| `COLUMNS` | the width to write for, where the terminal does not tell |
"""


class Markdown(click.HelpFormatter):
    """Takes what click would print as help, and writes it as Markdown.

    The widths that click passes on are those of a terminal: they do not matter here.
    """

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:  # noqa: ARG002
        self.write(f"    {prog} {args}\n\n")

    def write_heading(self, heading: str) -> None:
        self.write(f"## {heading}\n\n")

    def write_text(self, text: str) -> None:
        for paragraph in text.split("\n\n"):
            self.write(f"{_paragraph(paragraph)}\n\n")

    def write_paragraph(self) -> None:
        """Each part ends its own paragraph."""

    def write_dl(
        self,
        rows: Iterable[tuple[str, str]],
        col_max: int = 30,  # noqa: ARG002
        col_spacing: int = 2,  # noqa: ARG002
    ) -> None:
        for term, text in rows:
            self.write(f"- `{term}`\\\n  {_escaped(' '.join(text.split()))}\n")
        self.write("\n")


def _paragraph(text: str) -> str:
    """A paragraph; one that click is not to wrap stays as it is, too."""
    if not text.startswith("\b"):
        return _escaped(" ".join(text.split()))
    return "\n".join(f"    {line}" for line in text.strip("\b\n").splitlines())


def _escaped(text: str) -> str:
    """Text in which nothing is markup; words that a reader types are set as code."""
    text = re.sub(r"([\\`*_<>|])", r"\\\1", text)
    return re.sub(r"(?<![\w-])(--?[a-z][a-z-]*)", r"`\1`", text)


def reference() -> str:
    """The page."""
    context = click.Context(main, info_name="aligncheck", **main.context_settings)
    formatter = Markdown(width=100)
    main.format_help(context, formatter)
    return f"{HEAD}{formatter.getvalue().rstrip()}\n\n{TAIL}"


if __name__ == "__main__":
    sys.stdout.write(reference())
