"""The package's own exceptions: what it raises on purpose is an `AligncheckError`."""

from __future__ import annotations


class AligncheckError(Exception):
    """Base of all errors of this package."""


class BadFile(AligncheckError):
    """A file that cannot be audited.

    `path` names the file, `place` says where in it (a field path such as `segments[3].offset`, or
    `byte 12`; None for the file as a whole), `found` what is wrong, and `hint` what to do next.
    """

    def __init__(self, path: str, found: str, *, place: str | None = None, hint: str = "") -> None:
        super().__init__(path, found, place, hint)
        self.path = path
        self.found = found
        self.place = place
        self.hint = hint

    @property
    def reason(self) -> str:
        """The error in one line, without the file's name."""
        where = f"{self.place}: " if self.place else ""
        return f"{where}{self.found}" + (f"; {self.hint}" if self.hint else "")

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class LfsPointer(BadFile):
    """A Git LFS pointer in the place of a file that was not fetched."""


class FixError(BadFile):
    """A file that could not be rewritten. Whatever was under its name is still there, unchanged."""


class BadRequest(AligncheckError, ValueError):
    """A request for an alignment that cannot be understood or is out of range."""
