"""Annotations for GitHub: read back as its runner reads them, and safe in a log."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aligncheck import audit
from aligncheck.errors import BadFile
from aligncheck.model import Audit, Container, Remark
from aligncheck.outcome import Outcome, Tally
from aligncheck.report import github, prose
from tests.support import samples
from tests.support.build import Named, Ptd, Segment

REQUESTS = {"strong": 256}


class Annotation(NamedTuple):
    """A workflow command as the runner understands it."""

    level: str
    file: str
    title: str
    message: str


def told(*outcomes: Outcome) -> str:
    tally = Tally()
    return "".join(github.render(tally.watch(outcomes), tally))


def commands(output: str) -> list[Annotation]:
    """All lines but the summary, as the runner's ActionCommand takes them apart."""
    return [annotation(line) for line in output.split("\n")[:-2]]


def annotation(line: str) -> Annotation:
    found = re.fullmatch(r"::(\w+) ([^:]*)::(.*)", line)
    assert found is not None, line
    pairs = dict(pair.split("=", 1) for pair in found[2].split(","))
    assert set(pairs) == {"file", "title"}
    return Annotation(
        found[1], unescaped(pairs["file"]), unescaped(pairs["title"]), unescaped(found[3])
    )


def unescaped(text: str) -> str:
    for token, character in (("%2C", ","), ("%3A", ":"), ("%0A", "\n"), ("%0D", "\r")):
        text = text.replace(token, character)
    return text.replace("%25", "%")


def sample(folder: Path, name: str = "weak.ptd") -> Outcome:
    path = samples.weak_first(samples.ptd).build().write(folder / name)
    return Outcome(path=str(path), audit=audit(path, REQUESTS))


def remarking(remark: Remark) -> Outcome:
    container = Container(
        path="r.ptd",
        format="ptd",
        size=0,
        metadata_end=0,
        header=None,
        segment_base_offset=0,
        segments=(),
        entries=(),
    )
    made = Audit(
        container=container, requests=(), segment_requests=(), findings=(), remarks=(remark,)
    )
    return Outcome(path="r.ptd", audit=made)


def test_a_violation_is_an_annotation_of_its_file(tmp_path: Path) -> None:
    outcome = sample(tmp_path)
    assert outcome.audit is not None
    (found,) = commands(told(outcome))
    message = prose.message(outcome.audit.findings[0])
    assert found == ("error", str(tmp_path / "weak.ptd"), "AC101 named-data", message)


def test_a_remark_is_an_annotation_of_its_level() -> None:
    remark = Remark(rule="AC304", level="warning", absolute_offset=320, size=64)
    (found,) = commands(told(remarking(remark)))
    assert (found.level, found.title) == ("warning", "AC304 dirty-padding")
    assert found.message == "bytes 320 to 384 belong to no segment and are not zero"


def test_a_file_that_cannot_be_audited_is_an_error() -> None:
    error = BadFile("a.pte", "is 3 bytes long", place="header", hint="100% wrong")
    (found,) = commands(told(Outcome(path="a.pte", error=error)))
    assert found == (
        "error",
        "a.pte",
        "AC001 unreadable",
        "header: is 3 bytes long; 100% wrong",
    )


def test_the_summary_comes_last(tmp_path: Path) -> None:
    assert told(sample(tmp_path)).splitlines()[-1] == (
        "1 file, 3 entries: 1 violation, 2 entries have no known request"
    )


def test_a_clean_run_is_the_summary_only() -> None:
    assert told() == "0 files, 0 entries: nothing to audit\n"


def test_a_leading_dot_is_left_out_so_that_the_path_is_the_repositorys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    audited = sample(tmp_path).audit
    (found,) = commands(told(Outcome(path="./sub/weak.ptd", audit=audited)))
    assert found.file == "sub/weak.ptd"


@pytest.mark.parametrize("name", ["a,b.ptd", "a:b.ptd", "100%.ptd", "%0A.ptd", "a=b.ptd", "ü.ptd"])
def test_a_path_survives(tmp_path: Path, name: str) -> None:
    (found,) = commands(told(sample(tmp_path, name)))
    assert found.file == str(tmp_path / name)


@pytest.mark.parametrize(
    "name",
    ["\n::error::x", "\r::stop-commands::x", "\x1b[31m", "\u2028::set-output::", "##[error]x"],
)
def test_a_name_in_a_file_cannot_give_commands(tmp_path: Path, name: str) -> None:
    path = Ptd(segments=[Segment(b"1")], named=[Named(name, 0)]).build().write(tmp_path / "h.ptd")
    output = told(Outcome(path=str(path), audit=audit(path, {"*": 4096})))
    assert len(commands(output)) == 1
    assert output.replace("\n", "").isprintable()
    assert "##[" not in output


@given(st.text(max_size=30))
def test_any_path_and_any_reason_stay_on_one_line(text: str) -> None:
    output = told(Outcome(path=text, error=BadFile(text, text)))
    (found,) = commands(output)
    assert found.message == prose.shown(text)
    assert output.replace("\n", "").isprintable()
