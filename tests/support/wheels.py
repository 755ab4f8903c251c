"""Building the project's distributions, and installing them into environments of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Mapping
from pathlib import Path

from tests.support.cli import ROOT, Ran


def execute(
    *words: str | Path,
    cwd: Path,
    environment: Mapping[str, str] | None = None,
    timeout: int = 300,
) -> Ran:
    """A command in a process of its own, without variables that lead it to this environment."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "VIRTUAL_ENV", "PIPX_", "UV_"))
    }
    ran = subprocess.run(
        [str(word) for word in words],
        check=False,
        capture_output=True,
        encoding="utf-8",
        cwd=cwd,
        env={**inherited, "NO_COLOR": "1", **(environment or {})},
        timeout=timeout,
    )
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def module(name: str, *words: str | Path, cwd: Path, **environment: str) -> Ran:
    """The same for a module of the Python that runs the tests."""
    return execute(sys.executable, "-m", name, *words, cwd=cwd, environment=environment)


def build(folder: Path) -> tuple[Path, Path]:
    """The source distribution, and the wheel that is built from it."""
    ran = module("build", "--outdir", folder, ROOT, cwd=folder)
    assert ran.code == 0, ran.out + ran.err
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


def program(folder: Path, name: str) -> Path:
    """Where a program of a virtual environment is."""
    return folder / ("Scripts" if os.name == "nt" else "bin") / name


def new_environment(folder: Path) -> Path:
    """A new virtual environment with pip; its Python."""
    venv.create(folder, with_pip=True, symlinks=os.name != "nt")
    return program(folder, "python")
