"""The words: findings as sentences, and names from files made safe to print."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from aligncheck.model import Finding, Remark, Request
from aligncheck.outcome import Outcome, Tally

if TYPE_CHECKING:
    from aligncheck.plan import Plan, Unfixable
    from aligncheck.plan.blocks import Reason

_LONGEST_NAME = 200
_REASONS: dict[Reason, str] = {
    "inline": "it lies inside the flatbuffer; only a new export can move it",
    "conflict": "other data overlaps it, and both cannot be aligned as requested",
    "too-large": "together with what its segment has to keep, it would need more than 1 GiB",
    "metadata": "a segment overlaps the file's metadata, so nothing can be moved",
}
_REMARKS = {
    "AC201": "{path} asks for {key}, which the file does not have: is it stale?",
    "AC202": "{path} has {key} too; the runtime does not load the two files together",
    "AC301": "segment {segment} begins at {start}, inside segment {other}",
    "AC302": "segment {segment} at {start} lies before segment {other}",
    "AC303": "{key} is there twice, in segments {other} and {segment}; only the first is found",
    "AC304": "bytes {start} to {end} belong to no segment and are not zero",
    "AC305": "by the header the data ends at {start}, but segment {segment} ends at {end}",
    "AC306": "segment {segment} begins at {start}, but the metadata ends at {end}",
}


def shown(name: str, longest: int = _LONGEST_NAME) -> str:
    """A name as it can be printed on one line: control characters and the like as escapes.

    `isprintable` is false for line breaks, terminal escapes, bidirectional controls and lone
    surrogates. `::` and `##` begin commands to CI runners. A long name loses its middle.
    """
    if len(name) > longest:
        half = (longest - 3) // 2
        name = f"{name[:half]}...{name[-half:]}"
    if not name.isprintable():
        name = "".join(c if c.isprintable() else _escape(c) for c in name)
    return name.replace("::", ":\\x3a").replace("##", "#\\x23")


def _escape(character: str) -> str:
    return character.encode("unicode_escape", "backslashreplace").decode("ascii")


def subject(finding: Finding) -> str:
    """What is violated: an entry's name, or the segment."""
    return shown(finding.entry.name) if finding.entry else f"segment {finding.segment}"


def place(finding: Finding) -> str:
    """Where the subject lies."""
    return "inline" if finding.segment is None else f"segment {finding.segment}"


def askers(requests: tuple[Request, ...]) -> str:
    """Who asked, each once."""
    return ", ".join(dict.fromkeys(shown(request.origin) for request in requests))


def others(finding: Finding) -> str:
    """What other names for the same data ask for, as a sentence; empty if nothing."""
    asked = ", ".join(f"{r.alignment} by {shown(r.origin)}" for r in finding.others)
    return f" Other names for this data ask for {asked}." if asked else ""


def cause(finding: Finding) -> str:
    """Why the request is violated, in one sentence."""
    if finding.cause == "segment-base":
        return (
            "Its offset in the segment data would do, but the segment base offset is no multiple"
            f" of {finding.required}."
        )
    if finding.cause == "shared-segment":
        return (
            f"It shares its segment with {shown(finding.sharer or '')}: the stricter request was"
            " dropped when equal data was merged."
        )
    if finding.segment is None:
        return "It lies inside the flatbuffer, where only a new export can move it."
    return "It was written at this offset without regard to the request."


def message(finding: Finding) -> str:
    """The whole finding in one line."""
    return (
        f"{subject(finding)} is at offset {finding.absolute_offset}, which is no multiple of"
        f" {finding.required} (remainder {finding.remainder}), as asked by"
        f" {askers(finding.requests)}. {cause(finding)}{others(finding)}"
    )


def remark(item: Remark) -> str:
    """A remark in one line."""
    return _REMARKS[item.rule].format(
        key=shown(item.key or ""),
        path=shown(item.path or ""),
        segment=item.segment,
        other=item.other,
        start=item.absolute_offset,
        end=(item.absolute_offset or 0) + (item.size or 0),
    )


def counted(number: int, noun: str) -> str:
    """`1 entry`, `2 entries`."""
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{number:,} {noun if number == 1 else plural}"


def headline(outcome: Outcome) -> str:
    """A file's name, and what a fix did to it or would do."""
    path = shown(outcome.path, 4096)
    plan = outcome.plan
    if plan is None or not plan.changes:
        return path
    verb = "fixed" if outcome.applied else "would be fixed"
    growth = plan.new_size - plan.old_size
    return f"{path}: {verb}, {plan.old_size} -> {plan.new_size} bytes ({growth:+})"


def unfixable(plan: Plan) -> Iterator[str]:
    """One line for each violation that a fix leaves."""
    for item in plan.unfixable:
        subject = shown(item.entry.name) if item.entry else f"segment {item.segment}"
        yield f"{subject} ({item.request.alignment} by {shown(item.request.origin)}): {why(item)}"


def why(item: Unfixable) -> str:
    """Why a violation cannot be fixed."""
    return _REASONS[item.reason]


def summary(tally: Tally) -> str:
    """One line for a whole run."""
    parts = []
    if tally.violations:
        parts.append(counted(tally.violations, "violation"))
    elif tally.files > tally.unreadable + tally.passed_over:
        parts.append("nothing violated")
    if tally.warnings:
        parts.append(counted(tally.warnings, "warning"))
    if tally.fixable:
        parts.append(f"{counted(tally.fixable, 'file')} would be fixed")
    if tally.fixed:
        parts.append(f"{counted(tally.fixed, 'file')} fixed")
    if tally.unknown:
        verb = "has" if tally.unknown == 1 else "have"
        parts.append(f"{counted(tally.unknown, 'entry')} {verb} no known request")
    if tally.unreadable:
        parts.append(f"{counted(tally.unreadable, 'file')} could not be audited")
    if tally.passed_over:
        parts.append(f"{counted(tally.passed_over, 'file')} passed over")
    seen = f"{counted(tally.files, 'file')}, {counted(tally.entries, 'entry')}"
    return f"{seen}: {', '.join(parts) or 'nothing to audit'}"
