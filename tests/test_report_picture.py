"""The pictures: what is drawn and where, without a browser."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aligncheck import audit, fix, plan
from aligncheck.errors import BadFile
from aligncheck.model import Audit, Container, Request
from aligncheck.outcome import Outcome, Tally
from aligncheck.report import html, prose, svg
from aligncheck.report.picture import draw
from aligncheck.report.picture.rows import LIMIT, Row, rows
from aligncheck.report.picture.shapes import Box, Drawing, Label, Line, Mark, Scale, fitted, short
from aligncheck.report.picture.states import planned, states
from aligncheck.requests import Asked
from tests.support import samples
from tests.support.build import Named, Offsets, Ptd, Pte, Segment
from tests.support.jobs import Job, few, jobs

DATA = Path(__file__).parent / "data"
MANY = 10_000
SVG = "{http://www.w3.org/2000/svg}"


def outcome_of(
    path: Path, requests: dict[str, int], *, diff: bool = False, alignment: int | None = None
) -> Outcome:
    audited = audit(path, requests, segment_alignment=alignment)
    return Outcome(path=str(path), audit=audited, plan=plan(audited) if diff else None)


def weak(folder: Path, *, diff: bool = False) -> Outcome:
    path = samples.weak_first(samples.ptd).build().write(folder / "weak.ptd")
    return outcome_of(path, {"strong": 256}, diff=diff)


def audit_of(outcome: Outcome) -> Audit:
    assert outcome.audit is not None
    return outcome.audit


def drawn(outcome: Outcome) -> Drawing:
    return draw(audit_of(outcome), outcome)


def listed(outcome: Outcome) -> list[Row]:
    return rows(audit_of(outcome), *states(audit_of(outcome), outcome))


def boxes(drawing: Drawing, kind: str) -> list[Box]:
    return [shape for shape in drawing.shapes if isinstance(shape, Box) and shape.kind == kind]


def texts(drawing: Drawing) -> list[str]:
    return [shape.text for shape in drawing.shapes if isinstance(shape, Label)]


def svg_of(*outcomes: Outcome) -> str:
    text = "".join(svg.render(outcomes, Tally()))
    assert text.isascii(), "as it can be written to any stream"
    return text


def page_of(*outcomes: Outcome) -> str:
    tally = Tally()
    text = "".join(html.render(tally.watch(outcomes), tally))
    assert text.isascii(), "as it can be written to any stream"
    return text


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten thousand segments with a name each, every one at a multiple of 128."""
    segments = [Segment(bytes(1 + index % 300)) for index in range(MANY)]
    named = [Named(f"layer.{index}.weight", index) for index in range(MANY)]
    spec = Ptd(segments=segments, named=named, base_alignment=4096)
    return spec.build().write(tmp_path_factory.mktemp("large") / "large.ptd")


# What is drawn


def test_the_strip_is_to_scale(tmp_path: Path) -> None:
    outcome = weak(tmp_path)
    container = audit_of(outcome).container
    drawing = drawn(outcome)
    (frame,) = boxes(drawing, "frame")
    metadata = next(box for box in boxes(drawing, "metadata") if box.y == frame.y)
    share = (metadata.x + metadata.width - frame.x) / frame.width
    assert share == pytest.approx(container.metadata_end / container.size)
    violated = next(box for box in boxes(drawing, "violated") if box.y == frame.y)
    assert (violated.x - frame.x) / frame.width == pytest.approx(640 / container.size)


def test_a_violation_has_a_mark_over_its_place(tmp_path: Path) -> None:
    drawing = drawn(weak(tmp_path))
    (frame,) = boxes(drawing, "frame")
    (mark,) = [s for s in drawing.shapes if isinstance(s, Mark) and s.y == frame.y - 2]
    assert mark.x == pytest.approx(frame.x + frame.width * 640 / 644, abs=2)
    assert mark.title == "strong at 640 is 128 past a multiple of 256"


