"""Files broken in one known way each: exit status, and a message with the fault and its place."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.build import Built, Named, Ptd, Pte, Segment, patched
from tests.support.cli import run

SEGMENTS = (Segment(), Segment(b"a" * 100), Segment(b"b" * 100), Segment(b"c" * 100))
NAMED = (Named("first", 1), Named("second", 2))
PTE = Pte(segments=SEGMENTS, named=NAMED).build()
PTD = Ptd(segments=SEGMENTS, named=NAMED).build()
PTE_END, PTD_END = len(PTE.data), len(PTD.data)
BASE = PTE.base
CUT = "; was it downloaded completely?"


class Case(NamedTuple):
    """A broken file, and what a quiet run says of it: the exit status and all its lines."""

    data: bytes
    code: int
    lines: tuple[str, ...]


def refused(data: bytes, fault: str) -> Case:
    return Case(data, 2, (fault,))


def with_number(built: Built, at: int | None, number: int, width: int = 8) -> bytes:
    return patched(built.data, at, number.to_bytes(width, "little"))


def _segment(start: int, size: int, end: int, file: int, base: int) -> str:
    return (
        f"segments[3]: ends at byte {end} (base {base} + offset {start} + size {size}),"
        f" but the file has {file}{CUT}"
    )


def _index_outside() -> bytes:
    named = (Named("first", 1), Named("second", 99))
    return Pte(segments=SEGMENTS, named=named).build().data


def _overlapping() -> bytes:
    inside = PTE.segments[2].offset - BASE + 64
    return with_number(PTE, PTE.offset_places[3], inside)


BROKEN = {
    "nothing": refused(b"", "is empty"),
    "7 bytes": refused(PTE.data[:7], "has only 7 bytes, too few for a .pte or .ptd"),
    "7 bytes before it": refused(
        bytes(6) + b"!" + PTE.data,
        rf"byte 4: the identifier is {(bytes(2) + b'!' + PTE.data[:1])!r},"
        " not ET12 (a program) or FT01 (a data file)",
    ),
    "another version": refused(
        patched(PTE.data, 4, b"ET13"), "byte 4: the identifier is b'ET13', not ET12 (a program)"
    ),
    "another header": refused(
        patched(PTD.data, 8, b"FH02"), "byte 8: found b'FH02' where a .ptd has b'FH01'"
    ),
    "a short header": refused(
        with_number(PTE, 12, 16, width=4),
        "extended header length (byte 12): is 16, but a header has at least 24 bytes",
    ),
    "a root outside": refused(
        with_number(PTE, 0, 2**31 - 1, width=4),
        "root table: points to bytes 2147483647 to 2147483651,"
        f" outside the first {PTE.metadata_end}",
    ),
    "a program cut": refused(
        PTE.data[: PTE.metadata_end - 1],
        f"program size (byte 16): is {PTE.metadata_end},"
        f" but the file has {PTE.metadata_end - 1} bytes{CUT}",
    ),
    "a program without its last byte": refused(
        PTE.data[:-1],
        f"segment base offset + segment data size (bytes 24 and 32): is {PTE_END},"
        f" but the file has {PTE_END - 1} bytes{CUT}",
    ),
    "data without their last byte": refused(
        PTD.data[:-1],
        f"segment base offset + segment data size (bytes 32 and 40): is {PTD_END},"
        f" but the file has {PTD_END - 1} bytes{CUT}",
    ),
    "a base that wraps": refused(
        with_number(PTD, 32, 2**64 - 8),
        f"segment base offset (byte 32): is {2**64 - 8}, but the file has {PTD_END} bytes{CUT}",
    ),
    "a segment after the end": refused(
        with_number(PTD, PTD.offset_places[3], 2**33),
        _segment(2**33, 100, PTD.base + 2**33 + 100, PTD_END, PTD.base),
    ),
    "a segment of a tebibyte": refused(
        with_number(PTE, PTE.size_places[3], 2**40),
        _segment(256, 2**40, BASE + 256 + 2**40, PTE_END, BASE),
    ),
    "an index outside": refused(
        _index_outside(), "named_data[1].segment_index: is 99, but the file has 4 segments"
    ),
    "an overlap": Case(
        _overlapping(),
        1,
        (f"AC301 error: segment 3 begins at {PTE.segments[2].offset + 64}, inside segment 2",),
    ),
    "a base in the metadata": Case(
        with_number(PTE, 24, 64),
        1,
        (
            f"AC306 error: segment 1 begins at 64, but the metadata ends at {PTE.metadata_end}",
            f"AC306 error: segment 2 begins at 192, but the metadata ends at {PTE.metadata_end}",
        ),
    ),
    "bytes after the end": Case(PTE.data + bytes(range(256)), 0, ()),
}


@pytest.mark.parametrize("case", BROKEN.values(), ids=list(BROKEN))
def test_a_broken_file_is_told_by_its_fault_and_the_place(tmp_path: Path, case: Case) -> None:
    path = tmp_path / "broken.pte"
    path.write_bytes(case.data)
    ran = run("-q", "--isolated", path)
    shown = [line.partition(f"{path}: ")[2] for line in (ran.out + ran.err).splitlines()]
    assert (ran.code, tuple(shown)) == (case.code, case.lines)


def test_a_transfer_in_text_mode_is_noticed(tmp_path: Path) -> None:
    # As many line feeds as there are, so that it does not hang on one place.
    named = [Named("line\nfeeds\n" * 4, 1), Named("second", 2)]
    built = Pte(segments=SEGMENTS, named=named).build()
    path = tmp_path / "crlf.pte"
    path.write_bytes(built.data.replace(b"\n", b"\r\n"))
    ran = run("-q", "--isolated", path)
    assert ran.code == 2
    assert len(ran.err.splitlines()) == 1


@pytest.mark.parametrize("number", [struct.unpack("<I", b"eh00")[0], 0, 2**32 - 1])
def test_a_header_length_that_is_anything_is_no_crash(tmp_path: Path, number: int) -> None:
    path = tmp_path / "length.pte"
    path.write_bytes(with_number(PTE, 12, number, width=4))
    # Longer than known is legal: what a header holds beyond 40 bytes is not read.
    assert run("-q", "--isolated", path).code == (2 if number < 24 else 0)
