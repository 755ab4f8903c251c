"""Output cannot be used against who reads it: whatever names are in files or of files."""

from __future__ import annotations

import html.parser
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.support import samples
from tests.support.build import Delegate, Method, Named, Ptd, Pte, Segment
from tests.support.cli import Ran, run
from tests.support.formats import FOR_PEOPLE, NAMES, OUTPUTS
from tests.support.samples import ASKED

every_output = pytest.mark.parametrize("output", OUTPUTS.values(), ids=list(OUTPUTS))
NAMES_IN_FILES = {
    "colour": "\x1b[31mred\x1b[0m",
    "title": "\x1b]0;owned\x07",
    "link": "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "c1": "\x9b2J\x9d0;owned\x9c",
    "back": "good\b\b\b\bevil\rworse",
    "markup": "[bold red]loud[/] [link=http://evil.example]x[/link] :boom:",
    "newlines": "one\ntwo\r\nthree\x0bfour\x0cfive\x85six\u2028seven\u2029eight",
    "bidi": "\u202eabc\u202d \u2066def\u2069 \u200f",
    "nothing": "a\u200b\u200d\ufeffb\u00ad",
    "command": "::error file=x,line=1::owned",
    "command on a line": "x\n::stop-commands::token\n::add-mask::o\n##[error]owned",
    "doubled": ":::error:::::warning::",
    "azure": "##vso[task.setvariable variable=x]y",
    "percent": "100%0A::error::owned %25 %3A",
    "html": "<script>alert(1)</script><img src=x onerror=alert(1)>&amp;\"'`",
    "xml": "]]><!--<!DOCTYPE a [<!ENTITY b 'c'>]>&b;",
    "json": '","evil":true,"x":"\\',
    "nul": "a\0b",
    "surrogates": "\ud7ff\ue000\ufffe\uffff\U0010ffff",
    "tags": "\U000e0041\U000e0042",
    "dashes": "--fix",
    "empty": "",
    "blank": "   ",
}
hostile_names = pytest.mark.parametrize("name", NAMES_IN_FILES.values(), ids=list(NAMES_IN_FILES))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


FOR_PROGRAMS = tuple(OUTPUTS[name] for name in ("json", "jsonl", "sarif"))
"""In these a name is the very name, in JSON, and no line begins with one."""


def check_harmless(ran: Ran, output: tuple[str, ...]) -> None:
    """Nothing that a terminal, a log or a runner would obey."""
    lines = (*ran.out.split("\n"), *ran.err.split("\n"))
    assert all(line.isprintable() for line in lines)
    if output not in FOR_PROGRAMS:
        assert not any("##[" in line or "##vso[" in line for line in lines)
    if output != OUTPUTS["github"]:
        assert not any(line.lstrip().startswith("::") for line in lines)


def program(name: str) -> Pte:
    """A program in which everything that can have a name has this one."""
    return Pte(
        segments=[Segment(b"1", offset=1), Segment(b"2", offset=2)],
        named=[Named(name, 0), Named(name, 1)],
        methods=[Method(name, delegates=[Delegate(backend=name, segment=1)])],
    )


@every_output
@hostile_names
def test_no_name_in_a_file_is_obeyed(folder: Path, output: tuple[str, ...], name: str) -> None:
    program(name).build().write(folder / "h.pte")
    for fixing in ((), ("--diff",)):
        ran = run("h.pte", "-s", "64", "-r", "*=256", *fixing, *output, columns=30)
        assert ran.code == 1
        check_harmless(ran, output)


@every_output
@hostile_names
def test_no_name_of_a_file_is_obeyed(folder: Path, output: tuple[str, ...], name: str) -> None:
    name = name.replace("\0", "").replace("/", "|")[:100] + ".ptd"
    samples.weak_first(samples.ptd).build().write(folder / name)
    ran = run(*ASKED, *output, "--", name, f"{name}.none", columns=30)
    assert ran.code == 2
    check_harmless(ran, output)


