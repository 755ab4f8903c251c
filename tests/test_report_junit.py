"""JUnit's XML, read back with a strict parser."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aligncheck import audit
from aligncheck.errors import BadFile
from aligncheck.model import Container, Request
from aligncheck.outcome import Outcome, Tally
from aligncheck.report import junit, prose
from aligncheck.requests import Asked
from tests.support import samples
from tests.support.build import Named, Ptd, Segment


def suites(*outcomes: Outcome) -> list[ET.Element]:
    """The suites, after their counts were compared with what is in them."""
    tally = Tally()
    text = "".join(junit.render(tally.watch(outcomes), tally))
    root = ET.fromstring(text.encode("ascii"))
    assert root.tag == "testsuites"
    for suite in root:
        assert suite.get("tests") == str(len(suite.findall("testcase")))
        assert suite.get("failures") == str(len(suite.findall("testcase/failure")))
        assert suite.get("errors") == str(len(suite.findall("testcase/error")))
    return list(root)


def outcome_of(
    path: Path, requests: dict[str, int], segment_alignment: int | None = None
) -> Outcome:
    return Outcome(path=str(path), audit=audit(path, requests, segment_alignment=segment_alignment))


def weak(folder: Path) -> Path:
    return samples.weak_first(samples.ptd).build().write(folder / "weak.ptd")


def names(suite: ET.Element, what: str = "") -> list[str | None]:
    return [case.get("name") for case in suite if not what or case.find(what) is not None]


def test_a_suite_is_a_file_and_a_case_an_entry(tmp_path: Path) -> None:
    path = weak(tmp_path)
    (suite,) = suites(outcome_of(path, {"strong": 256}))
    assert suite.get("name") == str(path)
    assert names(suite) == ["prefix0", "weak", "strong"]
    assert {case.get("classname") for case in suite} == {str(path)}


def test_a_violation_is_a_failure_with_its_rule_and_words(tmp_path: Path) -> None:
    outcome = outcome_of(weak(tmp_path), {"strong": 256})
    assert outcome.audit is not None
    (suite,) = suites(outcome)
    assert names(suite, "failure") == ["strong"]
    failure = suite.find("testcase/failure")
    assert failure is not None
    message = prose.message(outcome.audit.findings[0])
    assert (failure.get("type"), failure.get("message")) == ("AC101", message)
    assert failure.text == message


def test_a_segment_that_was_asked_for_is_a_case(tmp_path: Path) -> None:
    (suite,) = suites(outcome_of(weak(tmp_path), {}, segment_alignment=512))
    assert names(suite)[3:] == ["segment 0", "segment 1"]
    assert names(suite, "failure") == ["segment 1"]


def test_a_file_that_cannot_be_audited_is_an_error() -> None:
    (suite,) = suites(Outcome(path="a.pte", error=BadFile("a.pte", "is <empty>")))
    assert names(suite) == names(suite, "error") == ["AC001 unreadable"]
    error = suite.find("testcase/error")
    assert error is not None
    assert (error.get("type"), error.get("message")) == ("AC001", "is <empty>")


def test_remarks_of_one_rule_are_one_case(tmp_path: Path) -> None:
    named = [Named("w", 0), Named("w", 0), Named("w", 1)]
    spec = Ptd(segments=[Segment(b"1"), Segment(b"2")], named=named)
    (suite,) = suites(outcome_of(spec.build().write(tmp_path / "k.ptd"), {}))
    assert names(suite) == ["w", "w", "w", "AC303 duplicate-key"]
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.text is not None
    assert failure.text.splitlines() == [
        "w is there twice, in segments 0 and 1; only the first is found",
        "w is there twice, in segments 0 and 0; only the first is found",
    ]


def test_warnings_fail_nothing_and_are_told(tmp_path: Path) -> None:
    segments = [Segment(b"b" * 64, offset=128), Segment(b"a" * 64, offset=0)]
    (suite,) = suites(outcome_of(Ptd(segments=segments).build().write(tmp_path / "o.ptd"), {}))
    assert names(suite, "failure") == []
    output = suite.find("testcase/system-out")
    assert output is not None
    assert output.text == "AC302 warning: segment 1 at 256 lies before segment 0"


def test_a_violation_that_is_a_warning_fails_nothing(tmp_path: Path) -> None:
    class Wish:
        def ask(self, container: Container) -> Asked:
            names = [entry.name for entry in container.entries]
            wish = Request(alignment=256, origin="a wish", level="warning")
            return Asked(entries=[(names.index("strong"), wish)])

    path = weak(tmp_path)
    (suite,) = suites(Outcome(path=str(path), audit=audit(path, [Wish()])))
    assert names(suite, "failure") == []
    assert names(suite, "system-out") == ["strong"]


def test_several_files_are_several_suites(tmp_path: Path) -> None:
    bad = Outcome(path="a.pte", error=BadFile("a.pte", "bad"))
    assert len(suites(bad, outcome_of(weak(tmp_path), {}), bad)) == 3
    assert suites() == []


@pytest.mark.parametrize(
    "name", ["\x1b[31m", "\0", "]]>", "<b>&amp;", "\"'", "\ufffe", "\n", "\U0001f600", "\u202e"]
)
def test_names_in_a_file_cannot_break_the_document(tmp_path: Path, name: str) -> None:
    path = Ptd(segments=[Segment(b"1")], named=[Named(name, 0)]).build().write(tmp_path / "h.ptd")
    (suite,) = suites(outcome_of(path, {"*": 4096}))
    assert names(suite, "failure") == [prose.shown(name)]


@given(st.text(max_size=30))
def test_any_path_and_reason_are_well_formed(text: str) -> None:
    (suite,) = suites(Outcome(path=text, error=BadFile(text, text)))
    assert suite.get("name") == prose.shown(text)
    error = suite.find("testcase/error")
    assert error is not None
    assert (error.get("message"), error.text or "") == (prose.shown(text), prose.shown(text))
