"""Small .pte and .ptd files, written by ExecuTorch's own serializers. Imported without torch.

`store` writes a named data store in either format, `program` a .pte with all that it may hold.
`MATRIX` are the stores that show the reported bug and its controls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from tests.exporter.view import Format


class Registration(NamedTuple):
    """One call of `NamedDataStore.add_named_data`."""

    key: str
    data: bytes
    alignment: int


class Payload(NamedTuple):
    """A delegate: the backend's name, and the bytes that it made of its part of the model."""

    backend: str
    data: bytes


def store(
    registrations: Sequence[Registration], container: Format, *, segment_alignment: int = 128
) -> bytes:
    """A file that holds what was registered, in that order, and nothing else."""
    if container == "pte":
        return program(named=registrations, segment_alignment=segment_alignment)
    from executorch.exir._serialize.data_serializer import DataPayload
    from executorch.extension.flat_tensor.serialize.serialize import (
        FlatTensorConfig,
        FlatTensorSerializer,
    )

    output = _registered(registrations)
    serializer = FlatTensorSerializer(FlatTensorConfig(segment_alignment=segment_alignment))
    return bytes(serializer.serialize(DataPayload(output.buffers, output.pte_data)))


def program(
    *,
    named: Sequence[Registration] = (),
    constants: Mapping[str, bytes] | None = None,
    mutable: Sequence[bytes] = (),
    methods: Mapping[str, Sequence[Payload]] | None = None,
    delegates_in_segments: bool = True,
    segment_alignment: int = 128,
) -> bytes:
    """A program whose methods do nothing but own delegates.

    `constants` are the first method's tensors, by fully qualified name; `mutable` are the initial
    states in the mutable segment. Equal payloads of several delegates get one segment.
    """
    from executorch.exir._serialize._program import PTEFile, serialize_pte_binary
    from executorch.exir.schema import Buffer

    file = PTEFile(
        program=_program(methods or {"forward": ()}, constants or {}),
        mutable_data=[Buffer(b""), *map(Buffer, mutable)] if mutable else None,
        named_data=_registered(named) if named else None,
    )
    binary = serialize_pte_binary(
        file,
        extract_delegate_segments=delegates_in_segments,
        segment_alignment=segment_alignment,
    )
    return bytes(binary)


def _registered(registrations: Sequence[Registration]) -> Any:
    from executorch.exir._serialize._named_data_store import NamedDataStore

    data_store = NamedDataStore()
    for registration in registrations:
        data_store.add_named_data(*registration)
    return data_store.get_named_data_store_output()


def _program(methods: Mapping[str, Sequence[Payload]], constants: Mapping[str, bytes]) -> Any:
    from executorch.exir.schema import (
        BackendDelegateInlineData,
        Buffer,
        Program,
        SubsegmentOffsets,
    )

    payloads = [payload for delegates in methods.values() for payload in delegates]
    plans: list[Any] = []
    first = 0
    for name, delegates in methods.items():
        plans.append(_plan(name, delegates, first))
        first += len(delegates)
    plans[0].values = [_tensor(index, *item) for index, item in enumerate(constants.items(), 1)]
    return Program(
        version=0,
        execution_plan=plans,
        # The first buffer is a placeholder: a tensor with index 0 has no constant.
        constant_buffer=[Buffer(b""), *map(Buffer, constants.values())] if constants else [],
        backend_delegate_data=[BackendDelegateInlineData(payload.data) for payload in payloads],
        segments=[],
        constant_segment=SubsegmentOffsets(segment_index=0, offsets=[]),
    )


def _plan(name: str, delegates: Sequence[Payload], first: int) -> Any:
    """A method; `first` is the index of its first delegate's payload in the program."""
    from executorch.exir.schema import (
        BackendDelegate,
        BackendDelegateDataReference,
        ContainerMetadata,
        DataLocation,
        ExecutionPlan,
    )

    return ExecutionPlan(
        name=name,
        container_meta_type=ContainerMetadata(encoded_inp_str="", encoded_out_str=""),
        values=[],
        inputs=[],
        outputs=[],
        chains=[],
        operators=[],
        delegates=[
            BackendDelegate(
                id=payload.backend,
                processed=BackendDelegateDataReference(DataLocation.INLINE, first + i),
                compile_specs=[],
            )
            for i, payload in enumerate(delegates)
        ],
        non_const_buffer_sizes=[0],
    )


