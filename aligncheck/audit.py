"""Judging a file: which requests on its entries and segments do their absolute offsets violate?"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import compress
from typing import NamedTuple

from aligncheck import structure
from aligncheck.formats import read_source
from aligncheck.formats.source import Source
from aligncheck.garbage import uncollected
from aligncheck.model import (
    Audit,
    Cause,
    Container,
    Entry,
    Finding,
    Kind,
    Remark,
    Request,
    lcm_of,
    meets,
)
from aligncheck.requests import Asked, Asker, gather, per_subject
from aligncheck.requests.backends import KnownBackends
from aligncheck.requests.declared import Declared, SegmentAlignment
from aligncheck.requests.format_rules import FormatRules
from aligncheck.requests.sidecar import Sidecar, find_sidecar, read_sidecar


def audit(
    path: str | os.PathLike[str],
    requests: Mapping[str, int] | Iterable[Asker] = (),
    *,
    segment_alignment: int | None = None,
    sidecar: bool = True,
    backends: bool = True,
) -> Audit:
    """Audit one .pte or .ptd file.

    `requests` are alignments in bytes by key (an entry's name, else a glob over names), or askers
    of your own; `segment_alignment` is asked for each segment that holds data. The format's own
    rules always apply; so do, unless they are switched off, the requests recorded in the file's
    sidecar, and what the file's backends are known to need. Only headers and flatbuffers are read.
    Raises BadFile for a file that cannot be audited and BadRequest for an alignment out of range.
    """
    askers = as_askers(
        path, requests, segment_alignment=segment_alignment, sidecar=sidecar, backends=backends
    )
    with closing(Source(os.fspath(path))) as source:
        return audit_source(source, askers)


def audit_source(source: Source, askers: Iterable[Asker]) -> Audit:
    """Audit a file that is open. Raises BadFile."""
    with uncollected():
        return audit_container(read_source(source), askers)


def as_askers(
    path: str | os.PathLike[str],
    requests: Mapping[str, int] | Iterable[Asker],
    *,
    segment_alignment: int | None,
    sidecar: bool,
    backends: bool,
) -> list[Asker]:
    """The askers that the arguments of `audit` stand for."""
    askers: list[Asker] = (
        [Declared(requests.items(), origin="requests")]
        if isinstance(requests, Mapping)
        else list(requests)
    )
    if segment_alignment is not None:
        askers.append(SegmentAlignment(segment_alignment, origin="segment_alignment"))
    found = find_sidecar(os.fspath(path)) if sidecar else None
    if found is not None and not any(isinstance(a, Sidecar) and a.path == found for a in askers):
        askers.append(read_sidecar(found))
    if backends:
        askers.append(KnownBackends())
    return askers


def audit_container(container: Container, askers: Iterable[Asker]) -> Audit:
    """Audit a layout that has been read: pure."""
    asked = gather(container, (FormatRules(), *askers))
    requests = per_subject(len(container.entries), asked.entries)
    segment_requests = per_subject(len(container.segments), asked.segments)
    pairs = compress(zip(container.entries, requests, strict=True), requests)
    violated = [(entry, wants) for entry, wants in pairs if not meets(entry, wants)]
    judgement = _Judgement(container, requests, segment_requests, violated)
    findings = [finding for check in CHECKS for finding in check(judgement)]
    findings.sort(key=lambda f: (f.absolute_offset, f.rule, f.entry.name if f.entry else ""))
    return Audit(
        container=container,
        requests=requests,
        segment_requests=segment_requests,
        findings=tuple(findings),
        remarks=(
            *_stale(asked),
            *_elsewhere(container, asked),
            *structure.remarks(container),
        ),
        users=per_subject(len(container.entries), asked.users),
        unmatched=tuple(asked.unmatched),
        unresolved=tuple(asked.unresolved),
    )


def _stale(asked: Asked) -> Iterator[Remark]:
    """AC201: a sidecar asks for data that the file does not have."""
    for key, path in asked.stale:
        yield Remark(rule="AC201", level="warning", key=key, path=path)


def _elsewhere(container: Container, asked: Asked) -> Iterator[Remark]:
    """AC202: a program and its data files, or two of these, have the same key."""
    for index, path in asked.elsewhere:
        entry = container.entries[index]
        yield Remark(
            rule="AC202",
            level="warning",  # they need not be meant for one another
            key=entry.name,
            path=path,
            segment=entry.segment,
            absolute_offset=entry.absolute_offset,
        )


_MANY = 64  # names for the same data that a finding looks at


class _Judgement(NamedTuple):
    """What the checks see. `violated` are the entries of which a request is not met."""

    container: Container
    requests: Sequence[tuple[Request, ...]]
    segment_requests: Sequence[tuple[Request, ...]]
    violated: Sequence[tuple[Entry, tuple[Request, ...]]]


def check_named_data(judgement: _Judgement) -> Iterator[Finding]:
    """AC101: a named entry is not aligned as requested."""
    return _violated_entries(judgement, "named_data", "AC101")


def check_constants(judgement: _Judgement) -> Iterator[Finding]:
    """AC102: a constant is not aligned as requested."""
    return _violated_entries(judgement, "constant", "AC102")


def check_delegates(judgement: _Judgement) -> Iterator[Finding]:
    """AC103: a delegate's payload is not aligned as requested."""
    return _violated_entries(judgement, "delegate", "AC103")


def check_segments(judgement: _Judgement) -> Iterator[Finding]:
    """AC104: a segment is not aligned as requested."""
    container = judgement.container
    for segment, asked in zip(container.segments, judgement.segment_requests, strict=True):
        if asked and any(segment.absolute_offset % request.alignment for request in asked):
            cause = _cause(container, segment.absolute_offset, segment.index, asked, None)
            yield _finding(
                "AC104",
                None,
                segment=segment.index,
                offset=segment.absolute_offset,
                asked=asked,
                cause=cause,
            )


CHECKS: tuple[Callable[[_Judgement], Iterator[Finding]], ...] = (
    check_named_data,
    check_constants,
    check_delegates,
    check_segments,
)


def _violated_entries(judgement: _Judgement, kind: Kind, rule: str) -> Iterator[Finding]:
    sharers: _Sharers | None = None
    for entry, asked in judgement.violated:
        offset = entry.absolute_offset
        if entry.kind != kind or offset is None:
            continue
        sharers = sharers or _Sharers(judgement)
        sharer = sharers.weaker(entry, _required(asked))
        cause = _cause(judgement.container, offset, entry.segment, asked, sharer)
        yield _finding(
            rule,
            entry,
            segment=entry.segment,
            offset=offset,
            asked=asked,
            cause=cause,
            others=sharers.others(entry),
            sharer=sharer,
        )


def _finding(
    rule: str,
    entry: Entry | None,
    *,
    segment: int | None,
    offset: int,
    asked: tuple[Request, ...],
    cause: Cause,
    others: tuple[Request, ...] = (),
    sharer: str | None = None,
) -> Finding:
    required = _required(asked)
    violated = tuple(request for request in asked if offset % request.alignment)
    return Finding(
        rule=rule,
        level="error" if any(request.level == "error" for request in violated) else "warning",
        entry=entry,
        segment=segment,
        absolute_offset=offset,
        required=required,
        remainder=offset % required,
        cause=cause,
        requests=violated,
        others=others,
        sharer=sharer if cause == "shared-segment" else None,
    )


def _cause(
    container: Container,
    offset: int,
    segment: int | None,
    asked: tuple[Request, ...],
    sharer: str | None,
) -> Cause:
    """The first that applies."""
    required = _required(asked)
    if segment is not None and (offset - container.segment_base_offset) % required == 0:
        return "segment-base"
    return "shared-segment" if sharer is not None else "offset"


class _Sharers:
    """What is asked of each place in a segment, by which name; made once per file when needed."""

    def __init__(self, judgement: _Judgement) -> None:
        self._asked: dict[tuple[int, int | None], list[tuple[Entry, tuple[Request, ...]]]] = {}
        for entry, asked in zip(judgement.container.entries, judgement.requests, strict=True):
            if entry.segment is not None and asked:
                place = (entry.segment, entry.absolute_offset)
                self._asked.setdefault(place, []).append((entry, asked))
        self._weakest: dict[tuple[int, int | None], tuple[int, str]] = {}
        for place, sharers in self._asked.items():
            met = [
                (_required(asked), entry.name) for entry, asked in sharers if meets(entry, asked)
            ]
            if met:
                self._weakest[place] = min(met)

    def weaker(self, entry: Entry, required: int) -> str | None:
        """The name of an entry on the same data whose request is weaker and satisfied."""
        if entry.segment is None:
            return None
        found = self._weakest.get((entry.segment, entry.absolute_offset))
        return found[1] if found and found[0] < required else None

    def others(self, entry: Entry) -> tuple[Request, ...]:
        """What other names for the same data ask for: each once, and of many the first ones."""
        if entry.segment is None:
            return ()
        sharers = self._asked.get((entry.segment, entry.absolute_offset), [])[:_MANY]
        found = (request for other, asked in sharers if other is not entry for request in asked)
        return tuple(dict.fromkeys(found))


def _required(asked: tuple[Request, ...]) -> int:
    return lcm_of(request.alignment for request in asked)
