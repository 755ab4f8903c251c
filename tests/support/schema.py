"""The tables of program.fbs and flat_tensor.fbs, as trees for tests/support/flat.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.support.flat import Bytes, Node, Number, Numbers, Table, Tables, Text
from tests.support.spec import Delegate, Method, Named, Offsets, Segment, Tensor

__all__ = ["Bytes", "Node", "Nodes", "Numbers", "data_segments", "flat_tensor", "program"]

_TENSOR_TAG = 5
_INT_TAG = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """A root table, and those of its nodes whose place matters."""

    root: Table
    segment_offsets: Sequence[Number]
    segment_sizes: Sequence[Number]
    constant_offsets: Numbers | None = None
    inline_constants: Sequence[Bytes | None] = ()
    inline_delegates: Sequence[Bytes | None] = ()


@dataclass(frozen=True, slots=True)
class DataSegments:
    """The `DataSegment` tables with their nodes."""

    tables: Tables
    offsets: list[Number]
    sizes: list[Number]


def data_segments(segments: Sequence[Segment], offsets: Sequence[int]) -> DataSegments:
    starts = [Number("U64", offset) for offset in offsets]
    sizes = [Number("U64", segment.claimed_size) for segment in segments]
    pairs = zip(starts, sizes, strict=True)
    return DataSegments(Tables([Table({0: a, 1: b}) for a, b in pairs]), starts, sizes)


def flat_tensor(segments: DataSegments, named: Sequence[Named]) -> Nodes:
    root = Table({0: Number("U32", 0), 1: segments.tables, 2: _named_data(named)})
    return Nodes(root=root, segment_offsets=segments.offsets, segment_sizes=segments.sizes)


def program(
    *,
    segments: DataSegments,
    named: Sequence[Named],
    methods: Sequence[Method],
    constants: Offsets | None,
    mutable: Sequence[Offsets],
    inline_constants: Sequence[bytes | None],
    inline_delegates: Sequence[bytes | None],
) -> Nodes:
    constant_vectors = [None if data is None else Bytes(data) for data in inline_constants]
    delegate_vectors = [None if data is None else Bytes(data) for data in inline_delegates]
    constant_offsets = Numbers("U64", constants.offsets) if constants else None
    root = Table(
        {
            0: Number("U32", 0),
            1: Tables([_method(method) for method in methods]),
            2: Tables([Table({0: vector}) for vector in constant_vectors]),
            3: Tables([Table({0: vector}) for vector in delegate_vectors]),
            4: segments.tables,
            5: _subsegments(constants, constant_offsets) if constants else None,
            6: Tables([_subsegments(m, Numbers("U64", m.offsets)) for m in mutable])
            if mutable
            else None,
            7: _named_data(named) if named else None,
        }
    )
    return Nodes(
        root=root,
        segment_offsets=segments.offsets,
        segment_sizes=segments.sizes,
        constant_offsets=constant_offsets,
        inline_constants=constant_vectors,
        inline_delegates=delegate_vectors,
    )


def _named_data(named: Sequence[Named]) -> Tables:
    return Tables([Table({0: _text(item.key), 1: Number("U32", item.segment)}) for item in named])


def _subsegments(item: Offsets, offsets: Numbers | None) -> Table:
    return Table({0: Number("U32", item.segment), 1: offsets})


def _method(method: Method) -> Table:
    empty = Numbers("I32", [])
    return Table(
        {
            0: _text(method.name),
            1: Table({0: Text(""), 1: Text("")}),
            2: Tables([_value(value) for value in method.values]),
            3: empty,
            4: empty,
            5: Tables([]),
            6: Tables([]),
            7: Tables([_delegate(delegate) for delegate in method.delegates]),
            8: Numbers("U64", [0]),
        }
    )


def _delegate(delegate: Delegate) -> Table:
    index = delegate.inline if delegate.segment is None else delegate.segment
    reference = Table({0: Number("I8", delegate.stored_location), 1: Number("U32", index or 0)})
    processed = reference if delegate.processed else None
    return Table({0: _text(delegate.backend), 1: processed, 2: Tables([])})


def _value(value: Tensor | None) -> Table:
    if value is None:
        return Table({0: Number("U8", _INT_TAG), 1: Table({0: Number("U64", 1)})})
    return Table({0: Number("U8", _TENSOR_TAG), 1: _tensor(value)})


def _tensor(tensor: Tensor) -> Table:
    name = None if tensor.name is None else Text(tensor.name)
    extra = Table({0: Number("U64", 0), 1: name, 2: Number("I8", int(tensor.external))})
    return Table(
        {
            0: Number("I8", tensor.scalar_type),
            2: Numbers("I32", tensor.sizes),
            3: Numbers("U8", range(len(tensor.sizes))),
            5: Number("U32", tensor.buffer),
            6: Table({0: Number("U32", 0)}) if tensor.planned else None,
            9: extra if tensor.name is not None or tensor.external else None,
        }
    )


def _text(text: str | bytes | None) -> Text | None:
    return None if text is None else Text(text)
