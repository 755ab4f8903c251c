"""A real git repository with the real pre-commit, which takes its hooks from the working tree."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.cli import ROOT, Ran

INSTALLED = (
    *("aligncheck", "docs", ".pre-commit-hooks.yaml"),
    *("pyproject.toml", "README.md", "LICENSE"),
)
"""What pre-commit needs of the project to build its environment."""
_GIT = {
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@localhost",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@localhost",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


class Repository:
    """A git repository at `folder`; pre-commit keeps what it builds in `cache`."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self.folder = folder
        self.cache = cache
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet")

    def run(self, *words: str) -> Ran:
        """A command in the repository, in an environment free of an outer git's variables."""
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("GIT_", "PRE_COMMIT", "PYTHON"))
        }
        ran = subprocess.run(
            words,
            check=False,
            capture_output=True,
            encoding="utf-8",
            cwd=self.folder,
            env={**inherited, **_GIT, "PRE_COMMIT_HOME": str(self.cache), "NO_COLOR": "1"},
            timeout=300,
        )
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    def git(self, *words: str) -> str:
        """What git prints. Fails if git does."""
        ran = self.run("git", *words)
        assert ran.code == 0, ran.err
        return ran.out

    def pre_commit(self, *words: str) -> Ran:
        """pre-commit, of the Python that runs the tests."""
        return self.run(sys.executable, "-m", "pre_commit", *words)

    def commit(self, message: str = "a commit") -> Ran:
        """All files, as a person would commit them: the hooks may object."""
        self.git("add", "--all")
        return self.run("git", "commit", "--message", message)

    @property
    def commits(self) -> int:
        """How many commits there are."""
        return int(self.git("rev-list", "--all", "--count"))


def hook_source(folder: Path, cache: Path) -> tuple[Path, str]:
    """A repository with the project as it is in the working tree, and its commit."""
    source = Repository(folder, cache)
    for name in INSTALLED:
        path = ROOT / name
        if path.is_dir():
            shutil.copytree(path, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(path, folder / name)
    ran = source.commit()
    assert ran.code == 0, ran.err
    return folder, source.git("rev-parse", "HEAD").strip()
