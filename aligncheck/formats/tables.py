"""Checked reading of flatbuffers, the upper half: declare a table once, then read its fields.

    class DataSegment(Table):
        offset = U64(0)
        size = U64(1)

`segment.offset` is then the number in slot 0 of the table, and `segment.place("offset")` where in
the file it is stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from operator import add
from typing import Generic, NamedTuple, TypeVar, overload

from aligncheck.formats.flatbuffer import INT8, INT32, UINT8, UINT32, UINT64, Buffer, Where

T = TypeVar("T")
TableT = TypeVar("TableT", bound="Table")


class Span(NamedTuple):
    """Where a byte vector's content lies: absolute offset and size. The content is not read."""

    offset: int
    size: int


class Table:
    """One table; subclasses declare its fields. Fields that they do not name are left alone."""

    __slots__ = ("_fields", "_label", "_parent", "at", "buffer")

    def __init__(self, buffer: Buffer, at: int, parent: Table | None, label: str) -> None:
        self.buffer = buffer
        self.at = at
        self._parent = parent
        self._label = label
        self._fields = buffer.vtable(at, self.spot(""))

    def where(self, name: str = "") -> str:
        """The path of this table, or of one of its fields, from the root."""
        prefix = self._parent.where(self._label) if self._parent else ""
        return f"{prefix}.{name}".strip(".") or "root table"

    def spot(self, name: str) -> Where:
        """The path of a field, for when it is needed."""
        return partial(self.where, name)

    def place(self, name: str) -> int | None:
        """Absolute offset of a field's bytes; None if it is not stored (it has its default)."""
        field: Field[object] = getattr(type(self), name)
        position = field.place(self)
        return None if position is None else self.buffer.start + position

    def field(self, slot: int, width: int, name: str) -> int | None:
        """Position of the `width` bytes of the field in a slot, checked; None if missing."""
        start = self._fields[slot] if slot < len(self._fields) else 0
        if not start:
            return None
        self.buffer.bound(self.at + start, width, self.spot(name))
        return self.at + start

    @property
    def fields(self) -> tuple[int, ...]:
        """Where the field of each slot is, relative to the table: 0 for a missing one."""
        return self._fields

    def follow(self, at: int, name: str) -> int:
        """Where the offset stored at a position points to."""
        return at + self.buffer.number(UINT32, at, self.spot(name))


def read_root(buffer: Buffer, kind: type[TableT]) -> TableT:
    """The root table. Raises BadFile if its offset points outside the buffer."""
    at = buffer.number(UINT32, 0, _root)
    if at < 8:
        buffer.fail(_root, f"points to byte {at}, inside the file's first 8 bytes")
    return kind(buffer, at, None, "")


def _root() -> str:
    return "root table offset"


class Field(Generic[T]):
    """A field of a table: its slot in the schema, and how its value is read."""

    width = 4

    def __init__(self, slot: int) -> None:
        self.slot = slot
        self.name = ""

    def __set_name__(self, owner: type[Table], name: str) -> None:
        self.name = name

    @overload
    def __get__(self, table: None, owner: type[Table]) -> Field[T]: ...
    @overload
    def __get__(self, table: Table, owner: type[Table]) -> T: ...
    def __get__(self, table: Table | None, owner: type[Table]) -> Field[T] | T:
        return self if table is None else self.read(table, self.place(table))

    def place(self, table: Table) -> int | None:
        """Position of the field's own bytes; None if it is not stored."""
        return table.field(self.slot, self.width, self.name)

    def read(self, table: Table, at: int | None) -> T:
        """The value, given the place of the field."""
        raise NotImplementedError


class Number(Field[int]):
    """A number; its default is 0."""

    kind = UINT32

    def read(self, table: Table, at: int | None) -> int:
        return 0 if at is None else table.buffer.number(self.kind, at, table.spot(self.name))


class I8(Number):
    width, kind = 1, INT8


class I32(Number):
    width, kind = 4, INT32


class U32(Number):
    width, kind = 4, UINT32


class U64(Number):
    width, kind = 8, UINT64


class Text(Field[str | None]):
    """A string; None if it is missing."""

    def read(self, table: Table, at: int | None) -> str | None:
        span = _vector(table, at, 1, self.name)
        return table.buffer.text(*span, table.spot(self.name)) if span else None


