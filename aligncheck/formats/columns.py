"""Reading the same fields of many tables at once.

A field of a table costs some microseconds, as an attribute of an object that knows its path. In a
vector of a million tables, that all look alike, it need not: here one loop reads one field of all,
five times as fast. What does not fit is read again in the slow way, which knows what to say of it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Generic

from aligncheck.formats.flatbuffer import INT32, UINT32
from aligncheck.formats.tables import Number, TableT, TableVector


class Columns(Generic[TableT]):
    """The tables of a vector, all of which are read."""

    def __init__(self, vector: TableVector[TableT]) -> None:
        self._vector = vector
        self._buffer = vector.buffer
        self._data = vector.buffer.whole
        self._places = array("Q")
        self._fields: list[tuple[int, ...]] = []
        if self._data is not None:
            self._locate(self._data)

    def _locate(self, data: bytes) -> None:
        """Where each table is, and where its fields are, relative to it."""
        vector, last = self._vector, self._buffer.end - 4
        known: dict[int, tuple[int, ...]] = {}
        integer = INT32.unpack_from
        for index, at in enumerate(vector.positions()):
            if at > last:
                self._fail(index, "")
            vtable = at - integer(data, at)[0]
            fields = known.get(vtable)
            if fields is None:
                fields = known[vtable] = vector[index].fields
            self._places.append(at)
            self._fields.append(fields)

    def numbers(self, name: str) -> array[int]:
        """An unsigned number of each table, 0 where it is missing. Raises BadFile."""
        field = getattr(self._vector.kind, name)
        assert isinstance(field, Number)
        data = self._data
        if data is None:
            return array("Q", [getattr(table, name) for table in self._vector])
        unpack, last = field.kind.unpack_from, self._buffer.end - field.width
        result = array("Q")
        for at, start in self._starts(field.slot):
            if at + start > last:
                self._fail(len(result), name)
            result.append(unpack(data, at + start)[0] if start else 0)
        return result

    def places(self, name: str) -> list[int | None]:
        """The absolute offset of a field's bytes in each table, None where it is missing."""
        if self._data is None:
            return [table.place(name) for table in self._vector]
        slot, first = getattr(self._vector.kind, name).slot, self._buffer.start
        return [first + at + start if start else None for at, start in self._starts(slot)]

    def texts(self, name: str) -> list[str | None]:
        """A string of each table, None where it is missing. Raises BadFile."""
        data = self._data
        if data is None:
            return [getattr(table, name) for table in self._vector]
        unpack, end = UINT32.unpack_from, self._buffer.end
        result: list[str | None] = []
        budget = self._buffer.budget
        for at, start in self._starts(getattr(self._vector.kind, name).slot):
            if not start:
                result.append(None)
                continue
            place = at + start
            begin = place + unpack(data, place)[0] + 4 if place + 4 <= end else end + 1
            size = unpack(data, begin - 4)[0] if begin <= end else 0
            budget -= size
            if begin + size > end or budget < 0:
                self._fail(len(result), name)
            result.append(data[begin : begin + size].decode("utf-8", "backslashreplace"))
        self._buffer.budget = budget
        return result

    def _starts(self, slot: int) -> Iterator[tuple[int, int]]:
        """Each table's place, and where the field of a slot is in it: 0 for a missing one."""
        starts = [fields[slot] if slot < len(fields) else 0 for fields in self._fields]
        return zip(self._places, starts, strict=True)

    def _fail(self, index: int, name: str) -> None:
        """Reads the one field again, so that the error gets its path."""
        table = self._vector[index]
        self._buffer.budget = min(self._buffer.budget, 0)
        getattr(table, name)
        raise AssertionError("the two ways of reading disagree")
