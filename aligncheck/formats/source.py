"""Reading a file piece by piece: regular files only, never more than was asked for."""

from __future__ import annotations

import os
import stat

from aligncheck.errors import BadFile


class Source:
    """A regular file, open for reading. `size` is its size in bytes when it was opened.

    `opened` is the path it was opened by, `path` the name that errors give it.
    """

    def __init__(self, path: str, *, name: str | None = None) -> None:
        self.opened = path
        self.path = name or path
        self._read_at = getattr(os, "pread", _seek_and_read)
        try:
            # O_NONBLOCK: opening a FIFO that nobody writes must not wait for ever.
            flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
            self.fd = os.open(path, flags)
            self.status = self._stat()
        except OSError as error:
            raise BadFile(self.path, f"cannot be read: {_reason(error, path)}") from error
        except ValueError as error:
            raise BadFile(self.path, f"is no file name: {error}") from error
        if not stat.S_ISREG(self.status.st_mode):
            self.close()
            kind = "a directory" if stat.S_ISDIR(self.status.st_mode) else "not a regular file"
            raise BadFile(self.path, f"is {kind}")
        self.size = self.status.st_size

    def _stat(self) -> os.stat_result:
        try:
            return os.fstat(self.fd)
        except BaseException:
            self.close()
            raise

    def read(self, offset: int, size: int) -> bytes:
        """Exactly `size` bytes from `offset`.

        Raises BadFile if the file cannot be read or has become shorter since it was opened.
        """
        parts: list[bytes] = []
        at, end = offset, offset + size
        try:
            while at < end and (part := self._read_at(self.fd, end - at, at)):
                parts.append(part)
                at += len(part)
        except (OSError, OverflowError) as error:
            reason = f"cannot be read: {_reason(error, self.path)}"
            raise BadFile(self.path, reason, place=f"byte {at}") from error
        if at < end:
            raise BadFile(self.path, "the file ends here", place=f"byte {at}")
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def close(self) -> None:
        """Close the file, if it is open."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def _seek_and_read(fd: int, size: int, offset: int) -> bytes:
    """For a system that cannot do both at once."""
    os.lseek(fd, offset, os.SEEK_SET)
    return os.read(fd, size)


def _reason(error: Exception, path: str) -> str:
    # Windows calls it a lack of permission.
    if isinstance(error, IsADirectoryError) or (os.name == "nt" and os.path.isdir(path)):
        return "is a directory"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
