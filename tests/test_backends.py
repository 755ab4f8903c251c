"""What backends are known to need: of payloads, of named data, and across the files of a run."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from aligncheck.audit import audit_container
from aligncheck.model import Audit, Container, Entry, Format, Segment
from aligncheck.requests import backends
from aligncheck.requests.backend_facts import Fact
from aligncheck.requests.backends import NO_SURVEY, KnownBackends, Survey, survey

STRICT = Fact(
    backend="Strict",
    payload=256,
    payload_level="error",
    named_data=64,
    named_data_level="warning",
    since="1.0",
    source="nowhere.py",
    note="for the tests",
)


@pytest.fixture(autouse=True)
def _only_one_fact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "FACTS", (STRICT,))


def container(*entries: Entry, path: str = "model.pte", format: Format = "pte") -> Container:  # noqa: A002 - the field's name
    segment = Segment(
        index=0, offset=128, size=8, absolute_offset=1152, offset_place=8, size_place=16
    )
    return Container(
        path=path,
        format=format,
        size=2048,
        metadata_end=1000,
        header=None,
        segment_base_offset=1024,
        segments=(segment,),
        entries=entries,
    )


def delegate(*uses: str, backend: str = "Strict", size: int = 8) -> Entry:
    return Entry(
        kind="delegate",
        name=f"forward/delegate 0 ({backend})",
        segment=0,
        absolute_offset=1152,
        size=size,
        backend=backend,
        method="forward",
        uses=uses,
    )


def named(key: str) -> Entry:
    return Entry(kind="named_data", name=key, segment=0, absolute_offset=1152, size=8)


def judged(
    container: Container, own: Mapping[str, int | bool] | None = None, others: Survey = NO_SURVEY
) -> Audit:
    return audit_container(container, [KnownBackends(own, origin="config", others=others)])


def asked(audit: Audit) -> list[list[tuple[int, str, str]]]:
    return [[(r.alignment, r.origin, r.level) for r in requests] for requests in audit.requests]


def test_a_backend_asks_for_its_payload_and_for_the_data_it_uses() -> None:
    found = judged(container(named("w"), delegate("w")))
    assert asked(found) == [[(64, "Strict", "warning")], [(256, "Strict", "error")]]


def test_data_that_no_delegate_uses_has_no_request() -> None:
    found = judged(container(named("v"), delegate("w")))
    assert asked(found)[0] == []
    assert found.users == ((), ())


def test_an_empty_payload_has_no_request() -> None:
    assert asked(judged(container(delegate(size=0)))) == [[]]


def test_an_unknown_backend_asks_for_nothing_but_is_named_as_a_user() -> None:
    found = judged(container(named("w"), delegate("w", backend="Other")))
    assert asked(found) == [[], []]
    assert found.users[0] == ("forward/delegate 0 (Other)",)


def test_two_delegates_of_one_backend_ask_once() -> None:
    found = judged(container(named("w"), delegate("w"), delegate("w")))
    assert asked(found)[0] == [(64, "Strict", "warning")]
    assert len(found.users[0]) == 2


def test_the_users_word_on_a_backend_replaces_what_is_known() -> None:
    found = judged(container(named("w"), delegate("w")), {"Strict": 4096})
    own = (4096, "Strict (config)", "error")
    assert asked(found) == [[own], [own]]


def test_the_user_can_say_that_nothing_is_to_be_assumed() -> None:
    assert asked(judged(container(named("w"), delegate("w")), {"Strict": False})) == [[], []]


def test_a_reference_to_a_key_that_is_nowhere_is_unresolved() -> None:
    assert judged(container(named("v"), delegate("w", "v"))).unresolved == ("w",)


def test_a_data_file_gets_the_requests_of_the_programs_it_is_given_with() -> None:
    program = container(delegate("w"))
    data = container(named("w"), path="w.ptd", format="ptd")
    found = judged(data, others=survey([program, data]))
    assert asked(found) == [[(64, "Strict", "warning")]]
    assert found.users == (("model.pte: forward/delegate 0 (Strict)",),)


def test_a_key_in_a_data_file_that_was_given_is_resolved() -> None:
    program = container(delegate("w"))
    data = container(named("w"), path="w.ptd", format="ptd")
    assert judged(program, others=survey([program, data])).unresolved == ()


def test_a_program_does_not_get_the_requests_of_another_program() -> None:
    other = container(delegate("w"), path="other.pte")
    assert asked(judged(container(named("w")), others=survey([other]))) == [[]]
