"""The pictures in a real browser: complete, readable, self-contained, in light and dark."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aligncheck import audit, plan
from aligncheck.errors import BadFile
from aligncheck.outcome import Outcome, Tally
from aligncheck.report import html, svg
from tests.browser.chromium import Colour, Page
from tests.browser.conftest import Open
from tests.support.build import Named, Ptd, Segment

DATA = Path(__file__).parents[1] / "data"
VERMILLION = Colour(0xD5, 0x5E, 0x00)
MAKERS = {"svg": svg.render, "html": html.render}
each_format = pytest.mark.parametrize("kind", MAKERS)
each_scheme = pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])

# Where text is, as far as it can be seen: names are cut off by an inner picture.
TEXTS = """
[...document.querySelectorAll('svg.layout text')].map(text => {
  const box = text.getBoundingClientRect();
  const inner = text.parentNode.closest('svg:not(.layout)');
  const room = inner ? inner.getBoundingClientRect() : box;
  const all = text.closest('svg.layout').getBoundingClientRect();
  return {text: text.lastChild.textContent, x: box.x, y: box.y, right: box.right,
    bottom: box.bottom, room: room.right + 0.5,
    left: all.x, top: all.y, end: all.right, below: all.bottom};
}).filter(text => text.right > text.x)
"""
MARKS = """
[...document.querySelectorAll('SELECTOR')].map(mark => mark.getBoundingClientRect())
  .map(box => [box.x, box.y, box.width, box.height])