@every_output
@hostile_names
def test_no_word_of_a_sidecar_is_obeyed(folder: Path, output: tuple[str, ...], name: str) -> None:
    samples.weak_first(samples.ptd).build().write(folder / "weak.ptd")
    recorded = [
        {"key": "strong", "alignment": 256, "origin": name or "?"},
        {"key": name, "alignment": 512, "origin": "x"},
    ]
    document = json.dumps({"version": 1, "requests": recorded})
    (folder / "weak.ptd.align.json").write_text(document, encoding="utf-8")
    ran = run("weak.ptd", *output, columns=30)
    assert ran.code == 1
    check_harmless(ran, output)


@hostile_names
def test_no_word_of_a_bad_sidecar_or_configuration_is_obeyed(folder: Path, name: str) -> None:
    samples.weak_first(samples.ptd).build().write(folder / "weak.ptd")
    (folder / "weak.ptd.align.json").write_text(
        json.dumps({"version": name, name: 1}), encoding="utf-8"
    )
    quoted = json.dumps(name).replace("\\ud", "?").replace("\\u0000", "?")
    (folder / "aligncheck.toml").write_text(f"{quoted} = {quoted}\n", encoding="utf-8")
    for options in (("--isolated",), ("--no-sidecar",)):
        ran = run("weak.ptd", *options)
        assert ran.code == 2
        check_harmless(ran, options)


@hostile_names
def test_no_argument_is_obeyed(name: str) -> None:
    name = name.replace("\0", "")
    for args in (
        (f"--{name}\n::error::owned",),
        ("-f", name, "x"),
        ("-r", name, "x"),
        ("-s", name, "x"),
        ("--target", name, "x"),
        ("--config", name or "?", "x"),
        ("--requests", name or "?", "x"),
        ("-o", name, "x"),
    ):
        ran = run(*args)
        assert ran.code == 2
        assert not any(line.lstrip().startswith("::") for line in ran.err.split("\n"))


COMMAND = re.compile(r"::(error|warning) file=[^:,]*,title=[^:,]*::[^\n]*")


@hostile_names
def test_github_gets_the_commands_that_it_should_and_no_other(folder: Path, name: str) -> None:
    program(name).build().write(folder / "h.pte")
    ran = run("h.pte", "-r", "*=256", "-f", "github")
    *commands, summary = ran.out.splitlines()
    assert all(COMMAND.fullmatch(line) for line in commands)
    assert not summary.startswith("::")
    # Two entries under one key, a delegate, and the key that is there twice.
    assert len(commands) >= 3
    assert all(line.count("::") == 2 for line in commands)


@pytest.mark.parametrize("shift", range(30))
@pytest.mark.parametrize("output", [OUTPUTS[name] for name in FOR_PEOPLE], ids=FOR_PEOPLE)
def test_a_line_that_is_wrapped_never_begins_with_a_command(
    folder: Path, output: tuple[str, ...], shift: int
) -> None:
    name = "x" * shift + " ::error::owned ##[error]owned" * 5
    Ptd(segments=[Segment(b"1", offset=1)], named=[Named(name, 0)]).build().write(folder / "h.ptd")
    ran = run("h.ptd", "-r", "*=256", *output, columns=30)
    assert ran.code == 1
    check_harmless(ran, output)


def _json(text: str) -> list[str]:
    (file,) = json.loads(text)["files"]
    return [entry["name"] for entry in file["entries"]]


def _jsonl(text: str) -> list[str]:
    return [entry["name"] for entry in json.loads(text)["entries"]]


@pytest.mark.parametrize(("report", "read"), [("json", _json), ("jsonl", _jsonl)])
@hostile_names
def test_programs_get_the_very_name(
    folder: Path, report: str, read: Callable[[str], list[str]], name: str
) -> None:
    Ptd(segments=[Segment(b"1")], named=[Named(name, 0)]).build().write(folder / "h.ptd")
    ran = run("h.ptd", "-f", report)
    assert read(ran.out) == [name]


@hostile_names
def test_a_log_of_findings_is_json(folder: Path, name: str) -> None:
    program(name).build().write(folder / "h.pte")
    log = json.loads(run("h.pte", "-r", "*=256", "-f", "sarif").out)
    assert log["version"] == "2.1.0"
    assert log["runs"][0]["results"]


