"""XNNPACK payloads: a header, a flatbuffer, and in older ones the constant data.

Sources: ExecuTorch's backends/xnnpack/runtime/XNNCompiler.cpp, and beside it
serialization/schema.fbs (XN01) and runtime_schema.fbs (XN00): the tables here are the same in both.
"""

from __future__ import annotations

from aligncheck.formats.payloads.header import open_flatbuffer
from aligncheck.formats.source import Source
from aligncheck.formats.tables import Children, Span, Table, Text, read_root

BACKEND = "XnnpackBackend"
MAGIC = b"XH00"
IDENTIFIERS = (b"XN00", b"XN01")


class ConstantDataOffset(Table):
    named_key = Text(2)


class XNNGraph(Table):
    constant_data = Children(8, ConstantDataOffset)


def read_keys(source: Source, payload: Span) -> tuple[str, ...]:
    """The keys of the named data that a payload uses, each once, in the payload's order.

    Payloads of ExecuTorch 0.5 and before hold their constants themselves: no keys. Raises
    BadFile if the flatbuffer is damaged.
    """
    buffer = open_flatbuffer(source, payload, MAGIC, IDENTIFIERS)
    if buffer is None:
        return ()
    keys = (constant.named_key for constant in read_root(buffer, XNNGraph).constant_data)
    return tuple(dict.fromkeys(key for key in keys if key))