def _tensor(buffer: int, name: str, data: bytes) -> Any:
    """A constant tensor of bytes."""
    from executorch.exir.schema import EValue, ExtraTensorInfo, Tensor, TensorShapeDynamism
    from executorch.exir.tensor import scalar_type_enum
    from torch import uint8

    tensor = Tensor(
        scalar_type=scalar_type_enum(uint8),
        storage_offset=0,
        sizes=[len(data)],
        dim_order=[0],
        requires_grad=False,
        layout=0,
        data_buffer_idx=buffer,
        allocation_info=None,
        shape_dynamism=TensorShapeDynamism.STATIC,
        extra_tensor_info=ExtraTensorInfo(fully_qualified_name=name),
    )
    return EValue(tensor)


Cause = Literal["segment-base", "shared-segment", "offset"]


class Violation(NamedTuple):
    """What a file must be found guilty of."""

    key: str
    required: int
    cause: Cause


@dataclass(frozen=True, slots=True)
class Case:
    """A store of the matrix, what its user asks for, and what must be found."""

    name: str
    format: Format
    registrations: tuple[Registration, ...]
    requests: Mapping[str, int]
    base: int
    """The segment base offset that the case was made for."""
    violations: tuple[Violation, ...] = ()

    @property
    def filename(self) -> str:
        return f"{self.name}.{self.format}"


# A long first name puts the segment base at 512, a multiple of 256: with a base that 256 does not
# divide, `strong` would be violated in the controls too.
_PREFIX = {"pte": "prefix" + 10 * "-pad", "ptd": "prefix" + 40 * "-pad"}
_ASKED = {"weak": 16, "strong": 256, "prefix*": 128}


def _ordered(name: str, container: Format, *rest: Registration, lost: bool = False) -> Case:
    prefix = Registration(_PREFIX[container], b"\x01", 128)
    violations = (Violation("strong", 256, "shared-segment"),) if lost else ()
    return Case(name, container, (prefix, *rest), _ASKED, 512, violations)


def _aliases(container: Format) -> tuple[Case, ...]:
    """Two keys, the stricter request first or last, on equal data or on different data."""
    weak, strong = Registration("weak", b"same", 16), Registration("strong", b"same", 256)
    other = strong._replace(data=b"else")
    return (
        _ordered("weak_first", container, weak, strong, lost=True),
        _ordered("strong_first", container, strong, weak),
        _ordered("distinct_weak_first", container, weak, other),
        _ordered("distinct_strong_first", container, other, weak),
    )


def _lone(container: Format, base: int) -> Case:
    """One entry that asks for more than the base is aligned to."""
    violation = Violation("strong", 4096, "segment-base")
    registrations = (Registration("strong", b"lone", 4096),)
    return Case("base", container, registrations, {"strong": 4096}, base, (violation,))


def _coprime(container: Format, base: int, last: str) -> Case:
    """Equal data under requests of which none divides the other: together they ask for 12."""
    registrations = (
        Registration("a", 250 * b"=", 3),
        Registration("b", 250 * b"=", 4),
        Registration(last, 10 * b"+", 1),
    )
    violation = Violation("a", 3, "segment-base")
    return Case("lcm_3_4", container, registrations, {"a": 3, "b": 4}, base, (violation,))


MATRIX: tuple[Case, ...] = (
    *_aliases("pte"),
    *_aliases("ptd"),
    _lone("pte", base=384),
    _lone("ptd", base=256),
    # 384 is a multiple of 3, so the .pte needs a long name to get to 512.
    _coprime("pte", base=512, last="next" + 10 * "-pad"),
    _coprime("ptd", base=256, last="next"),
)