def test_a_close_up_has_the_boundaries_on_both_sides(tmp_path: Path) -> None:
    drawing = drawn(weak(tmp_path))
    first, second = (s for s in drawing.shapes if isinstance(s, Line) and s.kind == "boundary")
    below = {s.text: s.x for s in drawing.shapes if isinstance(s, Label)}
    assert {"512", "768", "128 past", "strong"} <= set(below)
    data = next(b for b in boxes(drawing, "violated") if first.y1 < b.y < first.y2)
    assert data.x == pytest.approx((first.x1 + second.x1) / 2)


def test_nothing_violated_needs_no_close_up(tmp_path: Path) -> None:
    path = samples.weak_first(samples.ptd).build().write(tmp_path / "weak.ptd")
    drawing = drawn(outcome_of(path, {}))
    assert "What is violated" not in texts(drawing)
    legend = 1
    assert len(boxes(drawing, "violated")) == legend


def test_before_and_after_are_on_one_scale(tmp_path: Path) -> None:
    outcome = weak(tmp_path, diff=True)
    drawing = drawn(outcome)
    above, below = boxes(drawing, "frame")
    assert (above.x, above.width) == (below.x, below.width)
    assert "Before: 644 bytes" in texts(drawing)
    assert "After a fix: 772 bytes" in texts(drawing)
    assert [b for b in boxes(drawing, "violated") if b.y == above.y]
    assert not [b for b in boxes(drawing, "violated") if b.y == below.y]


def test_a_fix_that_was_made_is_drawn_as_the_plan_of_it(tmp_path: Path) -> None:
    proposed = drawn(weak(tmp_path, diff=True))
    fixed = fix(tmp_path / "weak.ptd", {"strong": 256})
    made = drawn(
        Outcome(path=str(tmp_path / "weak.ptd"), audit=fixed.after, plan=fixed.plan, applied=True)
    )
    places = [[b for b in d.shapes if isinstance(b, Box)] for d in (proposed, made)]
    assert places[0] == places[1]
    assert "After: 772 bytes" in texts(made)


def test_what_a_fix_leaves_is_told_in_the_close_up() -> None:
    outcome = outcome_of(DATA / "inline.pte", {"forward/*": 4096, "2c17*": 4096}, diff=True)
    words = texts(drawn(outcome))
    assert "not fixed: 624 past" in words
    assert any(word.startswith("after the fix at ") for word in words)


@few(40)
@given(job=jobs(overlaps=False))
def test_a_planned_layout_is_the_one_that_a_fix_makes(
    tmp_path_factory: pytest.TempPathFactory, job: Job
) -> None:
    path = job.spec.build().write(tmp_path_factory.mktemp("job") / "f")
    made = plan(audit(path, job.requests, segment_alignment=job.segment_alignment))
    expected = planned(made)
    fix(path, job.requests, segment_alignment=job.segment_alignment)
    found = audit(path).container
    assert expected.size == found.size
    held = [(s.absolute_offset, s.size) for s in found.segments if s.size]
    assert [(s.absolute_offset, s.size) for s in expected.segments if s.size] == held
    inside = [
        (a.absolute_offset, b.absolute_offset)
        for a, b in zip(expected.entries, found.entries, strict=True)
        if b.holds_data
    ]
    assert all(ours == theirs for ours, theirs in inside)


def test_violated_constants_are_drawn_at_their_own_places(tmp_path: Path) -> None:
    spec = Pte(segments=[Segment(bytes(64))], constants=Offsets(0, [0, 0, 8, 24]), base=512)
    path = spec.build().write(tmp_path / "c.pte")
    violated = [row for row in listed(outcome_of(path, {})) if row.violated]
    assert [(row.start, row.required) for row in violated] == [(520, 16), (536, 16)]


def test_several_names_at_one_place_are_counted(tmp_path: Path) -> None:
    spec = Ptd(segments=[Segment(b"1")], named=[Named(n, 0) for n in "abc"], base=384)
    words = texts(drawn(outcome_of(spec.build().write(tmp_path / "s.ptd"), {"*": 256})))
    assert "at 384 needs 256, and 2 more here" in words
    assert "0  a +2" in words


