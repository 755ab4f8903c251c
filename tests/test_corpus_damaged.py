"""Broken and foreign files of a corpus: for each the exit status, the fault and its place.

They are in a corpus beside the project and not collected where that is missing: tests/conftest.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.cli import run
from tests.support.corpus import CORPUS


class Told(NamedTuple):
    """The exit status, and lines that are all that a quiet run says, without the file's name."""

    code: int
    lines: tuple[str, ...]


def refused(fault: str) -> Told:
    return Told(2, (fault,))


CUT = "; was it downloaded completely?"
OLD = "is a .ptd in the layout of ExecuTorch 0.6, which is not supported"
DAMAGED = {
    "empty.pte": refused("is empty"),
    "ptd_FH02.ptd": refused("byte 8: found b'FH02' where a .ptd has b'FH01'"),
    "ptd_base_wrap.ptd": refused(
        "segment base offset (byte 32): is 18446744073709551608, but the file has 760 bytes" + CUT
    ),
    "ptd_seg_past_eof.ptd": refused(
        "segments[3]: ends at byte 8589935144 (base 544 + offset 8589934592 + size 8),"
        " but the file has 760" + CUT
    ),
    "ptd_trunc.ptd": refused(
        "segment base offset + segment data size (bytes 32 and 40): is 760,"
        " but the file has 759 bytes" + CUT
    ),
    "pte_7_bytes.pte": refused("has only 7 bytes, too few for a .pte or .ptd"),
    "pte_base_inside_program.pte": Told(
        1,
        (
            "AC304 warning: bytes 1280 to 1344 belong to no segment and are not zero",
            "AC306 error: segment 1 begins at 64, but the metadata ends at 1216",
        ),
    ),
    # Line feeds became CR LF: the first place that is not any more what it was.
    "pte_crlf.pte": refused("named_data[0]: has a vtable of 0 bytes at byte 860"),
    "pte_hdr_len16.pte": refused(
        "extended header length (byte 12): is 16, but a header has at least 24 bytes"
    ),
    "pte_id_ET13.pte": refused("byte 4: the identifier is b'ET13', not ET12 (a program)"),
    "pte_named_idx_oob.pte": refused(
        "named_data[1].segment_index: is 99, but the file has 4 segments"
    ),
    "pte_prefix7.bin": refused(
        r"byte 4: the identifier is b'\x00\x00\x00<', not ET12 (a program) or FT01 (a data file)"
    ),
    "pte_root_oob.pte": refused(
        "root table: points to bytes 2147483647 to 2147483651, outside the first 1216"
    ),
    "pte_seg_overlap.pte": Told(1, ("AC301 error: segment 3 begins at 2448, inside segment 2",)),
    "pte_segsize_huge.pte": refused(
        "segments[3]: ends at byte 1099511630336 (base 1280 + offset 1280 + size 1099511627776),"
        " but the file has 2592" + CUT
    ),
    # Bytes after the last segment are legal.
    "pte_trailing_4096.pte": Told(0, ()),
    "pte_trunc_1_byte.pte": refused(
        "segment base offset + segment data size (bytes 24 and 32): is 2592,"
        " but the file has 2591 bytes" + CUT
    ),
    "pte_trunc_flatbuffer.pte": refused(
        "program size (byte 16): is 1216, but the file has 700 bytes" + CUT
    ),
}
FOREIGN = {
    "bundled-program.bpte": refused(
        "is a bundled program, which is not supported; audit the .pte it was made from"
    ),
    "git-lfs-pointer.pte": refused("is a Git LFS pointer, not the model; run `git lfs pull`"),
    "legacy-0.6-linear.ptd": refused(OLD + "; export it again with ExecuTorch 0.7 or later"),
    "not-a-pte.pte": refused(
        "byte 4: the identifier is b'A_PT', not ET12 (a program) or FT01 (a data file)"
    ),
    "text-placeholder.pte": refused("is text, not a .pte or .ptd"),
    "zip-renamed.pte": refused(
        "is a zip archive (a TorchScript or torch.save file?); export it to .pte"
    ),
}


def told(path: Path) -> Told:
    """What a quiet run over one file says."""
    ran = run("-q", "--isolated", "--no-sidecar", path)
    lines = (ran.out + ran.err).splitlines()
    names = (f"{path}: ", f"aligncheck: {path}: ")
    assert all(line.startswith(names) for line in lines)
    return Told(ran.code, tuple(line.partition(f"{path}: ")[2] for line in lines))


def test_the_table_is_about_every_damaged_file() -> None:
    assert sorted(DAMAGED) == sorted(path.name for path in (CORPUS / "damaged").iterdir())


@pytest.mark.parametrize(("name", "expected"), DAMAGED.items(), ids=list(DAMAGED))
def test_a_damaged_file_is_told_by_its_fault_and_the_place(name: str, expected: Told) -> None:
    assert told(CORPUS / "damaged" / name) == expected


@pytest.mark.parametrize(("name", "expected"), FOREIGN.items(), ids=list(FOREIGN))
def test_a_foreign_file_among_the_real_ones_is_called_by_its_name(
    name: str, expected: Told
) -> None:
    assert told(CORPUS / "real" / name) == expected


REAL = sorted(path.name for path in (CORPUS / "real").iterdir() if path.name not in FOREIGN)


@pytest.mark.parametrize("name", REAL)
def test_every_other_real_file_is_audited(name: str) -> None:
    # A violation of what a backend is only said to want is a warning.
    ran = run("-q", "--isolated", "--no-sidecar", CORPUS / "real" / name)
    assert (ran.code, ran.err) == (0, "")
