"""For people: tables and a drawing of the layout, by rich."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import StringIO
from typing import Literal, TextIO

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from aligncheck.model import Audit, Container, Entry, Finding, Request, alignment_of, lcm_of
from aligncheck.outcome import Outcome
from aligncheck.plan import Plan
from aligncheck.report import prose
from aligncheck.report.layout import Region, regions

_BAR = 12


def render(outcome: Outcome, stream: TextIO, *, verbose: bool) -> str:
    """One file's part of the report, as wide and as colourful as `stream` can show it."""
    known = Console(file=stream)
    text = StringIO()
    console = Console(
        file=text,
        width=known.width,
        force_terminal=known.is_terminal,
        color_system="auto" if known.color_system else None,
        no_color=known.no_color,
        highlight=False,
        markup=False,
        emoji=False,
    )
    for part in _parts(outcome, verbose=verbose):
        console.print(part)
    return text.getvalue()


def _parts(outcome: Outcome, *, verbose: bool) -> Iterator[RenderableType]:
    audit, plan = outcome.audit, outcome.plan
    if audit is None or not (verbose or outcome.has_news):
        return
    yield Text(prose.headline(outcome), style="bold")
    if plan is not None and plan.changes and (verbose or not outcome.applied):
        yield _moves(plan)
    if audit.findings and not (outcome.changes and not outcome.applied):
        yield _findings(audit.findings)
    yield from (Text(f"{r.rule}  {prose.remark(r)}", style="yellow") for r in audit.remarks)
    if plan is not None:
        yield from (Text(f"Not fixed: {reason}") for reason in prose.unfixable(plan))
    if verbose:
        yield _entries(audit)
        yield from (
            Text(f"A delegate uses {prose.shown(key)}, which no given file has.")
            for key in audit.unresolved
        )
        yield _layout(audit)


def _table(*columns: str) -> Table:
    """An unframed table; a column whose title starts with `>` is set to the right."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for column in columns:
        justify: Literal["left", "right"] = "right" if column.startswith(">") else "left"
        table.add_column(column.lstrip(">"), justify=justify, overflow="fold")
    return table


def _findings(findings: Iterable[Finding]) -> Table:
    table = _table("rule", "entry", ">offset", ">needs", ">has")
    for finding in findings:
        style = "red" if finding.level == "error" else "yellow"
        detail = (
            f"{prose.place(finding)}, asked by {prose.askers(finding.requests)}. "
            f"{prose.cause(finding)}{prose.others(finding)}"
        )
        table.add_row(
            Text(finding.rule, style=style),
            Group(Text(prose.subject(finding), style="bold"), Text(detail, style="dim")),
            *map(str, (finding.absolute_offset, finding.required, finding.actual)),
        )
    return table


def _moves(plan: Plan) -> Table:
    """Each segment or constant that moves: absolute offsets, and the padding that it costs."""
    names = _names(plan.container)
    table = _table(">old", ">new", ">growth", "moved")
    for move in plan.moves:
        label = _segment_label(move.segment, names)
        table.add_row(str(move.old), str(move.new), f"{move.growth:+}", Text(label))
    for entry, new in plan.constant_moves:
        table.add_row(str(entry.absolute_offset), str(new), "", Text(prose.shown(entry.name)))
    return table


def _entries(audit: Audit) -> Table:
    table = _table(">offset", ">size", ">has", ">needs", "entry")
    delegates = any(entry.kind == "delegate" for _, entry in audit.container.others())
    judged = zip(audit.judged(), audit.users, strict=True)
    for (entry, asked, ok), users in sorted(judged, key=lambda i: i[0][0].absolute_offset or 0):
        offset = entry.absolute_offset
        table.add_row(
            "-" if offset is None else str(offset),
            "?" if entry.size is None else str(entry.size),
            str(alignment_of(offset)) if offset else "-",
            str(lcm_of(r.alignment for r in asked)) if asked else "?",
            Text.assemble(
                (prose.shown(entry.name), "" if ok else "bold red"),
                *((f"\n{line}", "dim") for line in _details(entry, asked, users, delegates)),
            ),
        )
    return table


def _details(
    entry: Entry, asked: tuple[Request, ...], users: tuple[str, ...], delegates: bool
) -> Iterator[str]:
    """Who asked for an entry, and who uses it."""
    requests = ", ".join(f"{r.alignment} by {prose.shown(r.origin)}" for r in asked)
    yield requests or "no known request"
    if users:
        yield f"used by {', '.join(map(prose.shown, users))}"
    elif entry.kind == "named_data" and delegates:
        yield "used by no delegate whose payload can be read"


def _layout(audit: Audit) -> Table:
    """Every region of the file, with a bar in proportion to its size."""
    table = _table(">offset", ">size", "", "layout")
    parts = list(regions(audit.container))
    largest = max(part.size for part in parts)
    targets = audit.segment_targets()
    names = _names(audit.container)
    violated = {finding.segment for finding in audit.findings}
    for part in parts:
        label, style = _label(part, targets, names, violated)
        bar = "#" * -(-part.size * _BAR // largest) if largest else ""
        row = (str(part.offset), str(part.size), Text(bar, style=style))
        table.add_row(*row, Text(label, style=style))
    return table


def _names(container: Container) -> dict[int, list[str]]:
    """What lies in each segment."""
    names: dict[int, list[str]] = {}
    for entry in container.entries:
        if entry.segment is not None:
            names.setdefault(entry.segment, []).append(prose.shown(entry.name, 40))
    for index in container.mutable_segments:
        names.setdefault(index, []).append("initial values of mutable buffers")
    return names


def _segment_label(index: int, names: dict[int, list[str]]) -> str:
    held = names.get(index, [])
    some = ", ".join(held[:3]) + (f" and {len(held) - 3} more" if len(held) > 3 else "")
    return f"segment {index}" + (f": {some}" if some else "")


def _label(
    part: Region, targets: tuple[int, ...], names: dict[int, list[str]], violated: set[int | None]
) -> tuple[str, str]:
    """The words and the style for a region."""
    if part.segment is None:
        return part.kind, "dim"
    index = part.segment.index
    label = _segment_label(index, names)
    if targets[index] > 1:
        label += f" (all requests together: {targets[index]})"
    if index in violated:
        return f"{label}  <-- violated", "bold red"
    return label, ""
