"""What ExecuTorch's own decoders say of a file: the truth that aligncheck is held against.

Nothing here goes through aligncheck's readers. Imported without torch.
"""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.exporter.view import Delegate, Format, Named, Span, View


def decode(data: bytes) -> View:
    """Where upstream's decoders find everything in a file."""
    return _decode_ptd(data) if format_of(data) == "ptd" else _decode_pte(data)


def payloads(data: bytes) -> dict[str, bytes]:
    """The bytes that upstream's deserializers return for each key of named data."""
    if format_of(data) == "pte":
        named = _deserialized(data).named_data
        entries = named.pte_data if named else {}
    else:
        from executorch.extension.flat_tensor.serialize.serialize import FlatTensorSerializer

        named = FlatTensorSerializer().deserialize(data)
        entries = named.named_data
    return {key: bytes(named.buffers[entry.buffer_index]) for key, entry in entries.items()}


def constant_payloads(data: bytes) -> list[bytes]:
    """The bytes of each constant of a .pte, without the placeholder.

    Upstream knows only where constants start: each but the last has the padding after it.
    """
    return [bytes(buffer.storage) for buffer in _deserialized(data).program.constant_buffer[1:]]


def mutable_payloads(data: bytes) -> list[bytes]:
    """The initial states in the mutable segment of a .pte, without the placeholder."""
    return [bytes(buffer.storage) for buffer in (_deserialized(data).mutable_data or [])[1:]]


def delegate_payloads(data: bytes) -> list[bytes]:
    """The payload of each delegate of a .pte, method by method."""
    program = _deserialized(data).program
    inline = program.backend_delegate_data
    return [
        bytes(inline[delegate.processed.index].data)
        for plan in program.execution_plan
        for delegate in plan.delegates
    ]


def format_of(data: bytes) -> Format:
    """Told by upstream's file identifiers."""
    from executorch.exir._serialize.generated.executorch_flatbuffer.Program import Program

    return "pte" if Program.ProgramBufferHasIdentifier(data, 0) else "ptd"


def flatc_json(data: bytes) -> dict[str, Any]:
    """The metadata as the schema compiler sees it with the schemas that upstream ships.

    Does not go through upstream's Python decoders, and reads no header: the second opinion.
    """
    from executorch.exir._serialize._flatbuffer import _get_flatc_path

    if format_of(data) == "pte":
        schema = executorch_folder() / "schema" / "program.fbs"
    else:
        schema = executorch_folder() / "extension" / "flat_tensor" / "serialize" / "flat_tensor.fbs"
    with TemporaryDirectory() as folder:
        file = Path(folder, "file.bin")
        file.write_bytes(data)
        command: list[str | Path] = [_get_flatc_path(), "--json", "--strict-json"]
        command += ["--raw-binary", "--defaults-json", "-o", folder, schema, "--", file]
        subprocess.run(command, check=True, capture_output=True)
        content: dict[str, Any] = json.loads(Path(folder, "file.json").read_text())
    return content


def executorch_folder() -> Path:
    """Where executorch is installed; found without importing it, or torch with it."""
    spec = find_spec("executorch")
    assert spec is not None, "install the extra `executorch`"
    assert spec.submodule_search_locations is not None
    return Path(next(iter(spec.submodule_search_locations)))


def _deserialized(data: bytes) -> Any:
    from executorch.exir._serialize._program import deserialize_pte_binary

    return deserialize_pte_binary(data)


def _decode_ptd(data: bytes) -> View:
    from executorch.extension.flat_tensor.serialize.serialize import (
        FlatTensorHeader,
        _deserialize_to_flat_tensor,
    )

    header = FlatTensorHeader.from_bytes(data[8:])
    assert header.is_valid()
    end = header.flatbuffer_offset + header.flatbuffer_size
    flat_tensor = _deserialize_to_flat_tensor(data[:end])
    spans = _spans(header.segment_base_offset, flat_tensor.segments)
    return View(
        format="ptd",
        segment_base_offset=header.segment_base_offset,
        segments=spans,
        named_data=tuple(_named(spans, named) for named in flat_tensor.named_data),
    )


def _decode_pte(data: bytes) -> View:
    from executorch.exir._serialize._flatbuffer_program import _flatbuffer_to_program
    from executorch.exir._serialize._program import _get_extended_header

    header = _get_extended_header(data)
    base = header.segment_base_offset if header else 0
    metadata = data[: header.program_size] if header else data
    program = _flatbuffer_to_program(metadata)
    spans = _spans(base, program.segments)
    return View(
        format="pte",
        segment_base_offset=base,
        segments=spans,
        named_data=tuple(_named(spans, named) for named in program.named_data or ()),
        constants=tuple(_constants(program, spans)),
        delegates=tuple(_delegates(program, spans, _inline_payloads(metadata))),
        mutable_segments=tuple(s.segment_index for s in program.mutable_data_segments or ()),
    )


def _spans(base: int, segments: list[Any]) -> tuple[Span, ...]:
    return tuple(Span(base + segment.offset, segment.size) for segment in segments)


def _named(spans: tuple[Span, ...], named: Any) -> Named:
    return Named(named.key, named.segment_index, *spans[named.segment_index])


def _constants(program: Any, spans: tuple[Span, ...]) -> Iterator[Named]:
    """Constants of the constant segment: the exporter has put none elsewhere since 0.4."""
    assert not program.constant_buffer
    table = program.constant_segment
    described = _described(program)
    for index, offset in enumerate(table.offsets if table else ()):
        if index:  # The first is a placeholder.
            name, size = described.get(index, (f"constant {index}", None))
            segment = table.segment_index
            yield Named(name, segment, spans[segment].offset + offset, size)


def _described(program: Any) -> dict[int, tuple[str, int]]:
    """Name and size of each constant, by its index: from the tensor that uses it."""
    from executorch.exir.schema import Tensor, TensorDataLocation
    from executorch.exir.tensor import get_scalar_type

    described: dict[int, tuple[str, int]] = {}
    values = [value.val for plan in program.execution_plan for value in plan.values]
    for tensor in (value for value in values if isinstance(value, Tensor)):
        index, extra = tensor.data_buffer_idx, tensor.extra_tensor_info
        external = extra is not None and extra.location == TensorDataLocation.EXTERNAL
        if index and tensor.allocation_info is None and not external:
            name = extra and extra.fully_qualified_name
            size = math.prod(tensor.sizes) * get_scalar_type(tensor.scalar_type).itemsize
            described.setdefault(index, (name or f"constant {index}", size))
    return described


def _delegates(program: Any, spans: tuple[Span, ...], inline: list[Span]) -> Iterator[Delegate]:
    from executorch.exir.schema import DataLocation

    for plan in program.execution_plan:
        for delegate in plan.delegates:
            in_segment = delegate.processed.location == DataLocation.SEGMENT
            index = delegate.processed.index
            span = spans[index] if in_segment else inline[index]
            yield Delegate(plan.name, delegate.id, index if in_segment else None, *span)


def _inline_payloads(metadata: bytes) -> list[Span]:
    """Where the inline payloads lie, through the accessors that flatc generated for upstream."""
    import numpy as np
    from executorch.exir._serialize.generated.executorch_flatbuffer.Program import Program

    start = np.frombuffer(metadata, np.uint8).ctypes.data
    program = Program.GetRootAs(metadata)
    vectors = [
        program.BackendDelegateData(index).DataAsNumpy()
        for index in range(program.BackendDelegateDataLength())
    ]
    return [Span(int(vector.ctypes.data) - int(start), len(vector)) for vector in vectors]
