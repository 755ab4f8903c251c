"""Flatbuffers from trees: what the sample files of the torch-free tests are made of.

    count = Number("U32", 7)
    encoded = encode(Table({0: count, 1: Text("weights")}), b"TEST")
    encoded.data[encoded.places[count]] == 7

The flatbuffers package's own Builder does the work. A node that stands in a tree twice is stored
once and shared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from flatbuffers import Builder

Kind = Literal["I8", "U8", "I32", "U32", "U64"]
_NAMES: dict[Kind, str] = {
    "I8": "Int8",
    "U8": "Uint8",
    "I32": "Int32",
    "U32": "Uint32",
    "U64": "Uint64",
}
_WIDTHS: dict[Kind, int] = {"I8": 1, "U8": 1, "I32": 4, "U32": 4, "U64": 8}


@dataclass(frozen=True, eq=False, slots=True)
class Number:
    """A number in its table; left out if it is 0, the default, unless `stored`."""

    kind: Kind
    value: int
    stored: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Text:
    """A string; bytes need not be UTF-8."""

    value: str | bytes


@dataclass(frozen=True, eq=False, slots=True)
class Bytes:
    """A vector of bytes, its content aligned as the schema's `force_align` would do it."""

    value: bytes
    alignment: int = 16


@dataclass(frozen=True, eq=False, slots=True)
class Numbers:
    """A vector of numbers."""

    kind: Kind
    values: Sequence[int]


@dataclass(frozen=True, eq=False, slots=True)
class Tables:
    """A vector of tables."""

    items: Sequence[Table]


@dataclass(frozen=True, eq=False, slots=True)
class Table:
    """A table: nodes by slot, None for a missing one."""

    slots: Mapping[int, Node | None]


Object = Text | Bytes | Numbers | Tables | Table
Node = Number | Object


@dataclass(frozen=True, slots=True)
class Encoded:
    """A finished buffer, and where in it each node is.

    The place of a vector or string is that of its first element. A number that is left out has
    none.
    """

    data: bytes
    places: Mapping[Node, int]


def encode(root: Table, identifier: bytes) -> Encoded:
    """The flatbuffer with that root table and file identifier."""
    encoder = _Encoder()
    encoder.builder.Finish(encoder.write(root), file_identifier=identifier)
    data = bytes(encoder.builder.Output())
    # The Builder writes from the end to the start, so it counts from the end.
    return Encoded(data, {node: len(data) - back for node, back in encoder.places.items()})


class _Encoder:
    def __init__(self) -> None:
        self.builder = Builder(256)
        self.places: dict[Node, int] = {}
        self._written: dict[Object, int] = {}

    def write(self, node: Object) -> int:
        if node not in self._written:
            self._written[node] = offset = self._write(node)
            # Strings and vectors have their length before the first element.
            self.places[node] = offset if isinstance(node, Table) else offset - 4
        return self._written[node]

    def _write(self, node: Object) -> int:
        if isinstance(node, Text):
            return int(self.builder.CreateString(node.value))
        if isinstance(node, Bytes):
            return self._bytes(node)
        if isinstance(node, Numbers):
            return self._numbers(node)
        if isinstance(node, Tables):
            return self._tables(node)
        return self._table(node)

    def _bytes(self, node: Bytes) -> int:
        self.builder.StartVector(1, len(node.value), node.alignment)
        for byte in reversed(node.value):
            self.builder.PrependByte(byte)
        return int(self.builder.EndVector())

    def _numbers(self, node: Numbers) -> int:
        width = _WIDTHS[node.kind]
        self.builder.StartVector(width, len(node.values), width)
        prepend = getattr(self.builder, f"Prepend{_NAMES[node.kind]}")
        for value in reversed(node.values):
            prepend(value)
        return int(self.builder.EndVector())

    def _tables(self, node: Tables) -> int:
        offsets = [self.write(item) for item in node.items]
        self.builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            self.builder.PrependUOffsetTRelative(offset)
        return int(self.builder.EndVector())

    def _table(self, node: Table) -> int:
        fields = {slot: child for slot, child in node.slots.items() if child is not None}
        offsets = {
            slot: self.write(child)
            for slot, child in fields.items()
            if not isinstance(child, Number)
        }
        self.builder.StartObject(max(node.slots, default=-1) + 1)
        for slot, child in fields.items():
            if isinstance(child, Number):
                self._number(slot, child)
            else:
                self.builder.PrependUOffsetTRelativeSlot(slot, offsets[slot], 0)
        return int(self.builder.EndObject())

    def _number(self, slot: int, node: Number) -> None:
        if node.value or node.stored:
            getattr(self.builder, f"Prepend{_NAMES[node.kind]}Slot")(slot, node.value, None)
            self.places[node] = int(self.builder.Offset())
