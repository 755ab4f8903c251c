"""The header that XNNPACK and Vulkan put before their flatbuffers; both have the same 30 bytes.

    bytes  0..3   zero, so that the magic is where a flatbuffer has its file identifier
    bytes  4..7   magic
    bytes  8..9   u16 length of the header
    bytes 10..13  u32 offset of the flatbuffer, from the payload's start as the next offset is
    bytes 14..17  u32 size of the flatbuffer
    bytes 18..21  u32 offset of the constant data
    bytes 22..29  u64 size of the constant data

Sources: ExecuTorch's backends/xnnpack/runtime/XNNHeader.cpp and
backends/vulkan/runtime/VulkanDelegateHeader.cpp.
"""

from __future__ import annotations

import struct
from collections.abc import Collection

from aligncheck.formats.flatbuffer import Buffer
from aligncheck.formats.source import Source
from aligncheck.formats.tables import Span

_HEADER = struct.Struct("<4x4sHIIIQ")
_MIN_FLATBUFFER = 8
"""The offset of the root table and the file identifier."""


def open_flatbuffer(
    source: Source, payload: Span, magic: bytes, identifiers: Collection[bytes]
) -> Buffer | None:
    """The flatbuffer in a payload, the span of which (absolute, in bytes) is inside the file.

    None if there is no such header, if what it points to is not in the payload, or if the file
    identifier is another one. Raises BadFile if the file cannot be read.
    """
    flatbuffer = _locate(source, payload, magic)
    if flatbuffer is None or source.read(flatbuffer.offset + 4, 4) not in identifiers:
        return None
    return Buffer(source, end=flatbuffer.size, start=flatbuffer.offset)


def _locate(source: Source, payload: Span, magic: bytes) -> Span | None:
    """Where the flatbuffer lies, by a header that passes what both runtimes check."""
    if payload.size < _HEADER.size:
        return None
    found, length, start, size, data_start, data_size = _HEADER.unpack(
        source.read(payload.offset, _HEADER.size)
    )
    in_order = _HEADER.size <= length <= start and start + size <= data_start
    inside = data_start + data_size <= payload.size
    if found != magic or size < _MIN_FLATBUFFER or not in_order or not inside:
        return None
    return Span(payload.offset + start, size)
