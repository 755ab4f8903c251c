"""Files to measure with: .ptd files with any number of entries, of any size, made in no time.

The data is a hole in a sparse file, unless it is asked to be there.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

_VTABLES = struct.pack("<5H6x", 10, 12, 0, 4, 8) + struct.pack(
    "<12H", *(8, 24, 8, 16), *(8, 16, 0, 8), *(8, 12, 4, 8)
)
_HEADER = 48
_ROOT_VTABLE, _SEGMENT, _FIRST_SEGMENT, _NAMED = 48, 64, 72, 80


def data_file(
    path: Path,
    entries: int,
    *,
    segments: int | None = None,
    segment_size: int = 16,
    base: int = 0,
) -> Path:
    """A .ptd with `entries` names, two for each segment; segments lie at multiples of 128.

    `base` is added to the segment base offset, which else is the next multiple of 128.
    """
    segments = segments or max(1, entries // 2)
    out = bytearray(_HEADER) + bytearray(_VTABLES) + bytearray(4)
    root = len(out)
    out += struct.pack("<iII", root - _ROOT_VTABLE, 0, 0)
    stride = -(-segment_size // 128) * 128
    _vector(out, root + 4, [_segment(i, stride, segment_size) for i in range(segments)])
    _vector(out, root + 8, [_named(i, segments) for i in range(entries)])
    _finish(path, out, root, base, stride * (segments - 1) + segment_size)
    return path


def _segment(index: int, stride: int, size: int) -> tuple[int, bytes]:
    if index == 0:  # an offset of 0 is not stored
        return _FIRST_SEGMENT, struct.pack("<IQ", 0, size)
    return _SEGMENT, struct.pack("<IQQ", 0, stride * index, size)


def _named(index: int, segments: int) -> tuple[int, bytes]:
    key = b"model.layers.%07d.weight" % index
    text = struct.pack("<I", len(key)) + key + b"\0"
    return _NAMED, struct.pack("<II", 8, index % segments) + text


def _vector(out: bytearray, field: int, tables: list[tuple[int, bytes]]) -> None:
    """Appends a vector of tables, each given as its vtable and what follows the offset to it."""
    start = len(out)
    struct.pack_into("<I", out, field, start - field)
    out += struct.pack("<I", len(tables)) + bytes(4 * len(tables))
    for index, (vtable, content) in enumerate(tables):
        out += bytes(-len(out) % 8)
        place = start + 4 + 4 * index
        struct.pack_into("<I", out, place, len(out) - place)
        out += struct.pack("<i", len(out) - vtable) + content
    out += bytes(-len(out) % 8)


def _finish(path: Path, out: bytearray, root: int, base: int, size: int) -> None:
    start = -(-len(out) // 128) * 128 + base
    header = (root, b"FT01", b"FH01", 40, _HEADER, len(out) - _HEADER, start, size)
    struct.pack_into("<I4s4sIQQQQ", out, 0, *header)
    path.write_bytes(out)
    os.truncate(path, start + size)


def fill(path: Path) -> None:
    """Writes data into the holes, so that copying is work."""
    block = os.urandom(1 << 20)
    size = path.stat().st_size
    with path.open("r+b") as stream:
        for at in range(1 << 20, size, 1 << 20):
            stream.seek(at)
            stream.write(block[: size - at])
