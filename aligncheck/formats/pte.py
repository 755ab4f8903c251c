"""Programs (.pte): a flatbuffer with identifier ET12, in most files with an extended header.

Sources: ExecuTorch's schema/extended_header.cpp for the header, runtime/executor/program.cpp and
tensor_parser_exec_aten.cpp for what a constant is.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from aligncheck.errors import BadFile
from aligncheck.formats import payloads
from aligncheck.formats import pte_schema as schema
from aligncheck.formats.flatbuffer import Buffer
from aligncheck.formats.layout import (
    check_ends,
    dirty_padding,
    named_entries,
    read_keys,
    read_segments,
    segment_index,
)
from aligncheck.formats.source import Source
from aligncheck.formats.tables import Span, read_root
from aligncheck.model import U64, Container, Entry, Header, Segment

_MAGIC = b"eh00"
_LONGEST_PART = 256  # characters of a method's or a backend's name in the name of a delegate
_MIN_LENGTH = 24
_LENGTH_WITH_DATA_SIZE = 32


def read(source: Source) -> Container:
    """The layout of a program. Raises BadFile."""
    header, metadata_end, base = _read_header(source)
    program = read_root(Buffer(source, metadata_end), schema.Program)
    segments = read_segments(source, base, program.segments)
    reader = _Reader(source, program, segments)
    constant_segment = program.constant_segment
    return Container(
        path=source.path,
        format="pte",
        size=source.size,
        metadata_end=metadata_end,
        header=header,
        segment_base_offset=base,
        segments=segments,
        dirty_padding=dirty_padding(source, metadata_end, segments),
        entries=(
            *named_entries(*read_keys(source, program.named_data, segments)),
            *reader.constants(),
            *reader.delegates(),
        ),
        constant_segment=(
            constant_segment.segment_index
            if constant_segment and len(constant_segment.offsets.values) > 1
            else None
        ),
        mutable_segments=tuple(reader.mutable_segments()),
    )


def _read_header(source: Source) -> tuple[Header | None, int, int]:
    """The extended header, the end of the metadata and the segment base offset.

    Without a header the flatbuffer is the whole file, and there are no segments that hold data.
    """
    head = source.read(0, min(source.size, 40))
    if head[8:12] != _MAGIC:
        return None, source.size, 0
    if len(head) < 8 + _MIN_LENGTH:
        raise BadFile(source.path, f"the file ends at byte {len(head)}", place="extended header")
    length, program_size, base = struct.unpack_from("<IQQ", head, 12)
    if length < _MIN_LENGTH:
        found = f"is {length}, but a header has at least {_MIN_LENGTH} bytes"
        raise BadFile(source.path, found, place="extended header length (byte 12)")
    has_data_size = length >= _LENGTH_WITH_DATA_SIZE
    if has_data_size and len(head) < 40:
        raise BadFile(source.path, f"the file ends at byte {len(head)}", place="extended header")
    data_size = struct.unpack_from("<Q", head, 32)[0] if has_data_size else None
    data_end = base + (data_size or 0)
    check_ends(
        source,
        ("program size (byte 16)", program_size),
        ("segment base offset (byte 24)", base),
        ("segment base offset + segment data size (bytes 24 and 32)", data_end),
    )
    header = Header(
        length=length,
        base_place=24,
        data_size=data_size,
        data_size_place=32 if has_data_size else None,
    )
    return header, program_size, base


class _Constant(NamedTuple):
    """What the tensors that use a constant say of it."""

    name: str | None = None
    size: int | None = None


class _Reader:
    """Entries of one program."""

    def __init__(
        self, source: Source, program: schema.Program, segments: tuple[Segment, ...]
    ) -> None:
        self.source = source
        self.program = program
        self.segments = segments
        self.references: dict[tuple[str, Span], tuple[str, ...]] = {}
        self.unread = source.size

    def segment(self, index: int, place: str) -> Segment:
        return self.segments[segment_index(self.source, self.segments, index, place)]

    def fail(self, place: str, found: str) -> BadFile:
        return BadFile(self.source.path, found, place=place)

    def constants(self) -> Iterator[Entry]:
        """The constants in the constant segment, or of older files in the flatbuffer.

        The first of either is a placeholder: a tensor with data_buffer_idx 0 has no constant.
        """
        table = self.program.constant_segment
        if table is None or len(table.offsets.values) == 0:
            yield from self._inline_constants()
        elif len(table.offsets.values) > 1:
            if len(self.program.constant_buffer):
                raise self.fail("constant_buffer", "holds data beside constant_segment")
            yield from self._segment_constants(table)

    def _inline_constants(self) -> Iterator[Entry]:
        buffers = self.program.constant_buffer
        described = self._described() if len(buffers) > 1 else {}
        for index in range(1, len(buffers)):
            span = buffers[index].storage
            yield Entry(
                kind="constant",
                name=described.get(index, _Constant()).name or f"constant {index}",
                segment=None,
                absolute_offset=span.offset if span else None,
                size=span.size if span else 0,
            )

    def _segment_constants(self, table: schema.SubsegmentOffsets) -> Iterator[Entry]:
        segment = self.segment(table.segment_index, "constant_segment.segment_index")
        described = self._described()
        offsets = table.offsets
        for index, offset in list(enumerate(offsets.values))[1:]:
            name, size = described.get(index, _Constant())
            if offset + (size or 0) > segment.size:
                found = f"ends at {offset + (size or 0)}, but its segment has {segment.size} bytes"
                raise self.fail(f"constant_segment.offsets[{index}]", found)
            yield Entry(
                kind="constant",
                name=name or f"constant {index}",
                segment=segment.index,
                absolute_offset=segment.absolute_offset + offset,
                size=size,
                place=offsets.place(index),
            )

    def _described(self) -> dict[int, _Constant]:
        """Name and size of each constant that a tensor of any method uses."""
        found: dict[int, _Constant] = {}
        for plan in self.program.execution_plan:
            for value in plan.values:
                tensor = value.val
                if tensor is not None and tensor.data_buffer_idx and _is_constant(tensor):
                    index = tensor.data_buffer_idx
                    found[index] = _merge(found.get(index, _Constant()), tensor)
        return found

    def delegates(self) -> Iterator[Entry]:
        for plan_index, plan in enumerate(self.program.execution_plan):
            method = plan.name or f"method {plan_index}"
            short = _short(method)
            for index, delegate in enumerate(plan.delegates):
                backend = delegate.id or "unnamed backend"
                segment, span = self._payload(delegate)
                yield Entry(
                    kind="delegate",
                    name=f"{short}/delegate {index} ({_short(backend)})",
                    segment=segment,
                    absolute_offset=span.offset if span else None,
                    size=span.size if span else 0,
                    backend=backend,
                    method=method,
                    uses=self._references(backend, span),
                )

    def _references(self, backend: str, span: Span | None) -> tuple[str, ...]:
        """The keys that a payload refers to; read once where several delegates share it.

        Payloads that overlap could be a small file that is endless to read, so no more is read
        than the file has.
        """
        if span is None:
            return ()
        place = (backend, span)
        if place not in self.references:
            self.unread -= span.size
            readable = self.unread >= 0
            found = payloads.references(self.source, backend, span) if readable else ()
            self.references[place] = found
        return self.references[place]

    def _payload(self, delegate: schema.BackendDelegate) -> tuple[int | None, Span | None]:
        """A delegate's segment index, if it has one, and where its payload lies."""
        data = delegate.processed
        if data is None:
            raise self.fail(delegate.where("processed"), "is missing")
        if data.location == schema.DATA_LOCATION_SEGMENT:
            segment = self.segment(data.index, data.where("index"))
            return segment.index, Span(segment.absolute_offset, segment.size)
        if data.location != schema.DATA_LOCATION_INLINE:
            raise self.fail(
                data.where("location"), f"is {data.location}, neither inline nor segment"
            )
        inline = self.program.backend_delegate_data
        if data.index >= len(inline):
            found = f"is {data.index}, but the file has {len(inline)} inline payloads"
            raise self.fail(data.where("index"), found)
        return None, inline[data.index].data

    def mutable_segments(self) -> Iterator[int]:
        for table in self.program.mutable_data_segments:
            yield self.segment(table.segment_index, table.where("segment_index")).index


