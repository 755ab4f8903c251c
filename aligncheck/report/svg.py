"""Pictures of layouts as one SVG, which needs nothing from elsewhere and runs no script."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from aligncheck.outcome import Outcome, Tally
from aligncheck.report import prose
from aligncheck.report.markup import escaped
from aligncheck.report.picture import WIDTH, draw
from aligncheck.report.picture.shapes import Box, Drawing, Label, Line, Mark, Shape

# Okabe and Ito's palette: people with any kind of colour vision can tell these apart. What is
# violated is hatched and has a mark as well.
STYLE = """
svg.layout{--paper:#fff;--ink:#1b1f24;--dim:#57606a;--track:#eef0f2;--padding:#d5d9de;--line:#8c959f;
font:12px ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;background:var(--paper)}
@media (prefers-color-scheme:dark){svg.layout{--paper:#14171b;--ink:#e6e8eb;--dim:#9da5ae;
--track:#22272d;--padding:#3b424a;--line:#6e7781}}
.layout text{fill:var(--ink);white-space:pre}
.layout .dim{fill:var(--dim)}
.layout .head{font-weight:bold}
.layout .name{font-size:17px;font-weight:bold}
.layout .bad{font-weight:bold}
.layout .paper{fill:var(--paper)}
.layout .header{fill:#009e73}
.layout .metadata{fill:#56b4e9}
.layout .padding{fill:var(--padding)}
.layout .segment{fill:#0072b2}
.layout .fixed{fill:#0072b2;stroke:var(--ink);stroke-width:1.5}
.layout .group{fill:#0072b2}
.layout .trailing{fill:#cc79a7}
.layout .track{fill:var(--track)}
.layout .frame{fill:none;stroke:var(--line)}
.layout rect.violated{fill:url(#hatch);stroke:#d55e00}
.layout .hatched{fill:#d55e00}
.layout .stripe{stroke:var(--paper);stroke-width:1.5}
.layout .mark{fill:#d55e00}
.layout .axis{stroke:var(--line)}
.layout .gap{stroke:#d55e00;stroke-dasharray:3 2}
.layout .boundary{stroke:var(--ink);stroke-width:1.5}
""".strip()
HATCH = (
    '<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse"'
    ' patternTransform="rotate(45)"><rect class="hatched" width="6" height="6"/>'
    '<line class="stripe" x1="0" y1="0" x2="0" y2="6"/></pattern></defs>'
)


def render(outcomes: Iterable[Outcome], _tally: Tally) -> Iterator[str]:
    """One picture under the other. It begins with its height, so all are drawn before."""
    drawings = [_drawing(outcome) for outcome in outcomes]
    height = _number(sum(drawing.height for drawing in drawings) or 1)
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="layout" width="{WIDTH}" height="{height}"'
        f' viewBox="0 0 {WIDTH} {height}">\n<style>{STYLE}</style>{HATCH}\n'
        f'<rect class="paper" width="{WIDTH}" height="{height}"/>\n'
    )
    y = 0.0
    for drawing in drawings:
        title = escaped(drawing.title)
        yield f'<g transform="translate(0 {_number(y)})">\n<title>{title}</title>\n'
        yield from shapes(drawing)
        yield "</g>\n"
        y += drawing.height
    yield "</svg>\n"


def _drawing(outcome: Outcome) -> Drawing:
    if outcome.audit is not None:
        return draw(outcome.audit, outcome)
    error = outcome.error
    told = prose.shown(f"{outcome.path}: {error.reason if error else ''}", 150)
    label = Label(x=20, y=30, text=told, kind="bad", width=WIDTH - 40)
    return Drawing(title=told, width=WIDTH, height=50, shapes=(label,))


def shapes(drawing: Drawing) -> Iterator[str]:
    """A drawing's shapes as elements."""
    for shape in drawing.shapes:
        yield f"{_element(shape)}\n"


def _element(shape: Shape) -> str:
    match shape:
        case Box():
            return _box(shape)
        case Label():
            return _label(shape)
        case Line():
            ends = _attributes(x1=shape.x1, y1=shape.y1, x2=shape.x2, y2=shape.y2)
            return f'<line class="{shape.kind}"{ends}/>'
        case Mark():
            x, y = _number(shape.x), _number(shape.y)
            return f'<path class="mark" d="M{x} {y}l-5-8h10z">{_title(shape.title)}</path>'


def _box(box: Box) -> str:
    sides = _attributes(x=box.x, y=box.y, width=box.width, height=box.height)
    return f'<rect class="{box.kind}"{sides}>{_title(box.title)}</rect>'


def _label(label: Label) -> str:
    kind = f' class="{label.kind}"' if label.kind else ""
    end = ' text-anchor="end"' if label.end else ""
    inside = f"{_title(label.title)}{escaped(label.text)}"
    if not label.width:
        return f"<text{kind}{end}{_attributes(x=label.x, y=label.y)}>{inside}</text>"
    # An inner picture cuts off what is wider or higher than a font's usual characters.
    room = _attributes(x=label.x, y=label.y - 16, width=label.width, height=22)
    return f'<svg{room}><text{kind} y="16">{inside}</text></svg>'


def _title(text: str) -> str:
    return f"<title>{escaped(text)}</title>" if text else ""


def _attributes(**values: float) -> str:
    return "".join(f' {name}="{_number(value)}"' for name, value in values.items())


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