@pytest.mark.parametrize("report", ["junit", "svg"])
@hostile_names
def test_xml_is_well_formed_and_has_only_its_own_elements(
    folder: Path, report: str, name: str
) -> None:
    program(name).build().write(folder / "h.pte")
    program("harmless").build().write(folder / "g.pte")
    ours, theirs = (
        _elements(run(file, "-r", "*=256", "-f", report).out) for file in ("g.pte", "h.pte")
    )
    assert theirs <= ours | {"title", "text", "tspan", "rect", "g", "path", "testcase", "failure"}
    assert "script" not in theirs


def _elements(text: str) -> set[str]:
    return {element.tag.rpartition("}")[2] for element in ET.fromstring(text).iter()}


class _Tags(html.parser.HTMLParser):
    """The tags and the names of attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found |= {tag, *(f"{tag} {name}" for name, _ in attrs)}


def _tags(page: str) -> set[str]:
    parser = _Tags()
    parser.feed(page)
    return parser.found


@hostile_names
def test_a_page_has_only_its_own_tags_and_attributes(folder: Path, name: str) -> None:
    program(name).build().write(folder / "h.pte")
    program("harmless").build().write(folder / "g.pte")
    ours, theirs = (_tags(run(f, "-r", "*=256", "-f", "html").out) for f in ("g.pte", "h.pte"))
    assert theirs - ours == set()
    assert "script" not in theirs


MIB = 2**20
LONG = {"text", "verbose", "quiet", "github", "sarif", "junit", "svg", "html"}


@pytest.mark.parametrize("output", OUTPUTS, ids=list(OUTPUTS))
@pytest.mark.parametrize(
    "letter", ["x", "\x1b", "\u202e", ":"], ids=["x", "escape", "bidi", "colon"]
)
def test_a_name_of_a_mebibyte_is_cut_but_for_programs(
    folder: Path, output: str, letter: str
) -> None:
    name = letter * (MIB // len(letter.encode()))
    Ptd(segments=[Segment(b"1", offset=1)], named=[Named(name, 0)]).build().write(folder / "h.ptd")
    ran = run("h.ptd", "-r", "*=256", *OUTPUTS[output])
    assert ran.code == 1
    check_harmless(ran, OUTPUTS[output])
    if output in LONG:
        assert len(ran.out) < 300_000


DASHED = ["-x.ptd", "--fix.ptd", "--", "-", "-r", "--exit-zero", "-q=1.ptd", "-\n::error::owned"]


@pytest.mark.parametrize("name", DASHED)
def test_a_path_that_starts_with_a_dash_is_a_path_after_two_dashes(folder: Path, name: str) -> None:
    samples.weak_first(samples.ptd).build().write(folder / name)
    for path in (("--", name), (f"./{name}",)):
        ran = run("-q", *ASKED, *path)
        assert ran.code == 1
        assert "AC101 error: strong" in ran.out
        check_harmless(ran, ())


def test_a_path_that_starts_with_a_dash_changes_nothing_without_them(folder: Path) -> None:
    before = samples.weak_first(samples.ptd).build().write(folder / "--fix.ptd").read_bytes()
    ran = run("--fix.ptd", *ASKED)
    assert ran.code == 2
    assert (folder / "--fix.ptd").read_bytes() == before


@pytest.mark.parametrize("fix", [("--fix",), ("--fix", "--output-dir", "-out"), ("--diff",)])
def test_a_path_that_starts_with_a_dash_can_be_fixed(folder: Path, fix: tuple[str, ...]) -> None:
    samples.weak_first(samples.ptd).build().write(folder / "-x.ptd")
    ran = run(*ASKED, *fix, "--", "-x.ptd")
    assert ran.code == int(fix == ("--diff",))
    assert set(os.listdir(folder)) <= {"-x.ptd", "-out"}


def test_every_report_is_among_those_that_are_tested() -> None:
    assert set(NAMES) <= set(OUTPUTS)
    assert set(NAMES) >= {"text", "json", "jsonl", "github", "sarif", "junit", "svg", "html"}