"""
LUMINANCE = """
(() => {
  const channels = colour => colour.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const paper = getComputedStyle(document.querySelector('svg.layout')).backgroundColor;
  return [...document.querySelectorAll('svg.layout text')]
    .map(text => [channels(getComputedStyle(text).fill), channels(paper)]);
})()
"""


def outcome(name: str, requests: dict[str, int], *, diff: bool = True) -> Outcome:
    audited = audit(DATA / name, requests)
    return Outcome(path=name, audit=audited, plan=plan(audited) if diff else None)


SAMPLES: dict[str, Callable[[], Outcome]] = {
    "weak": lambda: outcome("weak_first.ptd", {"strong": 256}),
    "methods": lambda: outcome("methods.pte", {"prefill/*": 4096, "2c1*": 1024, "forward/*": 512}),
    "constants": lambda: outcome("portable.pte", {"constant *": 128}, diff=False),
    "inline": lambda: outcome("inline.pte", {"forward/*": 4096, "2c1*": 4096}),
    "numbers": lambda: outcome("weak_first.ptd", {"strong": 123456789}),
    "clean": lambda: outcome("mutable.pte", {}),
}


def written(folder: Path, kind: str, *outcomes: Outcome) -> Path:
    tally = Tally()
    path = folder / f"picture.{kind}"
    text = "".join(MAKERS[kind](tally.watch(outcomes), tally))
    path.write_text(text, encoding="utf-8")
    return path


def boxes(page: Page, selector: str) -> list[tuple[float, float, float, float]]:
    found = page.evaluate(MARKS.replace("SELECTOR", selector))
    return [(box[0], box[1], box[2], box[3]) for box in found]


def texts(page: Page) -> list[dict[str, Any]]:
    return list(page.evaluate(TEXTS))


def overlap(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """True if two texts touch; line boxes may, by the little that letters never fill."""
    across = min(one["right"], other["right"]) - max(one["x"], other["x"])
    down = min(one["bottom"], other["bottom"]) - max(one["y"], other["y"])
    return bool(across > 0.5 and down > 3)


def contrast(one: list[float], other: list[float]) -> float:
    """The contrast of two colours by WCAG 2."""
    lights = sorted((luminance(one), luminance(other)))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def luminance(colour: list[float]) -> float:
    shares = [value / 255 for value in colour]
    linear = [s / 12.92 if s <= 0.03928 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@each_format
@each_scheme
def test_a_picture_needs_nothing_and_complains_of_nothing(
    opened: Open, tmp_path: Path, kind: str, dark: bool
) -> None:
    path = written(tmp_path, kind, *(made() for made in SAMPLES.values()))
    page = opened(path, dark=dark)
    assert page.requests() == [path.as_uri()]
    assert page.complaints() == []
    assert len(boxes(page, ".frame")) > len(SAMPLES)


def test_complaints_and_requests_would_be_seen(opened: Open, tmp_path: Path) -> None:
    path = tmp_path / "bad.html"
    path.write_text("<meta charset=utf-8><img src=gone.png><script>throw 1</script>")
    page = opened(path)
    assert page.requests() == [path.as_uri(), (tmp_path / "gone.png").as_uri()]
    assert len(page.complaints()) == 2


@each_format
@each_scheme
def test_what_is_violated_is_vermillion_and_striped(
    opened: Open, tmp_path: Path, kind: str, dark: bool
) -> None:
    page = opened(written(tmp_path, kind, SAMPLES["methods"]()), dark=dark)
    largest = max(boxes(page, "rect.violated"), key=lambda box: box[2])
    assert largest[2] > 50
    x, y, _, height = largest
    colours = page.picture(x + 2, y + 2, 40, height - 4).colours()
    total = sum(colours.values())
    assert colours[VERMILLION] > total / 3
    assert total - colours[VERMILLION] > total / 10
    (x, y, width, height), *_ = boxes(page, "path.mark")
    assert page.picture(x, y, width, height).colours()[VERMILLION] > width * height / 4


@each_format
def test_schemes_differ_and_follow_the_reader(opened: Open, tmp_path: Path, kind: str) -> None:
    path = written(tmp_path, kind, SAMPLES["weak"]())
    corners = []
    for dark in (False, True):
        page = opened(path, dark=dark)
        ((x, y, width, _), *_) = boxes(page, "svg.layout:not(.defs)")
        colours = page.picture(x + width - 12, y + 4, 8, 8).colours()
        corners.append(list(colours))
    assert corners == [[Colour(255, 255, 255)], [Colour(0x14, 0x17, 0x1B)]]


@each_format
@each_scheme
@pytest.mark.parametrize("sample", SAMPLES)
def test_all_text_is_inside_and_none_overlaps(
    opened: Open, tmp_path: Path, kind: str, dark: bool, sample: str
) -> None:
    found = texts(opened(written(tmp_path, kind, SAMPLES[sample]()), dark=dark))
    assert len(found) > 20
    for text in found:
        assert text["left"] <= text["x"] <= text["right"] <= text["end"], text
        assert text["top"] <= text["y"] <= text["bottom"] <= text["below"], text
        assert text["right"] <= text["room"], text
    pairs = ((a, b) for i, a in enumerate(found) for b in found[i + 1 :])
    assert [(a["text"], b["text"]) for a, b in pairs if overlap(a, b)] == []


@each_scheme
def test_text_can_be_read(opened: Open, tmp_path: Path, dark: bool) -> None:
    page = opened(written(tmp_path, "svg", SAMPLES["methods"]()), dark=dark)
    pairs = page.evaluate(LUMINANCE)
    assert len(pairs) > 20
    assert min(contrast(ink, paper) for ink, paper in pairs) > 4.5


@pytest.mark.parametrize(
    "name", ["\ufdfd" * 30, "\u65e5" * 60, "e" + "\u0301" * 150, "\u05d0" * 60]
)
def test_an_odd_name_does_not_reach_beyond_its_place(
    opened: Open, tmp_path: Path, name: str
) -> None:
    pictures = []
    for key in ("x" * len(name.encode()), name):
        spec = Ptd(segments=[Segment(b"1")], named=[Named(key, 0)], base=4096 + 128)
        path = spec.build().write(tmp_path / "odd.ptd")
        page = opened(written(tmp_path, "svg", Outcome(path="odd", audit=audit(path, {"*": 4096}))))
        frame = boxes(page, "rect.track")[-1]
        left = 330.0
        pictures.append(page.picture(left, frame[1] - 100, 870, 120).rows)
    assert pictures[0] == pictures[1]


@each_format
def test_ten_thousand_segments_are_drawn_at_once(opened: Open, tmp_path: Path, kind: str) -> None:
    count = 10_000
    spec = Ptd(
        segments=[Segment(bytes(1 + index % 300)) for index in range(count)],
        named=[Named(f"layer.{index}.weight", index) for index in range(count)],
    )
    path = spec.build().write(tmp_path / "large.ptd")
    audited = audit(path, {"layer.?77.weight": 2**20, "layer.9000.weight": 2**20})
    made = written(tmp_path, kind, Outcome(path="large.ptd", audit=audited, plan=plan(audited)))
    assert made.stat().st_size < 1_000_000
    begin = time.monotonic()
    page = opened(made)
    found = texts(page)
    assert time.monotonic() - begin < 10
    names = {text["text"] for text in found}
    assert {finding.entry.name for finding in audited.findings if finding.entry} <= names
    assert page.complaints() == []
    pairs = ((a, b) for i, a in enumerate(found) for b in found[i + 1 :])
    assert not any(overlap(a, b) for a, b in pairs)


def test_zooming_makes_the_picture_larger(opened: Open, tmp_path: Path) -> None:
    page = opened(written(tmp_path, "html", SAMPLES["weak"](), SAMPLES["methods"]()))
    before = [box[2] for box in boxes(page, ".picture svg.layout")]
    page.evaluate("document.querySelectorAll('input[value=\"4\"]')[1].click()")
    after = [box[2] for box in boxes(page, ".picture svg.layout")]
    assert [new / old for old, new in zip(before, after, strict=True)] == pytest.approx([1, 4])


def test_a_page_fits_a_narrow_window(opened: Open, tmp_path: Path) -> None:
    bad = Outcome(path="long" * 60, error=BadFile("x", "is empty"))
    page = opened(written(tmp_path, "html", SAMPLES["methods"](), bad), width=400)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_no_script_runs_on_a_page_whatever_names_say(opened: Open, tmp_path: Path) -> None:
    named = [Named("<script>document.title='run'</script><img src=x onerror=y>", 0)]
    path = Ptd(segments=[Segment(b"1")], named=named).build().write(tmp_path / "h.ptd")
    page = opened(written(tmp_path, "html", Outcome(path="h", audit=audit(path, {"*": 4096}))))
    assert page.evaluate("document.title") == "aligncheck"
    assert page.evaluate("document.querySelectorAll('script, img').length") == 0
    page.evaluate("document.body.append(Object.assign(document.createElement('img'), {src: 'x'}))")
    page.browser.wait_for("Network.loadingFailed", page.session)
    (failed,) = page.events("Network.loadingFailed")
    assert failed["blockedReason"] == "csp"
