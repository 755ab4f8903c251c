"""Recorded requests beside a file: reading, hostile content, and what a file is asked."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from aligncheck import BadFile, BadRequest, Request, audit
from aligncheck.requests.sidecar import (
    MAX_PER_KEY,
    MAX_SIZE,
    KeyRequest,
    Sidecar,
    find_sidecar,
    read_sidecar,
    render,
)
from tests.support import samples
from tests.support.build import Named, Ptd, Segment
from tests.support.reading import layout_of

SCHEMA = Path(__file__).parents[1] / "docs" / "aligncheck-requests-v1.schema.json"
VALIDATOR = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
ONE = {"key": "k", "alignment": 16, "origin": "B"}

keys = st.text(st.characters(codec="utf-8"), max_size=8)
requests = st.builds(
    KeyRequest, keys, st.integers(1, 2**30), st.text(st.characters(codec="utf-8"), min_size=1)
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
in_one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def written(folder: Path, content: str | bytes) -> str:
    path = folder / "model.pte.align.json"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def read(folder: Path, content: str | bytes) -> Sidecar:
    return read_sidecar(written(folder, content))


def document(*items: Any, **fields: Any) -> str:
    return json.dumps({"version": 1, "requests": items, **fields})


def keys_of(sidecar: Sidecar, folder: Path) -> set[str]:
    """The keys that a sidecar knows: in a file without any, all are stale."""
    return {key for key, _ in sidecar.ask(layout_of(Ptd(), folder)).stale}


def test_requests_are_asked_for_the_named_data_with_their_key(tmp_path: Path) -> None:
    sidecar = read(
        tmp_path,
        document(
            {"key": "weak", "alignment": 16, "origin": "XnnpackBackend"},
            {"key": "strong", "alignment": 256, "origin": "NpuBackend"},
            {"key": "strong", "alignment": 48, "origin": "XnnpackBackend"},
        ),
    )
    container = layout_of(samples.weak_first(samples.pte), tmp_path)
    asked = sidecar.ask(container)
    names = [(container.entries[index].name, request) for index, request in asked.entries]
    assert names == [
        ("weak", Request(alignment=16, origin="XnnpackBackend (recorded)")),
        ("strong", Request(alignment=256, origin="NpuBackend (recorded)")),
        ("strong", Request(alignment=48, origin="XnnpackBackend (recorded)")),
    ]
    assert asked.stale == []


def test_a_violation_names_who_asked(tmp_path: Path) -> None:
    sidecar = read(tmp_path, document({"key": "strong", "alignment": 256, "origin": "Npu"}))
    path = samples.weak_first(samples.ptd).build().write(tmp_path / "model.ptd")
    (finding,) = audit(path, [sidecar]).findings
    assert finding.level == "error"
    assert [request.origin for request in finding.requests] == ["Npu (recorded)"]


def test_a_key_that_the_file_lacks_is_stale_once(tmp_path: Path) -> None:
    sidecar = read(tmp_path, document(ONE, {**ONE, "alignment": 32}))
    asked = sidecar.ask(layout_of(Ptd(), tmp_path))
    assert asked.stale == [("k", sidecar.path)]
    assert asked.entries == []


def test_only_named_data_has_keys(tmp_path: Path) -> None:
    container = layout_of(samples.weak_first(samples.pte), tmp_path)
    (name, *_) = (entry.name for entry in container.entries if entry.kind == "named_data")
    assert Sidecar("s", [KeyRequest(name, 1, "B")]).ask(container).stale == []
    assert Sidecar("s", [KeyRequest("forward", 1, "B")]).ask(container).stale


def test_each_entry_of_one_name_is_asked(tmp_path: Path) -> None:
    twice = Ptd(segments=[Segment(b"a")], named=[Named("k", 0), Named("k", 0)])
    asked = Sidecar("s", [KeyRequest("k", 16, "B")]).ask(layout_of(twice, tmp_path))
    assert [index for index, _ in asked.entries] == [0, 1]


def test_equal_requests_count_once(tmp_path: Path) -> None:
    one = Ptd(segments=[Segment(b"a")], named=[Named("k", 0)])
    asked = read(tmp_path, document(ONE, ONE)).ask(layout_of(one, tmp_path))
    assert asked.entries == [(0, Request(alignment=16, origin="B (recorded)"))]


def test_fields_that_are_not_known_are_ignored(tmp_path: Path) -> None:
    content = document({**ONE, "note": [{}]}, tool={"name": None})
    assert keys_of(read(tmp_path, content), tmp_path) == {"k"}
    VALIDATOR.validate(json.loads(content))


FAULTS = {
    "": "line 1, column 1: is no JSON: Expecting value",
    "{": "line 1, column 2: is no JSON: Expecting property name enclosed in double quotes",
    "{}\n{}": "line 2, column 1: is no JSON: Extra data",
    "[" * 100_000: "is nested too deeply",
    '{"version": 1, "requests": ' + '{"a": ' * 100_000: "is nested too deeply",
    "NaN": "is no JSON: it holds NaN",
    '{"version": 1, "requests": [], "x": -Infinity}': "is no JSON: it holds -Infinity",
    "null": "is null, not an object",
    "[]": "is a list, not an object",
    "true": "is true, not an object",
    "7": "is 7, not an object",
    '"' + "long" * 1000 + '"': f"is the text '{'long' * 10}...', not an object",
    "{}": "version: is missing",
    '{"version": 1}': "requests: is missing",
    '{"requests": []}': "version: is missing",
    '{"version": 2, "requests": []}': "version: is 2; this release reads version 1",
    '{"version": "1", "requests": []}': "version: is the text '1'; this release reads version 1",
    '{"version": true, "requests": []}': "version: is true; this release reads version 1",
    '{"version": 1.0, "requests": []}': "version: is 1.0; this release reads version 1",
    '{"version": 1, "version": 1, "requests": []}': "has the name 'version' twice",
    '{"version": 1, "requests": {}}': "requests: is an object, not a list",
    '{"version": 1, "requests": {"a": 1, "a": 1}}': "requests: is an object, not a list",
    '{"version": 1, "requests": "all"}': "requests: is the text 'all', not a list",
    document(ONE, 5): "requests[1]: is 5, not an object",
    document([]): "requests[0]: is a list, not an object",
    document({}): "requests[0].key: is missing",
    document({"key": "k"}): "requests[0].alignment: is missing",
    document({"key": "k", "alignment": 1}): "requests[0].origin: is missing",
    document({**ONE, "key": None}): "requests[0].key: is null, not a text",
    document({**ONE, "key": ["k"]}): "requests[0].key: is a list, not a text",
    document({**ONE, "key": 1e3}): "requests[0].key: is 1000.0, not a text",
    document({**ONE, "origin": False}): "requests[0].origin: is false, not a text",
    document({**ONE, "origin": ""}): "requests[0].origin: is empty",
    '{"version": 1, "requests": [{"key": "a", "key\\u0000": 1, "key": "b"}]}': (
        "requests[0]: has the name 'key' twice"
    ),
    document(*({**ONE, "alignment": n} for n in range(1, MAX_PER_KEY + 2))): (
        f"requests[{MAX_PER_KEY}]: is one of over {MAX_PER_KEY} for its key"
    ),
}
ALIGNMENTS = {
    "0": "0",
    "-16": "-16",
    "1073741825": "1073741825",
    "18446744073709551616": "18446744073709551616",
    "9" * 100_000: "9" * 40 + "...",
    "16.0": "16.0",
    "1e4": "1e4",
    "true": "true",
    "null": "null",
    '"16"': "the text '16'",
    "[16]": "a list",
    '{"bytes": 16}': "an object",
    '{"a": 1, "a": 2}': "an object",
}


def fault(folder: Path, content: str | bytes) -> str:
    path = written(folder, content)
    with pytest.raises(BadFile) as caught:
        read_sidecar(path)
    assert str(caught.value).isprintable(), "an error is one line"
    assert caught.value.path == path
    return caught.value.reason


@pytest.mark.parametrize(("content", "reason"), FAULTS.items(), ids=range(len(FAULTS)))
def test_a_fault_is_told_with_its_place(content: str, reason: str, tmp_path: Path) -> None:
    assert fault(tmp_path, content) == reason


@pytest.mark.parametrize(("literal", "shown"), ALIGNMENTS.items(), ids=range(len(ALIGNMENTS)))
def test_an_alignment_is_a_whole_number_up_to_1_gib(
    literal: str, shown: str, tmp_path: Path
) -> None:
    content = document(ONE, {**ONE, "alignment": "?"}).replace('"?"', literal)
    reason = f"requests[1].alignment: is {shown}, not a whole number from 1 to 1073741824"
    assert fault(tmp_path, content) == reason


def test_bytes_that_are_no_utf_8_are_told_with_their_place(tmp_path: Path) -> None:
    assert fault(tmp_path, b'{"\xff"') == "byte 2: is not UTF-8"
    assert fault(tmp_path, document(ONE).encode("utf-16")) == "byte 0: is not UTF-8"


def test_a_control_character_in_a_message_is_escaped(tmp_path: Path) -> None:
    assert "\\x1b[31m" in fault(tmp_path, '"\\u001b[31m\\u202e"')


def test_a_size_over_the_limit_is_not_read(tmp_path: Path) -> None:
    path = written(tmp_path, "")
    os.truncate(path, MAX_SIZE + 1)
    with pytest.raises(BadFile, match=rf"is {MAX_SIZE + 1} bytes long; {MAX_SIZE} are the most"):
        read_sidecar(path)


def test_a_million_entries_are_too_many(tmp_path: Path) -> None:
    content = '{"version":1,"requests":[' + ",".join([json.dumps(ONE)] * 1_000_000) + "]}"
    assert "bytes long" in fault(tmp_path, content)


def test_100_000_requests_are_read_in_linear_time(tmp_path: Path) -> None:
    entry = '{"key":"%x","alignment":16,"origin":"X"}'
    content = '{"version":1,"requests":[' + ",".join(entry % n for n in range(100_000)) + "]}"
    path = written(tmp_path, content)
    start = time.process_time()
    sidecar = read_sidecar(path)
    assert time.process_time() - start < 5, "far above what is needed, far below quadratic"
    assert len(keys_of(sidecar, tmp_path)) == 100_000


@pytest.mark.parametrize(
    "content",
    [
        "[" + "9" * (MAX_SIZE - 1),
        "[" + "9" * (MAX_SIZE - 3) + ".5",
        '{"":0,' * (MAX_SIZE // 6),
        "[" + "[]," * (MAX_SIZE // 3 - 1),
        '"' + "\\u0000" * (MAX_SIZE // 6 - 1),
        "\n" * MAX_SIZE,
    ],
    ids=["digits", "fraction", "nested", "lists", "escapes", "lines"],
)
def test_the_largest_bad_sidecar_is_refused_in_time(content: str, tmp_path: Path) -> None:
    start = time.process_time()
    fault(tmp_path, content)
    assert time.process_time() - start < 10, "far below quadratic"


def test_only_a_regular_file_is_read(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="is a directory"):
        read_sidecar(str(tmp_path))
    link = tmp_path / "device.align.json"
    link.symlink_to(os.devnull)
    with pytest.raises(BadFile, match="is not a regular file"):
        read_sidecar(str(link))
    fifo = tmp_path / "fifo.align.json"
    os.mkfifo(fifo)
    with pytest.raises(BadFile, match="is not a regular file"):
        read_sidecar(str(fifo))
    with pytest.raises(BadFile, match="cannot be read: No such file"):
        read_sidecar(str(tmp_path / "none"))


def test_a_sidecar_is_found_beside_its_file(tmp_path: Path) -> None:
    model = tmp_path / "model.pte"
    assert find_sidecar(str(model)) is None
    path = written(tmp_path, document())
    assert find_sidecar(str(model)) == path


def test_a_sidecar_that_leads_nowhere_is_no_silence(tmp_path: Path) -> None:
    (tmp_path / "model.pte.align.json").symlink_to(tmp_path / "gone")
    found = find_sidecar(str(tmp_path / "model.pte"))
    assert found is not None
    with pytest.raises(BadFile):
        read_sidecar(found)


@in_one_folder
@given(asked=st.lists(requests))
@example(asked=[])
def test_what_is_written_is_read_again_and_fits_the_schema(
    asked: list[KeyRequest], tmp_path: Path
) -> None:
    text = render(asked)
    VALIDATOR.validate(json.loads(text))
    read_back = json.loads(text)["requests"]
    assert [KeyRequest(**item) for item in read_back] == sorted(set(asked))
    assert keys_of(read(tmp_path, text), tmp_path) == {key for key, _, _ in asked}
    assert text.isascii()


@given(asked=st.lists(requests), data=st.data())
def test_the_text_does_not_depend_on_the_order(asked: list[KeyRequest], data: Any) -> None:
    assert render(data.draw(st.permutations(asked))) == render(asked)


def test_the_text_has_a_line_for_each_request() -> None:
    text = render([KeyRequest("b", 4096, "Npu"), KeyRequest("a", 16, "Xnn")])
    assert text.splitlines() == [
        "{",
        '  "version": 1,',
        '  "requests": [',
        '    {"key": "a", "alignment": 16, "origin": "Xnn"},',
        '    {"key": "b", "alignment": 4096, "origin": "Npu"}',
        "  ]",
        "}",
    ]


@pytest.mark.parametrize("alignment", [0, 2**30 + 1])
def test_what_cannot_be_read_is_not_written(alignment: int) -> None:
    with pytest.raises(BadRequest, match=f"B asked for {alignment} bytes for the key 'k'"):
        render([KeyRequest("k", alignment, "B")])


def test_what_is_too_large_is_not_written() -> None:
    with pytest.raises(BadRequest, match="do not fit"):
        render([KeyRequest("k" * MAX_SIZE, 1, "B")])


def accepted(folder: Path, content: str | bytes) -> bool:
    try:
        read(folder, content)
    except BadFile:
        return False
    return True


@in_one_folder
@given(content=st.binary())
def test_any_bytes_are_read_or_refused(content: bytes, tmp_path: Path) -> None:
    accepted(tmp_path, content)


@in_one_folder
@given(
    at=st.integers(0, 200),
    removed=st.integers(0, 8),
    added=st.binary(max_size=8) | st.sampled_from([b'{"', b"[[", b"1e999", b"-", b"\\ud800", b","]),
)
def test_a_damaged_sidecar_is_read_or_refused(
    at: int, removed: int, added: bytes, tmp_path: Path
) -> None:
    content = render([KeyRequest("some.key", 16, "B"), KeyRequest("other", 4096, "C")]).encode()
    accepted(tmp_path, content[:at] + added + content[at + removed :])


@in_one_folder
@given(
    value=st.fixed_dictionaries(
        {},
        optional={
            "version": st.just(1) | json_values,
            "requests": json_values
            | st.lists(
                st.fixed_dictionaries(
                    {},
                    optional={
                        "key": st.text() | json_values,
                        "alignment": st.integers(-1, 2**31) | json_values,
                        "origin": st.text() | json_values,
                    },
                )
            ),
        },
    )
)
def test_the_reader_and_the_schema_agree(value: dict[str, Any], tmp_path: Path) -> None:
    # To a schema 16.0 is a whole number; the reader wants it written as one.
    content = json.dumps(value)
    if ".0" not in content:
        assert accepted(tmp_path, content) == VALIDATOR.is_valid(value)


def test_the_schema_is_one() -> None:
    VALIDATOR.check_schema(VALIDATOR.schema)
