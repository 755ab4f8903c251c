"""The ways to report, as options of the command."""

from __future__ import annotations

import click

from aligncheck.cli import main

_CHOICES = next(option.type for option in main.params if option.name == "report")
assert isinstance(_CHOICES, click.Choice)
NAMES: tuple[str, ...] = tuple(_CHOICES.choices)
"""What `--format` takes."""
OUTPUTS: dict[str, tuple[str, ...]] = {
    **{name: ("-f", name) for name in NAMES},
    "verbose": ("-v",),
    "quiet": ("-q",),
}
"""Options by a short name for them."""
FOR_PEOPLE = ("text", "verbose", "quiet", "github")
"""Those whose lines go to a terminal or a log as they are."""
