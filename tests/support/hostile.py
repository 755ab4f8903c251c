"""What must hold for every file there is, sound or damaged: the properties of all fuzzing.

What a fix has to keep is told by a second reader, which shares no code with aligncheck.
"""

from __future__ import annotations

import struct
from pathlib import Path

from flatbuffers import encode, number_types
from flatbuffers.table import Table

from aligncheck import Audit, BadFile, FixError, audit, fix, plan
from aligncheck.outcome import Outcome
from tests.support.reports import REPORTS

REQUESTS = {"*": 256}
SEGMENTS = 48
"""A wish for every segment that is no power of two, so that a fix has something to do."""
LONGEST_MESSAGE = 10_000


def audited(path: Path) -> Audit | None:
    """The audit of whatever is there; None if it is refused, as it may be, in one line."""
    try:
        return audit(path, REQUESTS, segment_alignment=SEGMENTS, sidecar=False)
    except BadFile as error:
        check_message(error)
        return None


def check_message(error: BadFile) -> None:
    assert error.found
    assert len(str(error)) < LONGEST_MESSAGE
    assert "\n" not in error.reason


def check_reports(path: Path, audited: Audit) -> None:
    """Every report can be made, of the audit and of what a fix would do."""
    outcomes = [Outcome(path=str(path), audit=audited, plan=plan(audited))]
    for name, report in REPORTS.items():
        lines = report(outcomes).split("\n")
        assert all(line.isprintable() for line in lines), name


def check_fix(path: Path) -> bool:
    """A fix gives up and changes nothing, or gives a file with all that was there: True."""
    before = path.read_bytes()
    output = path.with_name(path.name + ".fixed")
    try:
        fix(path, REQUESTS, segment_alignment=SEGMENTS, sidecar=False, output=output)
    except FixError as error:
        check_message(error)
        assert not output.exists()
        return False
    finally:
        assert path.read_bytes() == before
    after = output.read_bytes()
    output.unlink()
    check_nothing_lost(before, after)
    return True


def check_nothing_lost(before: bytes, after: bytes) -> None:
    """Nothing but zeros came or went, and each segment has its bytes."""
    end = metadata_end(before)
    assert len(after) >= len(before)
    assert after[end:].replace(b"\0", b"") == before[end:].replace(b"\0", b"")
    old, new = segments(before), segments(after)
    assert len(old) == len(new)
    for was, now in zip(old, new, strict=True):
        # A constant segment may grow, where padding is put between its constants.
        assert before[was].rstrip(b"\0") == after[now].rstrip(b"\0") or _holds_constants(
            before, was, after, now
        )


def _holds_constants(before: bytes, was: slice, after: bytes, now: slice) -> bool:
    return after[now].replace(b"\0", b"") == before[was].replace(b"\0", b"")


def metadata_end(data: bytes) -> int:
    """Where the flatbuffer ends, by the header."""
    if data[8:12] == b"FH01":
        return int(sum(struct.unpack_from("<QQ", data, 16)))
    return int(struct.unpack_from("<Q", data, 16)[0]) if data[8:12] == b"eh00" else len(data)


def segments(data: bytes) -> list[slice]:
    """Where the segments that hold data lie, by the flatbuffers package's own accessors."""
    is_ptd = data[8:12] == b"FH01"
    base = struct.unpack_from("<Q", data, 32 if is_ptd else 24)[0] if len(data) >= 40 else 0
    root = Table(bytearray(data), encode.Get(encode.packer.uoffset, data, 0))
    field = root.Offset(6 if is_ptd else 12)
    found = []
    for index in range(root.VectorLen(field) if field else 0):
        at = root.Indirect(root.Vector(field) + 4 * index)
        start, size = (_number(Table(root.Bytes, at), slot) for slot in (4, 6))
        if size:
            found.append(slice(base + start, base + start + size))
    return found


def _number(table: Table, slot: int) -> int:
    field = table.Offset(slot)
    return int(table.Get(number_types.Uint64Flags, field + table.Pos)) if field else 0
