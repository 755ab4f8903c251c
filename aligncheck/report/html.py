"""A page with each file's picture and findings, which needs nothing from elsewhere.

Its policy forbids all but its own style: no script, no request, no form.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator
from hashlib import sha256

from aligncheck.model import Audit, Finding, Remark
from aligncheck.outcome import Outcome, Tally
from aligncheck.report import prose, svg
from aligncheck.report.markup import escaped
from aligncheck.report.picture import draw
from aligncheck.report.rules import BY_CODE

_MOST = 500
"""More findings of a file than these are counted, so that a page stays small."""
_STYLE = f"""
:root{{color-scheme:light dark;--paper:#fff;--ink:#1b1f24;--dim:#57606a;--line:#d0d7de;
--bad:#b34700}}
@media (prefers-color-scheme:dark){{:root{{--paper:#14171b;--ink:#e6e8eb;--dim:#9da5ae;
--line:#3b424a;--bad:#ff8a3d}}}}
body{{margin:0 auto;padding:16px 20px;max-width:1160px;background:var(--paper);color:var(--ink);
font:15px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}}
h1{{font-size:20px}}
summary{{cursor:pointer;font-weight:bold}}
.file{{border-top:1px solid var(--line);padding:10px 0}}
.state{{font-weight:normal;color:var(--dim)}}
.wrong .state,.error{{color:var(--bad);font-weight:bold}}
.zoom{{margin:8px 0}}
.zoom label{{margin-right:12px;color:var(--dim)}}
.picture{{overflow:auto;border:1px solid var(--line);border-radius:6px;max-height:80vh}}
.picture svg.layout{{display:block;width:100%;min-width:900px;height:auto}}
.zoom:has([value="2"]:checked)~.picture svg.layout{{width:200%}}
.zoom:has([value="4"]:checked)~.picture svg.layout{{width:400%}}
table{{border-collapse:collapse;width:100%;margin:12px 0;font-size:14px}}
th{{text-align:left;color:var(--dim);font-weight:normal}}
th,td{{padding:5px 14px 5px 0;border-bottom:1px solid var(--line);vertical-align:top}}
.number{{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}}
.rule{{white-space:nowrap}}
.more{{color:var(--dim)}}
footer{{border-top:1px solid var(--line);padding:10px 0;color:var(--dim)}}
.defs{{position:absolute}}
{svg.STYLE}
"""
_DIGEST = b64encode(sha256(_STYLE.encode()).digest()).decode()
_POLICY = f"default-src 'none'; style-src 'sha256-{_DIGEST}'; base-uri 'none'; form-action 'none'"


def render(outcomes: Iterable[Outcome], tally: Tally) -> Iterator[str]:
    """The page in pieces, a file at a time; `tally` is complete once the outcomes are."""
    yield (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>aligncheck</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f'<svg class="layout defs" width="0" height="0" aria-hidden="true">{svg.HATCH}</svg>\n'
        "<h1>Alignment of data in ExecuTorch files</h1>\n"
    )
    for number, outcome in enumerate(outcomes):
        yield from _file(outcome, number)
    yield f"<footer>{escaped(prose.summary(tally))}</footer>\n</body>\n</html>\n"


def _file(outcome: Outcome, number: int) -> Iterator[str]:
    audit = outcome.audit
    if audit is None:
        reason = prose.shown(outcome.error.reason, 4096) if outcome.error else ""
        yield (
            f'<section class="file wrong"><b>{_name(outcome.path)}</b>'
            f' <p class="error">could not be audited: {escaped(reason)}</p></section>\n'
        )
        return
    wrong = " wrong" if audit.violations else ""
    opened = " open" if outcome.has_news else ""
    yield f'<details class="file{wrong}"{opened}><summary>{_headline(outcome, audit)}</summary>\n'
    yield from _picture(audit, outcome, number)
    yield from _findings(audit)
    if outcome.plan is not None:
        for line in prose.unfixable(outcome.plan):
            yield f"<p>Not fixed: {escaped(line)}</p>\n"
    yield "</details>\n"


def _headline(outcome: Outcome, audit: Audit) -> str:
    counts = [
        prose.counted(number, noun)
        for number, noun in ((audit.violations, "violation"), (audit.warnings, "warning"))
        if number
    ]
    state = ", ".join(counts) or "nothing violated"
    path = prose.shown(outcome.path, 4096)
    plan = prose.headline(outcome).removeprefix(path)
    return f'{_name(outcome.path)}{plan} <span class="state">{state}</span>'


def _picture(audit: Audit, outcome: Outcome, number: int) -> Iterator[str]:
    drawing = draw(audit, outcome)
    width, height = drawing.width, drawing.height
    yield '<div class="zoom">'
    for factor in (1, 2, 4):
        checked = " checked" if factor == 1 else ""
        yield (
            f'<label><input type="radio" name="zoom{number}" value="{factor}"{checked}>'
            f" {factor}&times;</label>"
        )
    yield (
        f'</div>\n<div class="picture" tabindex="0">\n<svg class="layout" role="img"'
        f' aria-label="{escaped(drawing.title)}" viewBox="0 0 {width} {height:.0f}">\n'
    )
    yield from svg.shapes(drawing)
    yield "</svg>\n</div>\n"


def _findings(audit: Audit) -> Iterator[str]:
    """The table of what is wrong."""
    items: tuple[Finding | Remark, ...] = (*audit.findings, *audit.remarks)
    if not items:
        return
    yield (
        '<table>\n<tr><th>rule</th><th>what</th><th class="number">offset</th>'
        '<th class="number">needs</th><th class="number">has</th></tr>\n'
    )
    for item in items[:_MOST]:
        yield _finding(item) if isinstance(item, Finding) else _remark(item)
    yield "</table>\n"
    if len(items) > _MOST:
        rest = f"and {len(items) - _MOST:,} more; -f json and -f jsonl have all"
        yield f'<p class="more">{rest}</p>\n'


def _finding(finding: Finding) -> str:
    name = _name(finding.entry.name) if finding.entry else f"segment {finding.segment}"
    details = (
        f"{prose.place(finding)}, asked by {prose.askers(finding.requests)}. {prose.cause(finding)}"
    )
    numbers = (finding.absolute_offset, finding.required, finding.actual)
    cells = "".join(f'<td class="number">{number}</td>' for number in numbers)
    return (
        f"<tr>{_rule(finding)}<td><b>{name}</b><br><bdi>{escaped(details)}</bdi></td>{cells}</tr>\n"
    )


def _remark(remark: Remark) -> str:
    text = escaped(prose.remark(remark))
    return f'<tr>{_rule(remark)}<td colspan="4"><bdi>{text}</bdi></td></tr>\n'


def _rule(item: Finding | Remark) -> str:
    summary = escaped(BY_CODE[item.rule].summary)
    return f'<td class="rule" title="{summary}">{item.rule} {item.level}</td>'


def _name(name: str) -> str:
    """A name that cannot turn the text around it."""
    return f"<bdi>{escaped(prose.shown(name, 4096))}</bdi>"