def test_pointing_at_a_segment_tells_some_of_its_names(tmp_path: Path) -> None:
    spec = Ptd(segments=[Segment(b"1")], named=[Named(f"key{i}", 0) for i in range(10)])
    (row,) = (
        r for r in listed(outcome_of(spec.build().write(tmp_path / "s.ptd"), {})) if r.segments
    )
    lines = row.title.splitlines()
    assert lines[0] == f"segment 0 at {row.start}, 1 byte"
    assert lines[1:] == [*(f"key{i}" for i in range(8)), "and 2 more"]


def test_a_violated_segment_outside_the_file_is_listed(tmp_path: Path) -> None:
    class Wish:
        def ask(self, _container: Container) -> Asked:
            return Asked(segments=[(1, Request(alignment=4096, origin="a wish"))])

    spec = Ptd(segments=[Segment(b"1"), Segment(b"", offset=10**6)])
    path = spec.build().write(tmp_path / "s.ptd")
    outcome = Outcome(path=str(path), audit=audit(path, [Wish()]))
    (row,) = (row for row in listed(outcome) if row.violated)
    assert (row.label, row.size) == ("segment 1", 0)
    assert row.start > audit_of(outcome).container.size
    drawing = drawn(outcome)
    for box in (shape for shape in drawing.shapes if isinstance(shape, Box)):
        assert box.x + box.width <= drawing.width


# Ten thousand segments


def test_many_segments_are_grouped_so_that_none_is_left_out(large: Path) -> None:
    found = listed(outcome_of(large, {}))
    assert len(found) <= LIMIT
    groups = [row for row in found if row.segments]
    assert [index for row in groups for index in row.segments] == list(range(MANY))
    assert sum(row.size for row in groups) == sum(1 + index % 300 for index in range(MANY))


@pytest.mark.parametrize("count", [61, 62, 63, 64, 65, 123, 124, 125, 126, 127, 187])
@pytest.mark.parametrize("requests", [{}, {"30": 4096}, {"*": 4096}])
def test_any_number_of_segments_is_listed_whole(
    tmp_path: Path, count: int, requests: dict[str, int]
) -> None:
    spec = Ptd(segments=[Segment(b"1")] * count, named=[Named(str(i), i) for i in range(count)])
    found = listed(outcome_of(spec.build().write(tmp_path / "n.ptd"), requests))
    assert len(found) <= LIMIT
    assert [index for row in found for index in row.segments] == list(range(count))


def test_violated_entries_stay_alone_among_groups(large: Path) -> None:
    found = listed(outcome_of(large, {"layer.777.weight": 2**20, "layer.9999.weight": 2**20}))
    assert len(found) <= LIMIT
    assert [r.label for r in found if r.violated] == ["layer.777.weight", "layer.9999.weight"]


def test_too_many_violations_are_counted_in_the_groups(large: Path) -> None:
    outcome = outcome_of(large, {"*": 2**20})
    found = listed(outcome)
    assert len(found) <= LIMIT
    assert sum(row.violated for row in found) == len(audit_of(outcome).findings) > MANY - 20
    assert any(row.label.endswith(" violated") for row in found)


@pytest.mark.parametrize("requests", [{}, {"layer.77*": 4096}, {"*": 2**20}])
def test_a_picture_of_many_segments_stays_small(large: Path, requests: dict[str, int]) -> None:
    outcome = outcome_of(large, requests, diff=len(requests) == 1 and "*" not in requests)
    assert len(svg_of(outcome)) < 1_000_000
    assert len(page_of(outcome)) < 1_000_000


def test_every_violated_place_is_covered_in_the_strip(large: Path) -> None:
    outcome = outcome_of(large, {"layer.?77.weight": 2**20})
    drawing = drawn(outcome)
    (frame,) = boxes(drawing, "frame")
    covered = [b for b in boxes(drawing, "violated") if b.y == frame.y]
    scale = Scale(x=frame.x, width=frame.width, start=0, end=audit_of(outcome).container.size)
    for finding in audit_of(outcome).findings:
        x = scale.at(finding.absolute_offset)
        assert any(box.x - 3 <= x <= box.x + box.width for box in covered)


