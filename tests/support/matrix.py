"""Runs the tests that need no torch under every supported Python that is at hand.

`python -m tests.support.matrix` finds the interpreters; others can be named. Each gets the source
distribution, as somebody who packages the project would, and an environment of its own. Words
after `--` go to pytest.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.support import wheels
from tests.support.cli import ROOT

OLDEST, NEWEST = 10, 15
"""The minor versions of Python 3 to look for."""
HEAVY = ("executorch", "torch")


def main(words: Sequence[str]) -> int:
    end = words.index("--") if "--" in words else len(words)
    pythons = words[:end] or [str(python) for python in at_hand().values()]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sdist, _ = wheels.build(folder)
        codes = [
            run(python, sdist, folder / str(i), words[end + 1 :])
            for i, python in enumerate(pythons)
        ]
    return 1 if any(codes) or not codes else 0


def at_hand() -> dict[int, Path]:
    """An interpreter for each minor version: on the path, or where pyenv keeps them."""
    found: dict[int, Path] = {}
    for path in candidates():
        minor = minor_of(path)
        if minor is not None and minor >= OLDEST:
            found.setdefault(minor, path)
    return dict(sorted(found.items()))


def candidates() -> Iterator[Path]:
    yield Path(sys.executable)
    for minor in range(OLDEST, NEWEST + 1):
        path = shutil.which(f"python3.{minor}")
        if path is not None:
            yield Path(path)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from sorted((pyenv / "versions").glob("3.*/bin/python"))


def minor_of(python: Path) -> int | None:
    """The minor version of a Python 3 that works."""
    ran = wheels.execute(python, "-c", "import sys; print(*sys.version_info[:2])", cwd=ROOT)
    words = ran.out.split()
    return int(words[1]) if ran.code == 0 and words[:1] == ["3"] else None


def requirements() -> list[str]:
    """Those of the extra `test`, without what needs torch."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^test = \[(.*?)^\]", text, re.MULTILINE | re.DOTALL)
    found = re.findall(r'^\s*"([^"]+)"', listed, re.MULTILINE)
    return [item for item in found if not item.startswith(HEAVY)]


def run(python: str, sdist: Path, folder: Path, words: Sequence[str]) -> int:
    """Tests a source distribution under one Python; the exit status of pytest."""
    print(f"== {python}", flush=True)
    shutil.unpack_archive(sdist, folder)
    (source,) = folder.iterdir()
    made = wheels.execute(python, "-m", "venv", folder / "venv", cwd=folder)
    assert made.code == 0, made.err
    own = wheels.program(folder / "venv", "python")
    needed = requirements()
    installed = wheels.execute(own, "-m", "pip", "install", "--quiet", source, *needed, cwd=source)
    assert installed.code == 0, installed.err
    options = ("-q", "-m", "not exporter", "--ignore=tests/exporter", *words)
    ran = wheels.execute(own, "-m", "pytest", *options, cwd=source, timeout=3600)
    print(ran.out, ran.err, flush=True)
    return ran.code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
