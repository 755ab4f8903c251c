"""Vulkan payloads: a header, a flatbuffer, and in older ones the constant data.

The WebGPU runtime reads the same payloads, under the same backend id.

Sources: ExecuTorch's backends/vulkan/runtime/VulkanBackend.cpp and serialization/schema.fbs.
"""

from __future__ import annotations

from aligncheck.formats.payloads.header import open_flatbuffer
from aligncheck.formats.source import Source
from aligncheck.formats.tables import Children, Span, Table, Text, read_root

BACKEND = "VulkanBackend"
MAGIC = b"VH00"
IDENTIFIERS = (b"VK00",)


class VkBytes(Table):
    named_key = Text(2)


class VkGraph(Table):
    constants = Children(5, VkBytes)


def read_keys(source: Source, payload: Span) -> tuple[str, ...]:
    """The keys of the named data that a payload uses, each once, in the payload's order.

    Payloads of ExecuTorch 0.7 and before hold their constants themselves: no keys. Raises
    BadFile if the flatbuffer is damaged.
    """
    buffer = open_flatbuffer(source, payload, MAGIC, IDENTIFIERS)
    if buffer is None:
        return ()
    keys = (constant.named_key for constant in read_root(buffer, VkGraph).constants)
    return tuple(dict.fromkeys(key for key in keys if key))
