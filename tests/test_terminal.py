"""Where the command runs: closed pipes, Ctrl-C, small and no terminals, bare environments."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support import samples
from tests.support.build import Named, Ptd, Segment
from tests.support.cli import ROOT, command, python
from tests.support.fixing import FIXED, VIOLATED
from tests.support.formats import OUTPUTS
from tests.support.samples import ASKED

every_output = pytest.mark.parametrize("options", OUTPUTS.values(), ids=list(OUTPUTS))
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with the reported bug as `weak.ptd`."""
    monkeypatch.chdir(tmp_path)
    samples.weak_first(samples.ptd).build().write(tmp_path / "weak.ptd")
    return tmp_path


def start(*args: str, **streams: Any) -> subprocess.Popen[bytes]:
    """The command in a process of its own."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "COLUMNS": "80"}
    words = [sys.executable, "-m", "aligncheck", *args]
    return subprocess.Popen(words, env=environment, **streams)


def shell(script: str) -> subprocess.CompletedProcess[str]:
    """A line of shell in which `aligncheck` is the command."""
    function = f'aligncheck() {{ "{sys.executable}" -m aligncheck "$@"; }}\n'
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        ["sh", "-c", function + script],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
    )


def much(folder: Path) -> None:
    """A file of which every report is longer than a small pipe holds."""
    named = [Named(f"{'long name ' * 15}{index}", 0) for index in range(200)]
    Ptd(segments=[Segment(b"1", offset=1)], named=named).build().write(folder / "much.ptd")


@every_output
def test_a_pipe_that_is_closed_ends_the_command_as_the_signal_would(
    folder: Path, options: tuple[str, ...]
) -> None:
    much(folder)
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with start("much.ptd", "-r", "*=256", *options, **streams) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, 4096)
        process.stdout.read(1)
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@every_output
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_stream_that_was_never_open_is_no_crash(options: tuple[str, ...], closed: str) -> None:
    words = " ".join(options)
    ran = shell(f"aligncheck weak.ptd none.ptd -r strong=256 {words} {closed}")
    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr


@every_output
def test_a_full_disk_for_the_report_is_an_error_and_no_verdict(options: tuple[str, ...]) -> None:
    ran = shell(f"aligncheck weak.ptd -r strong=256 {' '.join(options)} >/dev/full")
    assert ran.returncode == 2
    assert ran.stderr == "aligncheck: the report cannot be written: No space left on device\n"


INTERRUPTED = """
import os, signal, sys
from aligncheck.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell ignores it
name = sys.argv.pop(1)
call = getattr(os, name)
def interrupted(*args):
    os.kill(os.getpid(), signal.SIGINT)
    return call(*args)
setattr(os, name, interrupted)
main(sys.argv[1:], prog_name="aligncheck")
"""


@pytest.mark.parametrize("call", ["ftruncate", "copy_file_range", "write", "fchmod", "lseek"])
def test_ctrl_c_ends_a_fix_with_nothing_half_written(folder: Path, call: str) -> None:
    ran = python("-c", INTERRUPTED, call, "--fix", *ASKED, "weak.ptd", cwd=folder)
    assert (ran.code, ran.out, ran.err) == (130, "", "")
    assert (folder / "weak.ptd").read_bytes() == VIOLATED
    assert os.listdir(folder) == ["weak.ptd"]


def test_ctrl_c_while_the_new_file_gets_its_name_leaves_a_whole_one(folder: Path) -> None:
    ran = python("-c", INTERRUPTED, "replace", "--fix", *ASKED, "weak.ptd", cwd=folder)
    assert (ran.code, ran.err) == (130, "")
    assert (folder / "weak.ptd").read_bytes() in {VIOLATED, FIXED}
    assert os.listdir(folder) == ["weak.ptd"]


@pytest.mark.parametrize("call", ["stat", "scandir"])
def test_ctrl_c_while_files_are_looked_for_ends_the_command_in_the_same_way(
    folder: Path, call: str
) -> None:
    ran = python("-c", INTERRUPTED, call, *ASKED, ".", cwd=folder)
    assert (ran.code, ran.out) == (130, "")
    assert "Traceback" not in ran.err


@every_output
def test_what_is_no_terminal_gets_no_escapes_and_no_bar(
    folder: Path, options: tuple[str, ...]
) -> None:
    ran = command("weak.ptd", "none.ptd", *ASKED, *options, environment={"TERM": "xterm"})
    assert "\x1b" not in ran.out + ran.err
    assert "\r" not in ran.out + ran.err


def on_terminal(columns: int, *args: str) -> tuple[int, str]:
    """The exit status, and all that a terminal of that width gets."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment: Mapping[str, str] = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "TERM": "xterm",
    }
    words = [sys.executable, "-m", "aligncheck", *args]
    with subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as it:
        os.close(theirs)
        shown = b""
        while part := _read(ours):
            shown += part
    os.close(ours)
    return it.returncode, shown.decode().replace("\r\n", "\n")


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 2**16)
    except OSError:  # how Linux tells that the other side is closed
        return b""


