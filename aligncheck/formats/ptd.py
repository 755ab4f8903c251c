"""Data files (.ptd): a flatbuffer with identifier FT01 and a header that is always there.

Sources: ExecuTorch's extension/flat_tensor/serialize/flat_tensor_header.cpp for the header and
flat_tensor.fbs for the tables.
"""

from __future__ import annotations

import struct

from aligncheck.errors import BadFile
from aligncheck.formats.flatbuffer import Buffer
from aligncheck.formats.layout import (
    DataSegment,
    NamedData,
    check_ends,
    dirty_padding,
    named_entries,
    read_keys,
    read_segments,
)
from aligncheck.formats.source import Source
from aligncheck.formats.tables import U32, Children, Table, read_root
from aligncheck.model import Container, Header

_MAGIC = b"FH01"
_MIN_LENGTH = 40
_END = 8 + _MIN_LENGTH
_SLOTS = 3  # of FlatTensor since 0.7; in 0.6 the same identifier stood for another, longer table


class FlatTensor(Table):
    """The root table of a .ptd, as written since ExecuTorch 0.7."""

    version = U32(0)
    segments = Children(1, DataSegment)
    named_data = Children(2, NamedData)


def read(source: Source) -> Container:
    """The layout of a data file. Raises BadFile."""
    header, metadata_end, base = _read_header(source)
    root = read_root(Buffer(source, metadata_end), FlatTensor)
    if len(root.fields) > _SLOTS:
        raise BadFile(
            source.path,
            "is a .ptd in the layout of ExecuTorch 0.6, which is not supported",
            hint="export it again with ExecuTorch 0.7 or later",
        )
    segments = read_segments(source, base, root.segments)
    keys, owners = read_keys(source, root.named_data, segments)
    del root  # and with it the flatbuffer: a fifth of the memory that the entries take
    return Container(
        path=source.path,
        format="ptd",
        size=source.size,
        metadata_end=metadata_end,
        header=header,
        segment_base_offset=base,
        segments=segments,
        dirty_padding=dirty_padding(source, metadata_end, segments),
        entries=named_entries(keys, owners),
    )


def _read_header(source: Source) -> tuple[Header, int, int]:
    """The header, the end of the metadata and the segment base offset."""
    head = source.read(0, min(source.size, _END))
    if head[8:12] != _MAGIC:
        found = f"found {head[8:12]!r} where a .ptd has {_MAGIC!r}"
        raise BadFile(source.path, found, place="byte 8")
    if len(head) < _END:
        raise BadFile(source.path, f"the file ends at byte {len(head)}", place="header")
    length, start, size, base, data_size = struct.unpack_from("<IQQQQ", head, 12)
    if length < _MIN_LENGTH:
        found = f"is {length}, but a header has at least {_MIN_LENGTH} bytes"
        raise BadFile(source.path, found, place="header length (byte 12)")
    check_ends(
        source,
        ("flatbuffer offset + flatbuffer size (bytes 16 and 24)", start + size),
        ("segment base offset (byte 32)", base),
        ("segment base offset + segment data size (bytes 32 and 40)", base + data_size),
    )
    header = Header(length=length, base_place=32, data_size=data_size, data_size_place=40)
    return header, start + size, base
