"""Moving and comparing bytes between files in constant memory."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator

from aligncheck.errors import BadFile
from aligncheck.formats.source import Source

Progress = Callable[[int, int], None]
"""Called with the bytes that are done and the bytes in all."""
Range = tuple[int, int, int]
"""Absolute offset in the old file and in the new one, and size."""

_BUFFER = 1 << 18  # larger ones are five times slower: the system hands out fresh pages for each
_KERNEL_CHUNK = 1 << 26
_BLOCK = 1 << 12  # of most file systems
_NO_KERNEL_COPY = {errno.ENOSYS, errno.EXDEV, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM}


def copy_range(source: Source, start: int, fd: int, at: int, size: int) -> Iterator[Range]:
    """Copies `size` bytes from `start` of the source to `at` of `fd`, and yields the parts.

    The kernel copies where it can, which shares the blocks on file systems that are able to. Holes
    of a sparse file stay holes. Raises BadFile if the source ends early and OSError if `fd`
    cannot be written.
    """
    end, shift = start + size, at - start
    position = start
    for data, data_end in _stretches(source, start, end):
        yield position, position + shift, data - position
        position = data
        for count in _copy(source, data, fd, data + shift, data_end - data):
            yield position, position + shift, count
            position += count
    yield position, position + shift, end - position


def _stretches(source: Source, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Where a range of a sparse file has data; all of it where that cannot be told."""
    position = _next_data(source, start, end)
    while position < end:
        try:
            hole = min(os.lseek(source.fd, position, os.SEEK_HOLE), end)
        except (AttributeError, OSError):
            hole = end
        yield position, hole
        position = _next_data(source, hole, end)


def _next_data(source: Source, position: int, end: int) -> int:
    """The first byte from `position` that is not in a hole; `end` if there is none before."""
    if position >= end:
        return end
    try:
        return min(os.lseek(source.fd, position, os.SEEK_DATA), end)
    except AttributeError:  # a system that does not tell
        return position
    except OSError as error:
        return end if error.errno == errno.ENXIO else position


def _copy(source: Source, start: int, fd: int, at: int, size: int) -> Iterator[int]:
    done = 0
    by_kernel = hasattr(os, "copy_file_range")
    while done < size:
        count = 0
        if by_kernel:
            # Whole blocks can be shared with the old file, if they begin at one in both.
            most = min(size - done, -(start + done) % _BLOCK or _KERNEL_CHUNK)
            count = _kernel_copy(source.fd, start + done, fd, at + done, most)
            by_kernel = count > 0
        if not count:
            data = source.read(start + done, min(_BUFFER, size - done))
            write_at(fd, at + done, data)
            count = len(data)
        done += count
        yield count


def _kernel_copy(source: int, start: int, fd: int, at: int, size: int) -> int:
    """How many bytes the kernel copied; 0 where it cannot."""
    try:
        return os.copy_file_range(source, fd, size, start, at)
    except OSError as error:
        if error.errno in _NO_KERNEL_COPY:
            return 0
        raise


def write_at(fd: int, at: int, data: bytes) -> None:
    """Writes all of `data`, also where the system takes it piece by piece. Raises OSError."""
    os.lseek(fd, at, os.SEEK_SET)
    rest = memoryview(data)
    while rest:
        count = os.write(fd, rest)
        if count == 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        rest = rest[count:]


def same_bytes(old: Source, start: int, new: Source, at: int, size: int) -> Iterator[int]:
    """Compares two ranges and yields the counts of what was compared.

    Raises BadFile where they differ.
    """
    for done in range(0, size, _BUFFER):
        # Holes too are read: a file system that told of one that is none must not go unnoticed.
        count = min(_BUFFER, size - done)
        if old.read(start + done, count) != new.read(at + done, count):
            found = f"does not hold bytes {start} to {start + size} of the old file"
            raise BadFile(new.path, found, place=f"byte {at}")
        yield count


def is_zero(source: Source, start: int, end: int) -> bool:
    """True if a range holds nothing but zeros."""
    return not any(
        source.read(at, min(_BUFFER, stop - at)).strip(b"\0")
        for begin, stop in _stretches(source, start, end)
        for at in range(begin, stop, _BUFFER)
    )
