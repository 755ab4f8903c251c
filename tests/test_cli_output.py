"""What the command prints is safe wherever it goes: odd names, pipes, colours, locales."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.support import samples
from tests.support.build import Named, Ptd, Segment
from tests.support.cli import command, python, run
from tests.support.samples import ASKED

OUTPUTS = pytest.mark.parametrize(
    "output", [(), ("-v",), ("-q",), ("-f", "json")], ids=["text", "verbose", "quiet", "json"]
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, where files have short names."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def weak(folder: Path) -> Path:
    """The reported bug."""
    samples.weak_first(samples.ptd).build().write(folder / "weak.ptd")
    return Path("weak.ptd")


HOSTILE = {
    "escape": ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
    "markup": ("[bold]loud[/bold] [/] :smile:", "[bold]loud[/bold] [/] :smile:"),
    "newline": ("two\nlines\r", r"two\nlines\r"),
    "bidi": ("abc\u202egnp", r"abc\u202egnp"),
    "isolate": ("a\u2066b", r"a\u2066b"),
    "c1": ("a\x9b31mb", r"a\x9b31mb"),
    "separator": ("a\u2028b", r"a\u2028b"),
    "zero width": ("a\u200bb", r"a\u200bb"),
    "nul": ("a\0b", r"a\x00b"),
}


@OUTPUTS
@pytest.mark.parametrize(("name", "shown"), HOSTILE.values(), ids=HOSTILE)
def test_names_from_files_are_shown_literally_and_safely(
    folder: Path, output: tuple[str, ...], name: str, shown: str
) -> None:
    spec = Ptd(base=384, segments=[Segment(b"1")], named=[Named(name, 0)])
    spec.build().write(folder / "h.ptd")
    ran = run("h.ptd", "-r", "*=256", *output)
    assert ran.code == 1
    assert all(line.isprintable() for line in (ran.out + ran.err).splitlines())
    if output != ("-f", "json"):
        assert shown in ran.out


@OUTPUTS
@pytest.mark.parametrize(("name", "shown"), HOSTILE.values(), ids=HOSTILE)
def test_names_of_files_are_shown_literally_and_safely(
    folder: Path, output: tuple[str, ...], name: str, shown: str
) -> None:
    if "\0" in name or "/" in name:
        name, shown = "\x07bell", r"\x07bell"
    samples.lone(samples.ptd).build().write(folder / f"{name}.ptd")
    ran = run(f"{name}.ptd", f"{name}.none", "-r", "*=256", *output)
    assert ran.code == 2
    assert all(line.isprintable() for line in (ran.out + ran.err).splitlines())
    assert f"{shown}.none" in ran.err


def test_a_key_from_the_command_line_is_shown_safely(weak: Path) -> None:
    ran = run(weak, "-r", "\x1b[2J*\n=64")
    assert ran.err.isascii()
    assert len(ran.err.splitlines()) == 1
    assert "\x1b" not in ran.err


def test_a_file_name_that_is_not_utf_8_is_shown_escaped(folder: Path) -> None:
    name = os.fsdecode(b"caf\xe9.ptd")
    samples.lone(samples.ptd).build().write(folder / name)
    for output in ((), ("-q",), ("-v",)):
        ran = command(".", "-r", "strong=4096", *output, cwd=folder)
        assert ran.code == 1
        assert r"./caf\udce9.ptd" in ran.out


def test_a_very_long_name_is_cut_in_its_middle(folder: Path) -> None:
    spec = Ptd(segments=[Segment(b"1", offset=1)], named=[Named(f"<{'x' * 2**20}>", 0)])
    spec.build().write(folder / "h.ptd")
    ran = run("-q", "h.ptd", "-r", "*=256")
    assert len(ran.out) < 2000
    assert re.search(r": <x+\.\.\.x+> at ", ran.out)


COLOUR = re.compile(r"\x1b\[[0-9;]*3[0-7]m")


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"NO_COLOR": "1"}, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
    ],
)
def test_colours_follow_no_color_and_force_color(
    weak: Path, folder: Path, environment: dict[str, str], coloured: bool
) -> None:
    settings = {"TERM": "xterm-256color", **environment}
    ran = command(weak, *ASKED, cwd=folder, environment=settings)
    assert ran.code == 1
    assert bool(COLOUR.search(ran.out)) == coloured


def test_a_pipe_gets_no_escapes(weak: Path, folder: Path) -> None:
    ran = command("-v", weak, *ASKED, cwd=folder, environment={"TERM": "xterm-256color"})
    assert "\x1b" not in ran.out


PROBE = """
import sys
from aligncheck.cli import main
try:
    main(sys.argv[1:])
except SystemExit as error:
    code = error.code
print(code, *sorted({name.partition(".")[0] for name in sys.modules} & {"rich", "torch"}))
"""


@pytest.mark.parametrize(
    ("options", "last"),
    [
        (("-q", *ASKED), "1"),
        (("-f", "json", *ASKED), "1"),
        ((), "0"),
        (ASKED, "1 rich"),
    ],
    ids=["quiet", "json", "clean", "drawing"],
)
def test_rich_is_imported_only_to_draw_something(
    weak: Path, folder: Path, options: tuple[str, ...], last: str
) -> None:
    ran = python("-c", PROBE, str(weak), *options, cwd=folder)
    assert ran.lines[-1] == last, ran.err


def test_a_run_in_a_c_locale_does_not_crash(folder: Path) -> None:
    spec = Ptd(base=384, segments=[Segment(b"1")], named=[Named("größe", 0)])
    spec.build().write(folder / "g.ptd")
    settings = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for output in ((), ("-v",), ("-q",), ("-f", "json")):
        ran = command("g.ptd", "-r", "*=256", *output, cwd=folder, environment=settings)
        assert "Traceback" not in ran.err
        assert ran.code == 1