def test_a_page_counts_the_findings_that_it_leaves_out(large: Path) -> None:
    outcome = outcome_of(large, {"*": 2**20})
    page = page_of(outcome)
    shown = page.count('<td class="rule"')
    assert f"and {len(audit_of(outcome).findings) - shown:,} more" in page


# The files


def test_the_svg_is_well_formed_and_as_high_as_its_pictures(tmp_path: Path) -> None:
    outcome = weak(tmp_path)
    bad = Outcome(path="b.pte", error=BadFile("b.pte", "is empty"))
    root = ET.fromstring(svg_of(outcome, bad, outcome))
    assert root.tag == f"{SVG}svg"
    heights = 2 * drawn(outcome).height + 50
    assert root.get("viewBox") == f"0 0 1160 {heights:.0f}"
    assert len(root.findall(f"{SVG}g")) == 3
    assert "b.pte: is empty" in "".join(root.itertext())


def test_an_svg_of_no_file_is_one(tmp_path: Path) -> None:
    assert ET.fromstring(svg_of()).get("width") == "1160"


@pytest.mark.parametrize("made", [svg_of, page_of])
def test_nothing_comes_from_elsewhere_and_nothing_runs(
    tmp_path: Path, made: Callable[..., str]
) -> None:
    text = made(weak(tmp_path, diff=True)).replace("http://www.w3.org/2000/svg", "")
    for forbidden in ("<script", "http:", "https:", "href", "src=", "@import", "onload", "onclick"):
        assert forbidden not in text
    assert set(re.findall(r"url\(([^)]*)\)", text)) == {"#hatch"}


def test_the_policy_of_a_page_allows_its_own_style_only(tmp_path: Path) -> None:
    page = page_of(weak(tmp_path))
    (style,) = re.findall(r"(?s)<style>(.*?)</style>", page)
    digest = b64encode(sha256(style.encode()).digest()).decode()
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    assert " style=" not in page


def test_a_page_tells_what_the_text_report_tells(tmp_path: Path) -> None:
    outcome = weak(tmp_path, diff=True)
    bad = Outcome(path="b.pte", error=BadFile("b.pte", "is <empty>"))
    words = " ".join(page_text(page_of(outcome, bad)))
    (finding,) = audit_of(outcome).findings
    assert prose.cause(finding) in words
    assert "AC101 error" in words
    assert "would be fixed, 644 -> 772 bytes (+128)" in words
    assert "could not be audited: is <empty>" in words
    assert "2 files, 3 entries: 1 violation, 1 file would be fixed" in words


def test_a_page_tells_remarks_and_what_cannot_be_fixed(tmp_path: Path) -> None:
    segments = [Segment(b"b" * 64, offset=128), Segment(b"a" * 64, offset=0)]
    path = Ptd(segments=segments).build().write(tmp_path / "o.ptd")
    inline = outcome_of(DATA / "inline.pte", {"forward/*": 4096}, diff=True)
    words = " ".join(page_text(page_of(outcome_of(path, {}), inline)))
    assert "segment 1 at 256 lies before segment 0" in words
    assert "Not fixed: forward/delegate 0 (XnnpackBackend) (4096 by " in words


def test_clean_files_are_folded(tmp_path: Path) -> None:
    page = page_of(outcome_of(DATA / "xnnpack.pte", {}), weak(tmp_path))
    assert re.findall(r"<details class=\"file( wrong)?\"( open)?>", page) == [
        ("", ""),
        (" wrong", " open"),
    ]


def test_pages_are_streamed(tmp_path: Path) -> None:
    seen: list[str] = []

    def watched() -> Iterator[Outcome]:
        for outcome in (weak(tmp_path), weak(tmp_path)):
            seen.append(outcome.path)
            yield outcome

    pieces = html.render(watched(), Tally())
    while "</details>" not in next(pieces):
        assert len(seen) <= 1


