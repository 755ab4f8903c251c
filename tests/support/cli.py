"""Running the command, in this process or in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from click.testing import CliRunner

from aligncheck.cli import main

ROOT = Path(__file__).parents[2]
"""The project's folder."""


class Ran(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """The lines of standard output, without the blanks that fill up a table's last column."""
        return [line.rstrip() for line in self.out.splitlines()]


def run(*args: str | Path, columns: int = 80) -> Ran:
    """The command in this process, as if at a dumb terminal of that width."""
    environment = {"COLUMNS": str(columns), "NO_COLOR": None, "FORCE_COLOR": None}
    runner = CliRunner(env=environment)
    result = runner.invoke(main, [str(arg) for arg in args], prog_name="aligncheck")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ran(result.exit_code, result.stdout, result.stderr)


def command(
    *args: str | Path, cwd: Path | None = None, environment: Mapping[str, str] | None = None
) -> Ran:
    """The command in a process of its own, which finds the package installed or not."""
    return python("-m", "aligncheck", *map(str, args), cwd=cwd, environment=environment)


def python(
    *args: str, cwd: Path | None = None, environment: Mapping[str, str] | None = None
) -> Ran:
    """Python in a process of its own, with only the environment that it needs."""
    inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    result = subprocess.run(
        [sys.executable, *args],
        check=False,
        capture_output=True,
        encoding="utf-8",
        cwd=cwd,
        env={**inherited, "PYTHONPATH": str(ROOT), "COLUMNS": "80", **(environment or {})},
        timeout=60,
    )
    return Ran(result.returncode, result.stdout, result.stderr)
