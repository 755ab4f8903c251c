"""Shell completion, as docs/cli.md says to turn it on."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli import ROOT, command

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_ALIGNCHECK_COMPLETE"
AT_HAND = [shell for shell in SHELLS if shutil.which(shell)]
IN_A_SHELL = {
    "bash": (
        f'eval "$({VARIABLE}=bash_source aligncheck)"\n'
        "COMP_WORDS=(aligncheck --target mmap-1) COMP_CWORD=2\n"
        "_aligncheck_completion aligncheck\n"
        'echo "${COMPREPLY[*]}"\n'
    ),
    "fish": (
        f"{VARIABLE}=fish_source aligncheck | source\ncomplete -C 'aligncheck --target mmap-1'\n"
    ),
}
"""Completing `mmap-1` as the shell does at a key press; zsh can do so at a terminal only."""
WITH_A_PATH = ("--requests", "--config", "--output-file", "-o", "--output-dir")
every_shell = pytest.mark.parametrize("shell", SHELLS)


def script(shell: str) -> str:
    """What a shell has to read to complete the command's words."""
    ran = command(environment={VARIABLE: f"{shell}_source"})
    assert (ran.code, ran.err) == (0, "")
    return ran.out


def completed(shell: str, line: str) -> list[str]:
    """What the program offers for the last word of a line: the lines that the shell is given."""
    words = line.split(" ")
    # Fish tells the word itself where the others tell its index.
    at = words[-1] if shell == "fish" else str(len(words) - 1)
    ran = command(environment={VARIABLE: f"{shell}_complete", "COMP_WORDS": line, "COMP_CWORD": at})
    assert (ran.code, ran.err) == (0, "")
    return ran.out.split()


def value(shell: str, word: str) -> str:
    """The beginning of an offer as each shell is told it."""
    return word if shell == "zsh" else f"plain,{word}"


@pytest.fixture
def shim(tmp_path: Path) -> dict[str, str]:
    """An environment in which the shell finds the command."""
    program = tmp_path / "bin" / "aligncheck"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m aligncheck "$@"\n', encoding="ascii")
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}


def in_shell(shell: str, text: str, environment: dict[str, str]) -> str:
    ran = subprocess.run(
        [shell, "-c", text],
        check=False,
        capture_output=True,
        encoding="utf-8",
        env=environment,
        timeout=60,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


@every_shell
def test_each_shell_is_given_a_script(shell: str) -> None:
    text = script(shell)
    assert f"{VARIABLE}={shell}_complete" in text
    assert "aligncheck" in text


@pytest.mark.parametrize("shell", AT_HAND)
def test_the_shell_can_read_its_script(shell: str, tmp_path: Path) -> None:
    path = tmp_path / "script"
    path.write_text(script(shell), encoding="utf-8")
    ran = subprocess.run([shell, "-n", path], check=False, capture_output=True, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_bash_is_at_hand_at_least() -> None:
    assert "bash" in AT_HAND


@every_shell
def test_options_are_completed(shell: str) -> None:
    offers = " ".join(completed(shell, "aligncheck --exit"))
    assert value(shell, "--exit-zero") in offers
    assert value(shell, "--exit-non-zero-on-fix") in offers
    assert "--fix" not in offers.replace("-on-fix", "")


@every_shell
def test_choices_are_completed(shell: str) -> None:
    assert value(shell, "json") in completed(shell, "aligncheck --format js")
    assert value(shell, "mmap-16k") in completed(shell, "aligncheck --target mmap-1")


@every_shell
@pytest.mark.parametrize("line", ["mod", "--fix mod", *(f"{option} mod" for option in WITH_A_PATH)])
def test_paths_are_completed_by_the_shell(shell: str, line: str) -> None:
    offers = completed(shell, f"aligncheck {line}")
    assert offers[:1] == ["file"] if shell == "zsh" else offers == ["file,mod"]


@pytest.mark.parametrize("shell", [shell for shell in IN_A_SHELL if shell in AT_HAND])
def test_the_shell_completes_a_word(shell: str, shim: dict[str, str]) -> None:
    assert in_shell(shell, IN_A_SHELL[shell], shim).split() == ["mmap-16k"]