@pytest.mark.parametrize("options", [(), ("-v",), ("--diff",), ("--fix", "-v")])
@pytest.mark.parametrize("columns", [20, 40, 200])
def test_a_terminal_is_not_exceeded_by_any_table(options: tuple[str, ...], columns: int) -> None:
    code, shown = on_terminal(columns, "weak.ptd", *ASKED, *options)
    assert code == int("--fix" not in options)
    *table, _summary = ESCAPE.sub("", shown).splitlines()
    assert table
    assert max(map(len, table)) <= columns


def test_nothing_is_lost_on_a_terminal_of_20_columns() -> None:
    _, shown = on_terminal(20, "weak.ptd", *ASKED)
    # A column of four takes as many lines as it needs, so letters of a word are lines apart.
    letters = Counter(ESCAPE.sub("", shown))
    assert not Counter("AC101strong640256128") - letters


@every_output
def test_no_home_and_hardly_any_environment_are_enough(options: tuple[str, ...]) -> None:
    words = [sys.executable, "-m", "aligncheck", "weak.ptd", *ASKED, *options]
    ran = subprocess.run(
        words, check=False, capture_output=True, text=True, env={"PYTHONPATH": str(ROOT)}
    )
    assert (ran.returncode, ran.stderr) == (1, "")
    assert ran.stdout


C_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@every_output
def test_a_c_locale_gets_what_it_can_show(folder: Path, options: tuple[str, ...]) -> None:
    named = [Named("größe \u65e5\u672c", 0)]
    path = folder / "größe.ptd"
    Ptd(base=384, segments=[Segment(b"1")], named=named).build().write(path)
    ran = command("größe.ptd", "keins-ü", "-r", "*=256", *options, environment=C_LOCALE)
    assert ran.code == 2
    assert (ran.out + ran.err).isascii()
    assert "Traceback" not in ran.err


@every_output
@pytest.mark.parametrize("environment", [{}, C_LOCALE], ids=["utf-8", "c"])
def test_a_file_name_that_is_no_text_is_told_escaped(
    folder: Path, options: tuple[str, ...], environment: dict[str, str]
) -> None:
    path = os.fsdecode(b"caf\xe9.ptd")
    samples.lone(samples.ptd).build().write(folder / path)
    ran = command(".", "-r", "strong=4096", *options, environment=environment)
    assert (ran.code, ran.err) == (1, "")
    assert "caf" in ran.out
    assert "\udce9" not in ran.out


@pytest.mark.parametrize("options", [("--fix",), ("--diff",)])
def test_a_file_name_that_is_no_text_can_be_fixed(folder: Path, options: tuple[str, ...]) -> None:
    path = folder / os.fsdecode(b"caf\xe9.ptd")
    path.write_bytes(VIOLATED)
    (folder / "weak.ptd").unlink()
    ran = command(".", *ASKED, *options, environment=C_LOCALE)
    assert ran.code == int(options == ("--diff",))
    assert (path.read_bytes() == FIXED) == (options == ("--fix",))
