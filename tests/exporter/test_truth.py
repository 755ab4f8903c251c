"""Three who do not know aligncheck agree with it on the samples: flatc, upstream's decoders, and
the official runtime. And what that runtime says of the layouts that aligncheck remarks on.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from aligncheck import audit
from aligncheck.formats import read_container
from tests.data.make import sample_files
from tests.exporter import upstream
from tests.exporter.models import MODELS
from tests.exporter.view import view_of
from tests.support.build import Built, Method, Named, Offsets, Ptd, Pte, Segment, patched
from tests.support.cli import python

pytestmark = pytest.mark.exporter

every_sample = pytest.mark.parametrize("path", sample_files(), ids=lambda path: path.name)
DATA = Path(__file__).parents[1] / "data"
PROGRAMS = sorted(DATA / f"{name}.pte" for name in MODELS)
STORES = [p for p in sample_files() if p.suffix == ".pte" and p not in PROGRAMS]
DATA_FILES = [path for path in sample_files() if path.suffix == ".ptd"]


def load(program: Path, data: Path | None = None) -> set[str]:
    """The methods of a program, loaded with the strictest verification that the runtime has."""
    from executorch.extension.pybindings import portable_lib

    strict = portable_lib.Verification.InternalConsistency
    path = None if data is None else str(data)
    module = portable_lib._load_for_executorch(str(program), path, program_verification=strict)
    return set(module.method_names())


@every_sample
def test_upstreams_decoders_see_everything_where_it_is_seen_here(path: Path) -> None:
    assert view_of(read_container(str(path))) == upstream.decode(path.read_bytes())


@every_sample
def test_flatc_sees_the_same_segments_and_keys(path: Path) -> None:
    content = upstream.flatc_json(path.read_bytes())
    container = read_container(str(path))
    stored = [(s["offset"], s["size"]) for s in content["segments"]]
    assert [(s.offset, s.size) for s in container.segments] == stored
    named = [(n["key"], n["segment_index"]) for n in content.get("named_data", ())]
    found = [e for e in container.entries if e.kind == "named_data"]
    assert [(e.name, e.segment) for e in found] == named


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_flatc_sees_the_same_delegates_and_constants(path: Path) -> None:
    content = upstream.flatc_json(path.read_bytes())
    container = read_container(str(path))
    delegates = [
        (plan["name"], delegate["id"], delegate["processed"].get("location", "INLINE"))
        for plan in content["execution_plan"]
        for delegate in plan["delegates"]
    ]
    ours = [e for e in container.entries if e.kind == "delegate"]
    places = ["INLINE" if e.segment is None else "SEGMENT" for e in ours]
    assert list(zip((e.method for e in ours), (e.backend for e in ours), places, strict=True)) == (
        delegates
    )
    assert _constant_offsets(container) == content["constant_segment"]["offsets"][1:]


def _constant_offsets(container: Any) -> list[int]:
    if container.constant_segment is None:
        return []
    start = container.segments[container.constant_segment].absolute_offset
    return [e.absolute_offset - start for e in container.entries if e.kind == "constant"]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_the_runtime_finds_the_methods_that_are_seen_here(path: Path) -> None:
    entries = read_container(str(path)).entries
    content = upstream.flatc_json(path.read_bytes())
    methods = load(path)
    assert methods == {plan["name"] for plan in content["execution_plan"]}
    assert {entry.method for entry in entries if entry.kind == "delegate"} <= methods


@pytest.mark.parametrize("path", DATA_FILES, ids=lambda path: path.name)
def test_the_runtime_opens_every_data_file(path: Path) -> None:
    # Data files are opened with a program, when that is.
    assert load(DATA / "external.pte", path) == {"forward"}


@pytest.mark.parametrize("path", STORES, ids=lambda path: path.name)
def test_a_store_without_a_method_is_no_program_to_the_runtime(path: Path) -> None:
    # Such files test the reader; what the runtime makes of the same layout is shown below.
    with pytest.raises(RuntimeError, match="error: 0x23"):
        load(path)


class Odd(NamedTuple):
    """A layout that is odd: what it is built of."""

    segments: tuple[Segment, ...]
    keys: tuple[str, str] = ("a", "b")
    patch: tuple[int, bytes] | None = None

    def build(self, suffix: str) -> Built:
        first, second = self.keys
        named = [Named(first, 1), Named(second, 2)]
        if suffix == "ptd":
            return Ptd(segments=self.segments, named=named, base=512).build()
        return Pte(
            segments=self.segments,
            named=named,
            base=512,
            constants=Offsets(0, [0, 0]),
            methods=[Method("forward")],
        ).build()

    def write(self, path: Path) -> Path:
        built = self.build(path.suffix[1:])
        data = built.data
        if self.patch is not None:
            at, new = self.patch
            shift = 8 if path.suffix == ".ptd" and at < 64 else 0
            data = patched(data, at + shift, new)
        path.write_bytes(data)
        return path


ZEROS, A, B = Segment(bytes(64), offset=0), Segment(b"a" * 64, offset=64), Segment(b"b" * 64, 128)
APART = Segment(b"b" * 64, offset=256)
ODD = {
    "AC301": Odd((ZEROS, A, Segment(b"a" * 32, offset=80))),
    "AC302": Odd((ZEROS, B, A)),
    "AC303": Odd((ZEROS, A, B), keys=("a", "a")),
    "AC304": Odd((ZEROS, A, APART), patch=(512 + 128, b"x")),
    "AC305": Odd((ZEROS, A, B), patch=(32, (100).to_bytes(8, "little"))),
    "AC306": Odd((ZEROS, A, B), patch=(24, (64).to_bytes(8, "little"))),
}
REFUSED = {("AC303", "ptd")}
"""The runtime's map of all named data takes no key twice, but looks only into data files."""


@pytest.mark.parametrize("suffix", ["pte", "ptd"])
@pytest.mark.parametrize("rule", ODD)
def test_which_odd_layouts_the_runtime_refuses(tmp_path: Path, rule: str, suffix: str) -> None:
    path = ODD[rule].write(tmp_path / f"odd.{suffix}")
    assert {remark.rule for remark in audit(path).remarks} == {rule}
    program, data = (DATA / "external.pte", path) if suffix == "ptd" else (path, None)
    if (rule, suffix) in REFUSED:
        with pytest.raises(RuntimeError, match="error: 0x12"):
            load(program, data)
    else:
        assert load(program, data) == {"forward"}


@pytest.mark.parametrize("suffix", ["pte", "ptd"])
def test_the_same_layout_without_anything_odd_is_loaded(tmp_path: Path, suffix: str) -> None:
    # Else what is refused above could be refused for something else.
    path = Odd((ZEROS, A, B)).write(tmp_path / f"sound.{suffix}")
    assert audit(path).remarks == ()
    program, data = (DATA / "external.pte", path) if suffix == "ptd" else (path, None)
    assert load(program, data) == {"forward"}


def test_where_upstream_reads_a_damaged_file_all_offsets_agree() -> None:
    ran = python("-m", "tests.fuzz.agree", "--count", "1500")
    assert ran.code == 0, ran.err
    result = json.loads(ran.lines[-1])
    assert result["differ"] == []
    assert result["both"] > 200
