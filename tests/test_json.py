"""The JSON output: as docs/json.md and docs/aligncheck-v1.schema.json describe it."""

from __future__ import annotations

import copy
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.support import samples
from tests.support.build import Delegate, Method, Named, Offsets, Ptd, Pte, Segment, Tensor
from tests.support.cli import ROOT, command, run

DOCS = ROOT / "docs"
DATA = ROOT / "tests" / "data"
SCHEMA = json.loads((DOCS / "aligncheck-v1.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
FULL = Pte(
    base=1064,
    segments=[Segment(), Segment(bytes(32)), Segment(b"payload"), Segment(b"named")],
    named=[Named("n", 3), Named("empty", 0)],
    constants=Offsets(1, [0, 0, 20]),
    inline_delegates=[b"inline", None],
    methods=[
        Method("m", [Delegate(segment=2), Delegate(inline=0), Delegate(inline=1)]),
        Method("k", values=[Tensor("w", [4], 1)]),
    ],
)
"""Something of everything."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    samples.weak_first(samples.ptd).build().write(tmp_path / "weak.ptd")
    samples.lone(samples.pte).build().write(tmp_path / "lone.pte")
    FULL.build().write(tmp_path / "full.pte")
    Pte(header=None).build().write(tmp_path / "bare.pte")
    (tmp_path / "broken.pte").write_bytes(b"PK\3\4")
    return tmp_path


def report(*args: str | Path) -> dict[str, Any]:
    """The document, which must be valid."""
    document: dict[str, Any] = json.loads(run("-f", "json", *args).out)
    VALIDATOR.validate(document)
    return document


def file(*args: str | Path) -> dict[str, Any]:
    """The only file of a document."""
    (only,) = report(*args)["files"]
    result: dict[str, Any] = only
    return result


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    """Every description of an object in a schema."""
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for part in schema.values():
            yield from objects(part)


def test_the_schema_is_strict() -> None:
    descriptions = list(objects(SCHEMA))
    assert len(descriptions) > 8
    for description in descriptions:
        assert description["additionalProperties"] is False
        assert set(description["properties"]) - {"fix"} == set(description["required"])


def test_every_field_is_documented() -> None:
    page = (DOCS / "json.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    inside_fix = {"from", "to", "reason"}
    fields = {name for description in objects(SCHEMA) for name in description["properties"]}
    assert documented == fields - inside_fix
    assert all(f"`{name}`" in page for name in inside_fix)


def test_the_example_in_the_documentation_is_what_is_printed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = (DOCS / "json.md").read_text(encoding="utf-8")
    console, example = re.findall(r"```(?:console\n\$ aligncheck|json)\n?(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(ROOT)
    assert json.loads(run(*console.split()).out) == json.loads(example)


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("-r", "*=256"),
        ("-r", "*=3", "-s", "4096"),
        ("-r", "*=256", "--diff"),
        ("-r", "*=1GiB", "-s", "7", "--diff"),
        ("-r", "*=256", "--exit-zero", "-v"),
        ("-r", "*=256", "-q"),
    ],
)
def test_every_document_is_valid(folder: Path, options: tuple[str, ...]) -> None:
    document = report(".", "none", *options)
    assert [f["path"] for f in document["files"]] == [
        "./bare.pte",
        "./broken.pte",
        "./full.pte",
        "./lone.pte",
        "./weak.ptd",
        "none",
    ]


def test_every_document_about_the_sample_files_is_valid() -> None:
    files = report(DATA, "-r", "*=64", "-s", "512", "--diff")["files"]
    assert len(files) == len([*DATA.glob("*.pt[ed]")])


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Where in a document each field is, the last step being its name."""
    items: Iterator[tuple[str | int, Any]] = iter(())
    if isinstance(value, dict):
        items = iter(value.items())
        yield from ((*path, name) for name in value)
    elif isinstance(value, list):
        items = iter(enumerate(value))
    for step, part in items:
        yield from places(part, (*path, step))


def test_a_document_without_one_of_its_fields_is_not_valid(folder: Path) -> None:
    method = Method(delegates=[Delegate(inline=0)])
    Pte(header_end=48, inline_delegates=[b"1"], methods=[method]).build().write(folder / "i.pte")
    document = report("lone.pte", "i.pte", "broken.pte", "-r", "*=256", "--diff")
    fields = list(places(document))
    assert {"method", "from", "reason", "origin", "cause"} < {path[-1] for path in fields}
    for *path, name in fields:
        if name == "fix":
            continue
        changed = copy.deepcopy(document)
        parent: Any = changed
        for step in path:
            parent = parent[step]
        del parent[name]
        assert not VALIDATOR.is_valid(changed), (path, name)
        parent["unknown field"] = 1
        assert not VALIDATOR.is_valid(changed), (path, name)


def test_an_audited_file_is_told_in_full() -> None:
    assert file("weak.ptd", "-r", "strong=256", "-r", "weak=0x10") == {
        "path": "weak.ptd",
        "format": "ptd",
        "size": 644,
        "segment_base_offset": 512,
        "segments": [
            {"index": 0, "offset": 0, "absolute_offset": 512, "size": 4, "alignment": 512},
            {"index": 1, "offset": 128, "absolute_offset": 640, "size": 4, "alignment": 128},
        ],
        "entries": [
            {
                "kind": "named_data",
                "name": "prefix0",
                "segment": 0,
                "absolute_offset": 512,
                "size": 4,
                "alignment": 512,
                "required": None,
                "requests": [],
                "ok": None,
                "used_by": [],
            },
            {
                "kind": "named_data",
                "name": "weak",
                "segment": 1,
                "absolute_offset": 640,
                "size": 4,
                "alignment": 128,
                "required": 16,
                "requests": [{"alignment": 16, "origin": "--require weak=16", "level": "error"}],
                "ok": True,
                "used_by": [],
            },
            {
                "kind": "named_data",
                "name": "strong",
                "segment": 1,
                "absolute_offset": 640,
                "size": 4,
                "alignment": 128,
                "required": 256,
                "requests": [
                    {"alignment": 256, "origin": "--require strong=256", "level": "error"}
                ],
                "ok": False,
                "used_by": [],
            },
        ],
        "findings": [
            {
                "rule": "AC101",
                "level": "error",
                "entry": "strong",
                "segment": 1,
                "absolute_offset": 640,
                "required": 256,
                "actual": 128,
                "remainder": 128,
                "cause": "shared-segment",
                "message": "strong is at offset 640, which is no multiple of 256 (remainder 128),"
                " as asked by --require strong=256. It shares its segment with weak: the"
                " stricter request was dropped when equal data was merged. Other names for this"
                " data ask for 16 by --require weak=16.",
            }
        ],
        "unresolved": [],
        "error": None,
    }


def test_a_file_that_cannot_be_audited_has_an_error_and_nothing_else() -> None:
    assert file("broken.pte") == {
        "path": "broken.pte",
        "format": None,
        "size": None,
        "segment_base_offset": None,
        "segments": [],
        "entries": [],
        "findings": [],
        "unresolved": [],
        "error": "is a zip archive (a TorchScript or torch.save file?); export it to .pte",
    }


def test_each_kind_of_entry_is_told() -> None:
    entries = file("full.pte")["entries"]
    told = {(e["kind"], e["name"], e.get("method"), e.get("backend")) for e in entries}
    assert told == {
        ("named_data", "n", None, None),
        ("named_data", "empty", None, None),
        ("constant", "w", None, None),
        ("constant", "constant 2", None, None),
        ("delegate", "m/delegate 0 (Backend)", "m", "Backend"),
        ("delegate", "m/delegate 1 (Backend)", "m", "Backend"),
        ("delegate", "m/delegate 2 (Backend)", "m", "Backend"),
    }


def test_entries_lie_where_the_builder_put_them() -> None:
    built = FULL.build()
    offsets = {e["name"]: e["absolute_offset"] for e in file("full.pte")["entries"]}
    (inline, _) = built.inline_delegates
    assert inline is not None
    assert offsets == {
        "n": built.segments[3].offset,
        "empty": built.segments[0].offset,
        "w": built.constants[0],
        "constant 2": built.constants[1],
        "m/delegate 0 (Backend)": built.segments[2].offset,
        "m/delegate 1 (Backend)": inline.offset,
        "m/delegate 2 (Backend)": None,
    }


def test_entries_come_in_the_order_of_their_offsets() -> None:
    offsets = [e["absolute_offset"] or 0 for e in file("full.pte")["entries"]]
    assert offsets == sorted(offsets)


def test_a_size_that_the_file_does_not_tell_is_null() -> None:
    sizes = {e["name"]: e["size"] for e in file("full.pte")["entries"]}
    assert (sizes["constant 2"], sizes["w"], sizes["empty"]) == (None, 4, 0)


def test_a_segment_without_data_is_listed(folder: Path) -> None:
    Pte(header=None, segments=[Segment()]).build().write(folder / "old.pte")
    assert file("old.pte")["segments"] == [
        {"index": 0, "offset": 0, "absolute_offset": 0, "size": 0, "alignment": None}
    ]


def test_the_summary_counts_over_all_files() -> None:
    document = report("weak.ptd", "lone.pte", "broken.pte", "-r", "strong=4096")
    assert document["summary"] == {
        "files": 3,
        "entries": 4,
        "violations": 2,
        "warnings": 2,  # the program and the data file have a key in common
        "unknown": 2,
        "unreadable": 1,
    }


def test_a_fix_is_told_only_where_one_is_asked_for() -> None:
    assert "fix" not in file("weak.ptd", "-r", "strong=256")
    planned = file("weak.ptd", "-r", "strong=256", "--diff")["fix"]
    assert planned["applied"] is False
    assert [m["segment"] for m in planned["moves"]] == [1]


def test_a_fixed_file_is_described_as_it_is_then(folder: Path) -> None:
    fixed = file("weak.ptd", "-r", "strong=256", "--fix")
    assert fixed["fix"]["applied"] is True
    assert fixed["findings"] == []
    assert fixed["size"] == fixed["fix"]["new_size"] == (folder / "weak.ptd").stat().st_size
    assert fixed["fix"]["old_size"] == 644
    (move,) = fixed["fix"]["moves"]
    assert move["from"] == 640
    assert move["to"] % 256 == 0
    assert fixed["segments"][1]["absolute_offset"] == move["to"]


def test_what_a_fix_cannot_do_is_told(folder: Path) -> None:
    fix = file("full.pte", "-r", "m/delegate 1*=1MiB", "--diff")["fix"]
    assert [item["entry"] for item in fix["unfixable"]] == ["m/delegate 1 (Backend)"]


def test_two_runs_print_the_same_bytes(folder: Path) -> None:
    shutil.copytree(DATA, folder / "data")
    outputs = {
        command(
            ".", "-f", "json", "-r", "*=256", cwd=folder, environment={"PYTHONHASHSEED": seed}
        ).out
        for seed in ("1", "2", "3")
    }
    assert len(outputs) == 1


def test_the_order_of_the_arguments_does_not_matter() -> None:
    assert run("-f", "json", "weak.ptd", "bare.pte") == run("-f", "json", "bare.pte", "weak.ptd")


@pytest.mark.parametrize(
    "name", ["größe", "\x1b[31m", "\u2028", "\U0001f600", '"quoted" \\', "a\0b"]
)
def test_names_survive_and_the_document_is_ascii(folder: Path, name: str) -> None:
    Ptd(segments=[Segment(b"1")], named=[Named(name, 0)]).build().write(folder / "h.ptd")
    ran = run("-f", "json", "h.ptd", "-r", "*=4096")
    assert ran.out.isascii()
    (entry,) = json.loads(ran.out)["files"][0]["entries"]
    assert entry["name"] == name


def test_a_key_that_is_not_utf_8_is_escaped(folder: Path) -> None:
    Ptd(segments=[Segment(b"1")], named=[Named(b"caf\xe9", 0)]).build().write(folder / "h.ptd")
    (entry,) = file("h.ptd")["entries"]
    assert entry["name"] == r"caf\xe9"


def test_a_file_name_that_is_not_utf_8_has_no_lone_surrogates(folder: Path) -> None:
    name = os.fsdecode(b"caf\xe9.ptd")
    samples.lone(samples.ptd).build().write(folder / name)
    ran = command("-f", "json", ".", cwd=folder)
    paths = [f["path"] for f in json.loads(ran.out)["files"]]
    assert r"./caf\udce9.ptd" in paths
    # Only a real surrogate pair may be escaped as \uD8xx\uDCxx in the document.
    assert not re.search(r"(?<!\\)\\ud[89a-f]", ran.out)


def test_numbers_are_exact_beyond_what_a_float_holds(folder: Path) -> None:
    offset = 2**63 + 1
    spec = Pte(segments=[Segment(b"1"), Segment(b"", offset=offset)])
    spec.build().write(folder / "far.pte")
    assert file("far.pte")["segments"][1]["offset"] == offset


OVERLAPPING = Ptd(
    base=256,
    segments=[Segment(b"abcd", offset=8), Segment(b"defg", offset=11), Segment(b"x", offset=0)],
    named=[Named("n", 0), Named("n", 1)],
    data_size=4,
)


def test_what_is_odd_about_a_layout_is_told_after_the_violations(folder: Path) -> None:
    OVERLAPPING.build().write(folder / "odd.ptd")
    (folder / "odd.ptd.align.json").write_text(
        '{"version": 1, "requests": [{"key": "gone", "alignment": 8, "origin": "X"}]}'
    )
    findings = file("odd.ptd", "-r", "n=64")["findings"]
    rules = [finding["rule"] for finding in findings]
    assert rules[:2] == ["AC101", "AC101"]
    assert {"AC201", "AC301", "AC302", "AC303", "AC305"} == set(rules[2:])
    assert all(finding["cause"] is None for finding in findings[2:])
    (stale,) = (finding for finding in findings if finding["rule"] == "AC201")
    assert (stale["entry"], stale["level"]) == ("gone", "warning")


def test_every_rule_is_documented() -> None:
    page = (DOCS / "json.md").read_text(encoding="utf-8")
    source = "".join(path.read_text() for path in (ROOT / "aligncheck").rglob("*.py"))
    # A file that could not be audited is AC001 to other formats; here it has an `error`.
    rule = re.compile(r"AC[1-9]\d\d")
    assert set(rule.findall(page)) == set(rule.findall(source))


def test_usage_errors_print_no_document() -> None:
    assert run("-f", "json", "weak.ptd", "-r", "nonsense").out == ""
