"""The new file while it is made: a sibling of the old one, that takes its name or vanishes."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import sys
import threading
from contextlib import suppress

if sys.platform != "win32":
    import fcntl

SUFFIX = ".aligncheck-tmp"
_LONGEST_NAME = 64


class Temporary:
    """A new file beside `target`, which is to take its name; it is made by `create`.

    It is locked while it is made: one that is not is what a killed run left behind.
    """

    def __init__(self, target: str) -> None:
        self._folder, name = os.path.split(target)
        self.path = os.path.join(self._folder, f"{_prefix(name)}{os.urandom(8).hex()}{SUFFIX}")
        self.fd = -1
        self._exists = False
        self._flushing: threading.Thread | None = None
        self._failed: OSError | None = None

    def create(self) -> None:
        """Makes the file, empty and open for writing. Raises OSError."""
        self._exists = True  # said before it is true: an interrupt may come between the two
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        self.fd = os.open(self.path, flags, 0o600)
        lock(self.fd)

    def flush(self) -> None:
        """Begins to bring to the disk what has been written, if that is not going on already.

        Raises OSError if it has failed before.
        """
        if self._failed is not None:
            raise self._failed
        if self._flushing is None or not self._flushing.is_alive():
            self._flushing = threading.Thread(target=self._flush, daemon=True)
            self._flushing.start()

    def _flush(self) -> None:
        try:
            os.fsync(self.fd)
        except OSError as error:  # the system tells it once: to this thread
            self._failed = error

    def close(self) -> None:
        """Makes sure that the file is on the disk. Raises OSError."""
        if self._flushing is not None:
            self._flushing.join()
        if self._failed is not None:
            raise self._failed
        os.fsync(self.fd)
        self._close()

    def rename(self, target: str) -> None:
        """Gives the file its name, at once and for good. Raises OSError."""
        os.replace(self.path, target)
        self._exists = False
        _sync_folder(self._folder)

    def discard(self) -> None:
        """Removes the file, unless it has got its name."""
        if self._flushing is not None:
            self._flushing.join()
        with suppress(OSError):
            self._close()
        if self._exists:
            self._exists = False
            with suppress(OSError):
                os.unlink(self.path)

    def _close(self) -> None:
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)


def lock(fd: int) -> bool:
    """Locks an open file until it is closed; False if somebody else has. True where none can."""
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def remove_leftovers(target: str) -> list[str]:
    """Removes what killed runs left beside `target`, and returns the paths.

    Only files that this module made for that target, and that no run is making now.
    """
    folder, name = os.path.split(target)
    if sys.platform == "win32":
        return []
    removed = []
    own = re.compile(re.escape(_prefix(name)) + r"[0-9a-z_]+" + re.escape(SUFFIX))
    with suppress(OSError):
        for found in os.listdir(folder):
            path = os.path.join(folder, found)
            if own.fullmatch(found) and _remove(path):
                removed.append(path)
    return removed


def _remove(path: str) -> bool:
    """Removes a file that nobody has locked."""
    with suppress(OSError):
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            if lock(fd):
                os.unlink(path)
                return True
        finally:
            os.close(fd)
    return False


def _prefix(name: str) -> str:
    """What the names of the new files for one target begin with, and those for no other one."""
    if len(name) > _LONGEST_NAME:
        digest = hashlib.sha256(os.fsencode(name)).hexdigest()
        name = f"{name[: _LONGEST_NAME - 16]}{digest[:16]}"
    return f".{name}."


def keep_attributes(status: os.stat_result, fd_old: int, fd: int) -> None:
    """Gives `fd` the owner, the permission bits and the extended attributes of the old file.

    Owner and attributes are kept where the system allows it. Raises OSError for the permissions.
    """
    if hasattr(os, "fchown"):
        with suppress(OSError):
            os.fchown(fd, status.st_uid, status.st_gid)
    if hasattr(os, "fchmod"):
        # After the owner: changing that clears the set-user-ID bit.
        os.fchmod(fd, stat.S_IMODE(status.st_mode))
    if hasattr(os, "listxattr"):
        with suppress(OSError):
            for name in os.listxattr(fd_old):
                with suppress(OSError):
                    os.setxattr(fd, name, os.getxattr(fd_old, name))


def _sync_folder(folder: str) -> None:
    """Makes sure that a new name is on the disk, where folders can be opened for that."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    with suppress(OSError):
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
