"""The least that can be done: the keys and segment indexes of a .ptd, read without a check."""

from __future__ import annotations

import struct


def read(path: str) -> list[tuple[str, int]]:
    """Key and segment index of each named datum."""
    with open(path, "rb") as stream:
        start, size = struct.unpack_from("<16xQQ", stream.read(48))
        stream.seek(0)
        data = stream.read(start + size)
    u32, i32, u16 = (struct.Struct(kind).unpack_from for kind in ("<I", "<i", "<H"))
    root = u32(data, 0)[0]
    field = root + u16(data, root - i32(data, root)[0] + 8)[0]
    vector = field + u32(data, field)[0]
    result = []
    for place in range(vector + 4, vector + 4 + 4 * u32(data, vector)[0], 4):
        table = place + u32(data, place)[0]
        vtable = table - i32(data, table)[0]
        key = table + u16(data, vtable + 4)[0]
        text = key + u32(data, key)[0]
        index = u16(data, vtable + 6)[0]
        name = data[text + 4 : text + 4 + u32(data, text)[0]].decode()
        result.append((name, u32(data, table + index)[0] if index else 0))
    return result