class Text(HTMLParser):
    """Collects text; fails on an element that no report makes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in {"script", "img", "b1", "iframe"}
        assert not [name for name, _ in attrs if name.startswith("on")]

    def handle_data(self, data: str) -> None:
        self.found.append(data)


def page_text(page: str) -> list[str]:
    parser = Text()
    parser.feed(page)
    return parser.found


@given(st.text(min_size=1, max_size=40))
def test_any_path_and_reason_stay_text(text: str) -> None:
    bad = Outcome(path=text, error=BadFile(text, text))
    assert "".join(ET.fromstring(svg_of(bad)).itertext())
    assert prose.shown(text) in "".join(page_text(page_of(bad)))


@pytest.mark.parametrize(
    "name",
    ["<script>x</script>", "<img src=x onerror=y>", "\x1b[31m", "\u202e", "]]>", "&amp;", '"><b1>'],
)
def test_names_in_a_file_stay_text(tmp_path: Path, name: str) -> None:
    path = Ptd(segments=[Segment(b"1")], named=[Named(name, 0)]).build().write(tmp_path / "h.ptd")
    outcome = outcome_of(path, {"*": 4096})
    root = ET.fromstring(svg_of(outcome))
    assert prose.shown(name) in [
        element[0].tail if len(element) else element.text for element in root.iter(f"{SVG}text")
    ]
    assert prose.shown(name) in "".join(page_text(page_of(outcome)))


@pytest.mark.parametrize("path", sorted(DATA.glob("*.pt[de]")), ids=lambda path: path.name)
def test_every_sample_can_be_drawn_inside_its_frame(path: Path) -> None:
    outcome = outcome_of(path, {"*": 4096}, diff=True, alignment=512)
    drawing = drawn(outcome)
    for box in (shape for shape in drawing.shapes if isinstance(shape, Box)):
        assert 0 <= box.x <= box.x + box.width <= drawing.width
        assert 0 <= box.y <= box.y + box.height <= drawing.height
        assert box.width > 0
    ET.fromstring(svg_of(outcome))


@few(60)
@given(job=jobs())
def test_any_layout_can_be_drawn(tmp_path_factory: pytest.TempPathFactory, job: Job) -> None:
    path = job.spec.build().write(tmp_path_factory.mktemp("job") / "f")
    audited = audit(path, job.requests, segment_alignment=job.segment_alignment)
    outcome = Outcome(path="f", audit=audited, plan=plan(audited))
    ET.fromstring(svg_of(outcome))
    marked = [row for row in listed(outcome) if row.violated]
    assert sum(row.violated for row in marked) == len(audited.findings)


# The parts


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (640, "640"),
        (1024, "1 KiB"),
        (1536, "1536"),
        (2**20, "1 MiB"),
        (3 * 2**30, "3 GiB"),
        (10**9 + 1, "1.00e+09"),
        (2**64 * 3, "5.53e+19"),
    ],
)
def test_numbers_are_short(number: int, text: str) -> None:
    assert short(number) == text


@given(st.integers(0, 2**94))
def test_no_number_is_long(number: int) -> None:
    assert len(short(number)) <= 9


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("short", 300, "short"),
        ("x" * 50, 146, "xxxxxxxx...xxxxxxxx"),
        ("\u65e5" * 12, 146, "\u65e5" * 9 + "\u2026"),
        ("e\u0301" * 8, 146, "e\u0301" * 8),
        ("\x1b" * 9, 146, "\\x1b\\x1b\\x1b\\x1b\\x1…"),
    ],
)
def test_text_is_cut_to_its_room(text: str, width: float, expected: str) -> None:
    assert fitted(text, width) == expected


def test_a_scale_keeps_to_its_line() -> None:
    scale = Scale(x=100, width=200, start=1000, end=2000)
    assert [scale.at(offset) for offset in (0, 1000, 1500, 2000, 9999)] == [100, 100, 200, 300, 300]
    assert scale.box(1999, 2000, least=10) == (290, 10)
    assert scale.box(1000, 2000) == (100, 200)
