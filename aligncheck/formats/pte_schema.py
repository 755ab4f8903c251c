"""The tables of a program that are read here: ExecuTorch's schema/program.fbs."""

from __future__ import annotations

from aligncheck.formats.layout import DataSegment, NamedData
from aligncheck.formats.tables import (
    I8,
    I32,
    U32,
    U64,
    Bytes,
    Child,
    Children,
    Numbers,
    Table,
    Text,
    Union,
)


class AllocationDetails(Table):
    """Present on tensors whose memory is planned; only its presence matters here."""


class ExtraTensorInfo(Table):
    fully_qualified_name = Text(1)
    location = I8(2)


class Tensor(Table):
    scalar_type = I8(0)
    sizes = Numbers(2, I32)
    data_buffer_idx = U32(5)
    allocation_info = Child(6, AllocationDetails)
    extra_tensor_info = Child(9, ExtraTensorInfo)


class EValue(Table):
    val = Union(0, Tensor, tag=5)


class BackendDelegateDataReference(Table):
    location = I8(0)
    index = U32(1)


class BackendDelegate(Table):
    id = Text(0)
    processed = Child(1, BackendDelegateDataReference)


class ExecutionPlan(Table):
    name = Text(0)
    values = Children(2, EValue)
    delegates = Children(7, BackendDelegate)


class Buffer(Table):
    storage = Bytes(0)


class BackendDelegateInlineData(Table):
    data = Bytes(0)


class SubsegmentOffsets(Table):
    segment_index = U32(0)
    offsets = Numbers(1, U64)


class Program(Table):
    version = U32(0)
    execution_plan = Children(1, ExecutionPlan)
    constant_buffer = Children(2, Buffer)
    backend_delegate_data = Children(3, BackendDelegateInlineData)
    segments = Children(4, DataSegment)
    constant_segment = Child(5, SubsegmentOffsets)
    mutable_data_segments = Children(6, SubsegmentOffsets)
    named_data = Children(7, NamedData)


DATA_LOCATION_INLINE = 0
DATA_LOCATION_SEGMENT = 1
TENSOR_LOCATION_EXTERNAL = 1

SCALAR_SIZES = {
    0: 1, 1: 1, 2: 2, 3: 4, 4: 8, 5: 2, 6: 4, 7: 8, 8: 4, 9: 8, 10: 16, 11: 1, 12: 1, 13: 1, 14: 4,
    15: 2, 22: 2, 23: 1, 24: 1, 25: 1, 26: 1, 27: 2, 28: 4, 29: 8,
}  # fmt: skip
"""Bytes an element, by ScalarType (schema/scalar_type.fbs); others are no whole bytes."""
