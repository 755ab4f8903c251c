"""Checked reading of flatbuffers, the lower half: numbers and texts at positions.

Every position, length and count is checked against the buffer before it is used; what does not
fit raises BadFile with the path of the field, such as `segments[3].offset`. Numbers are little
endian (flatbuffers: docs/source/internals.md).

The flatbuffers package is not used: all that it has for this is six lines such as those below, and
where numpy is installed it imports it, which takes longer than an audit.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NoReturn

from aligncheck.errors import BadFile
from aligncheck.formats.source import Source

READ_WHOLE = 1 << 27
"""Buffers up to this size are read at once; larger ones page by page as they are needed."""
_PAGE = 1 << 16
_MOST_READ = 1 << 28  # of the lists and texts of one buffer: enough for some million entries

INT8 = struct.Struct("<b")
INT32 = struct.Struct("<i")
UINT8 = struct.Struct("<B")
UINT16 = struct.Struct("<H")
UINT32 = struct.Struct("<I")
UINT64 = struct.Struct("<Q")

Where = Callable[[], str]
"""Gives the path of what is being read, which is needed only for an error."""


class Buffer:
    """A flatbuffer of `end` bytes that begins at byte `start` of a file.

    Positions count from its start, as they do in the flatbuffer itself.

    Sharing makes it possible to write a small file that is endless to read (a thousand methods
    that are all one long list), so what has been read is counted and bounded by the buffer's size.
    """

    def __init__(self, source: Source, end: int, start: int = 0) -> None:
        self.path = source.path
        self.start = start
        self.end = end
        self._source = source
        self.whole = source.read(start, end) if end <= READ_WHOLE else None
        self._pages: dict[int, bytes] = {}
        self._vtables: dict[int, tuple[int, ...]] = {}
        self.budget = min(4 * end + _PAGE, _MOST_READ)

    def number(self, kind: struct.Struct, at: int, where: Where) -> int:
        """The number at a position."""
        self.bound(at, kind.size, where)
        value: int = kind.unpack_from(*self._bytes(at, kind.size))[0]
        return value

    def numbers(self, kind: struct.Struct, at: int, count: int, where: Where) -> tuple[int, ...]:
        """`count` numbers in a row."""
        self.bound(at, count * kind.size, where)
        self.charge(count * kind.size, where)
        letter = str(kind.format).lstrip("<")
        return struct.unpack_from(f"<{count}{letter}", *self._bytes(at, count * kind.size))

    def text(self, at: int, size: int, where: Where) -> str:
        """`size` bytes as UTF-8; bytes that are not are escaped with a backslash."""
        self.bound(at, size, where)
        self.charge(size, where)
        data, start = self._bytes(at, size)
        return data[start : start + size].decode("utf-8", "backslashreplace")

    def _bytes(self, at: int, size: int) -> tuple[bytes, int]:
        """Some bytes that hold those at a position, and where in them these begin."""
        if self.whole is not None:
            return self.whole, at
        first, last = at // _PAGE, (at + size - 1) // _PAGE
        pages = [self._page(number) for number in range(first, max(first, last) + 1)]
        return pages[0] if len(pages) == 1 else b"".join(pages), at - first * _PAGE

    def _page(self, number: int) -> bytes:
        if number not in self._pages:
            start = number * _PAGE
            size = max(0, min(_PAGE, self.end - start))
            self._pages[number] = self._source.read(self.start + start, size)
        return self._pages[number]

    def vtable(self, at: int, where: Where) -> tuple[int, ...]:
        """Where the fields of the table at a position are, relative to it: 0 for a missing one.

        The size of the table, which stands there too, is not used: in published files, which the
        runtime reads well, it is smaller than the end of the last field.
        """
        position = at - self.number(INT32, at, where)
        known = self._vtables.get(position)
        if known is None:
            size = self.number(UINT16, position, where)
            if size < 4 or size % 2:
                self.fail(where, f"has a vtable of {size} bytes at byte {position}")
            known = self.numbers(UINT16, position + 2, size // 2 - 1, where)[1:]
            self._vtables[position] = known
        return known

    def bound(self, at: int, size: int, where: Where) -> None:
        """Raises BadFile if the range is not inside the buffer."""
        if at < 0 or at + size > self.end:
            self.fail(where, f"points to bytes {at} to {at + size}, outside the first {self.end}")

    def charge(self, size: int, where: Where) -> None:
        """Counts `size` bytes as read. Raises BadFile where the same bytes are read for ever."""
        self.budget -= size
        if self.budget < 0:
            self.fail(where, "refers to far more data than a file of this kind can have")

    def fail(self, where: Where, found: str) -> NoReturn:
        """Raises the BadFile for a place."""
        raise BadFile(self.path, found, place=where())