def _short(name: str) -> str:
    """A name that others are made of: a thousand names with a long one in each are too much."""
    return name if len(name) <= _LONGEST_PART else f"{name[: _LONGEST_PART - 3]}..."


def _is_constant(tensor: schema.Tensor) -> bool:
    """A planned tensor has initial values, not a constant; an external one lies in another file."""
    extra = tensor.extra_tensor_info
    external = extra is not None and extra.location == schema.TENSOR_LOCATION_EXTERNAL
    return tensor.allocation_info is None and not external


def _merge(known: _Constant, tensor: schema.Tensor) -> _Constant:
    """The first name, and the largest size: tensors of several methods may share a constant."""
    extra = tensor.extra_tensor_info
    name = known.name or (extra.fully_qualified_name if extra else None)
    element = schema.SCALAR_SIZES.get(tensor.scalar_type)
    sizes = tensor.sizes.values
    if element is None or any(size < 0 for size in sizes):
        return _Constant(name, known.size)
    return _Constant(name, max(known.size or 0, _product(element, sizes)))


def _product(element: int, sizes: Sequence[int]) -> int:
    """The size of a tensor, or if it is more than a file can have, some such size."""
    if 0 in sizes:
        return 0
    result = element
    for size in sizes:
        result *= size
        if result > U64:
            break
    return result
