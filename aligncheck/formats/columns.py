"""Reading the same field of many tables at once.

A field of a table costs some microseconds, as an attribute of an object that knows its path. In a
vector of a million tables it need not: here each step is done for all of them before the next, and
one check of the largest number stands for a check of each. What does not pass is read once more,
table by table, in the way that knows what to say of it. That is ten times as fast.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from operator import add, sub
from struct import Struct
from typing import Any, Generic

from aligncheck.formats.flatbuffer import INT32, UINT32
from aligncheck.formats.tables import Number, TableT, TableVector


class Columns(Generic[TableT]):
    """The tables of a vector. Places are positions in the buffer, kept as arrays of u64."""

    def __init__(self, vector: TableVector[TableT]) -> None:
        self._vector = vector
        self._end = vector.buffer.end
        self._data = vector.buffer.whole or b""
        self._tables = array("Q", vector.positions())
        self._fields: list[tuple[int, ...]] | None = None
        if vector.buffer.whole is not None and self._inside(self._tables, 4):
            vtables = array("q", map(sub, self._tables, self._read(INT32, self._tables)))
            known = {vtable: vector[vtables.index(vtable)].fields for vtable in set(vtables)}
            self._fields = [known[vtable] for vtable in vtables]

    def numbers(self, name: str) -> array[int]:
        """An unsigned number of each table, 0 where it is missing. Raises BadFile."""
        field = getattr(self._vector.kind, name)
        assert isinstance(field, Number)
        starts = self._starts(field.slot)
        if starts is None:
            return array("Q", self._one_by_one(name))
        places = array("Q", map(add, self._tables, starts))
        if not self._inside(places, field.width):
            return array("Q", self._one_by_one(name))
        if all(starts):
            return array("Q", self._read(field.kind, places))
        unpack, data = field.kind.unpack_from, self._data
        pairs = zip(places, starts, strict=True)
        return array("Q", [unpack(data, place)[0] if start else 0 for place, start in pairs])

    def places(self, name: str) -> list[int | None]:
        """The absolute offset of a field's bytes in each table, None where it is missing."""
        starts = self._starts(getattr(self._vector.kind, name).slot)
        if starts is None:
            return [table.place(name) for table in self._vector]
        first = self._vector.buffer.start
        pairs = zip(self._tables, starts, strict=True)
        return [first + table + start if start else None for table, start in pairs]

    def texts(self, name: str) -> list[str | None]:
        """A string of each table, None where it is missing. Raises BadFile."""
        starts = self._starts(getattr(self._vector.kind, name).slot)
        if starts is None or not all(starts):
            return self._one_by_one(name)
        places = array("Q", map(add, self._tables, starts))
        if not self._inside(places, 4):
            return self._one_by_one(name)
        texts = array("Q", map(add, places, self._read(UINT32, places)))
        if not self._inside(texts, 4):
            return self._one_by_one(name)
        sizes = array("Q", self._read(UINT32, texts))
        ends = array("Q", map(add, texts, sizes))
        if not self._inside(ends, 4) or sum(sizes) > self._vector.buffer.budget:
            return self._one_by_one(name)
        self._vector.buffer.budget -= sum(sizes)
        data = self._data
        try:
            return [data[at + 4 : end + 4].decode() for at, end in zip(texts, ends, strict=True)]
        except UnicodeDecodeError:  # some are no UTF-8, and are to be escaped
            return self._one_by_one(name)

    def _starts(self, slot: int) -> list[int] | None:
        """Where a slot's field is in each table, 0 for a missing one; None if not known so."""
        if self._fields is None:
            return None
        return [fields[slot] if slot < len(fields) else 0 for fields in self._fields]

    def _inside(self, places: Iterable[int], width: int) -> bool:
        """True if `width` bytes at each of the places are in the buffer."""
        return max(places, default=0) + width <= self._end

    def _read(self, kind: Struct, places: Iterable[int]) -> list[int]:
        unpack, data = kind.unpack_from, self._data
        return [unpack(data, place)[0] for place in places]

    def _one_by_one(self, name: str) -> list[Any]:
        return [getattr(table, name) for table in self._vector]