class Bytes(Field[Span | None]):
    """A vector of bytes, of which only the place is read; None if it is missing."""

    def read(self, table: Table, at: int | None) -> Span | None:
        span = _vector(table, at, 1, self.name)
        return span and Span(table.buffer.start + span.offset, span.size)


class NumberVector(NamedTuple):
    """A vector of numbers, and the absolute offset of its first element."""

    values: tuple[int, ...]
    start: int
    width: int

    def place(self, index: int) -> int:
        """Absolute offset of one element."""
        return self.start + index * self.width


class Numbers(Field[NumberVector]):
    """A vector of numbers; an empty one if it is missing."""

    def __init__(self, slot: int, kind: type[Number]) -> None:
        super().__init__(slot)
        self.element = kind

    def read(self, table: Table, at: int | None) -> NumberVector:
        width = self.element.width
        start, count = _vector(table, at, width, self.name) or (0, 0)
        values = table.buffer.numbers(self.element.kind, start, count, table.spot(self.name))
        return NumberVector(values, table.buffer.start + start, width)


class Child(Field[TableT | None]):
    """A table; None if it is missing."""

    def __init__(self, slot: int, kind: type[TableT]) -> None:
        super().__init__(slot)
        self.kind = kind

    def read(self, table: Table, at: int | None) -> TableT | None:
        if at is None:
            return None
        table.buffer.charge(4, table.spot(self.name))
        return self.kind(table.buffer, table.follow(at, self.name), table, self.name)


class Children(Field["TableVector[TableT]"]):
    """A vector of tables; an empty one if it is missing."""

    def __init__(self, slot: int, kind: type[TableT]) -> None:
        super().__init__(slot)
        self.kind = kind

    def read(self, table: Table, at: int | None) -> TableVector[TableT]:
        start, count = _vector(table, at, 4, self.name) or (0, 0)
        return TableVector(self.kind, table, self.name, start, count)


class Union(Field[TableT | None]):
    """A union: the type in a slot, the value in the next. None for types that are not named here.

    `kind` is the table type to read, `tag` its number in the schema's union.
    """

    width = 1

    def __init__(self, slot: int, kind: type[TableT], tag: int) -> None:
        super().__init__(slot)
        self.kind = kind
        self.tag = tag

    def read(self, table: Table, at: int | None) -> TableT | None:
        if at is None or table.buffer.number(UINT8, at, table.spot(self.name)) != self.tag:
            return None
        value = table.field(self.slot + 1, 4, self.name)
        if value is None:
            table.buffer.fail(table.spot(self.name), "has a type but no value")
        return self.kind(table.buffer, table.follow(value, self.name), table, self.name)


class TableVector(Sequence[TableT]):
    """A vector of tables, each read when it is asked for."""

    def __init__(self, kind: type[TableT], table: Table, name: str, start: int, count: int) -> None:
        self.kind = kind
        self.buffer = table.buffer
        self._table = table
        self._name = name
        self._start = start
        self._count = count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> TableT: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[TableT]: ...
    def __getitem__(self, index: int | slice) -> TableT | Sequence[TableT]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self._count))]
        if not 0 <= index < self._count:
            raise IndexError(index)
        return self._element(index)

    def __iter__(self) -> Iterator[TableT]:
        return map(self._element, range(self._count))

    def positions(self, indexes: range) -> Iterator[int]:
        """Where each table begins, in the buffer: not yet checked to be inside."""
        where = self._table.spot(self._name)
        start = self._start + 4 * indexes.start
        offsets = self.buffer.numbers(UINT32, start, len(indexes), where)
        return map(add, offsets, range(start, start + 4 * len(indexes), 4))

    def _element(self, index: int) -> TableT:
        label = f"{self._name}[{index}]"
        buffer = self.buffer
        buffer.charge(4, self._table.spot(label))
        at = self._table.follow(self._start + 4 * index, label)
        return self.kind(buffer, at, self._table, label)


def _vector(table: Table, at: int | None, width: int, name: str) -> Span | None:
    """The position of a vector's elements and their count, checked to be inside the buffer."""
    if at is None:
        return None
    start = table.follow(at, name)
    count = table.buffer.number(UINT32, start, table.spot(name))
    table.buffer.bound(start + 4, count * width, table.spot(name))
    return Span(start + 4, count)


def fields_of(table: type[Table]) -> Mapping[str, Field[object]]:
    """The declared fields of a table type, by name."""
    return {name: field for name, field in vars(table).items() if isinstance(field, Field)}
