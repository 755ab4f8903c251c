"""Requests declared once, in `[tool.aligncheck]` of a pyproject.toml or in an aligncheck.toml."""

import fnmatch
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from types import MappingProxyType
from typing import NamedTuple

from aligncheck.errors import BadFile, BadRequest
from aligncheck.formats.source import Source
from aligncheck.requests.declared import check_alignment, parse_alignment

_NAMES = ("aligncheck.toml", "pyproject.toml")
_LARGEST = 2**20
_NONE: Mapping[str, int | bool] = MappingProxyType({})
_OVERRIDABLE = ("segment-alignment", "requests", "backends")
_KEYS = (*_OVERRIDABLE, "exclude", "overrides")


class Settings(NamedTuple):
    """What a configuration says; alignments in bytes.

    `backends` are bytes by backend id, False for a backend of which nothing is to be assumed.
    `overrides` are settings for the files that match one of their globs, which are relative to the
    configuration's folder.
    """

    path: str
    segment_alignments: tuple[int, ...] = ()
    requests: tuple[tuple[str, int], ...] = ()
    backends: Mapping[str, int | bool] = _NONE
    exclude: tuple[str, ...] = ()
    overrides: "tuple[tuple[tuple[str, ...], Settings], ...]" = ()

    def excludes(self, path: str) -> bool:
        """True for a file that is not to be audited."""
        return self._matches(path, self.exclude)

    def for_file(self, path: str) -> "Settings":
        """The settings for one file: those for all, and those of each override that it matches.

        Requests add up; for a backend the last word counts.
        """
        result = self
        for globs, settings in self.overrides:
            if self._matches(path, globs):
                result = result._replace(
                    segment_alignments=result.segment_alignments + settings.segment_alignments,
                    requests=result.requests + settings.requests,
                    backends={**result.backends, **settings.backends},
                )
        return result

    def _matches(self, path: str, globs: Sequence[str]) -> bool:
        if not globs:
            return False
        folder = os.path.dirname(os.path.abspath(self.path))
        try:
            relative = os.path.relpath(os.path.abspath(path), folder)
        except ValueError:  # on another drive
            return False
        name = relative.replace(os.sep, "/")
        return any(fnmatch.fnmatchcase(name, glob) for glob in globs)


def find_config(folder: str) -> str | None:
    """The nearest configuration in a folder or above it.

    In one folder an aligncheck.toml comes first; a pyproject.toml without a table for this tool is
    passed over.
    """
    folder = os.path.abspath(folder)
    while True:
        for name in _NAMES:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and (name == _NAMES[0] or _table(path) is not None):
                return path
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def read_config(path: str) -> Settings:
    """The settings in a file. Raises BadFile for unknown keys and bad values."""
    table = _table(path)
    if table is None:
        raise BadFile(path, "has no table [tool.aligncheck]")
    return _Reader(path).settings(table, "", _KEYS)


def _table(path: str) -> Mapping[str, object] | None:
    """The tool's table; None for a pyproject.toml that has none. Raises BadFile."""
    with closing(Source(path)) as source:
        if source.size > _LARGEST:
            raise BadFile(path, f"has {source.size} bytes; a configuration has at most {_LARGEST}")
        data = source.read(0, source.size)
    own = os.path.basename(path) != "pyproject.toml"
    if not own and b"aligncheck" not in data:
        return None  # spares most projects the parser
    document = _parse(path, data)
    tool = document.get("tool")
    table = tool.get("aligncheck") if isinstance(tool, dict) else None
    if table is None:
        return document if own else None
    if not isinstance(table, dict):
        raise BadFile(path, f"is {_shown(table)}, not a table", place="tool.aligncheck")
    return table


def _parse(path: str, data: bytes) -> dict[str, object]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise BadFile(path, f"is no TOML: {str(error) or 'nested too deeply'}") from error


class _Reader:
    """Checks each value, and knows where it stands."""

    def __init__(self, path: str) -> None:
        self._path = path

    def settings(self, table: Mapping[str, object], place: str, allowed: Sequence[str]) -> Settings:
        self._check_keys(table, place, allowed)
        alignment = table.get("segment-alignment")
        where = f"{place}segment-alignment"
        return Settings(
            path=self._path,
            segment_alignments=() if alignment is None else (self._bytes(alignment, where),),
            requests=tuple(self._each(table, place, "requests", self._bytes).items()),
            backends=self._each(table, place, "backends", self._bytes_or_false),
            exclude=self._globs(table.get("exclude", []), f"{place}exclude"),
            overrides=self._overrides(table.get("overrides", [])),
        )

    def _overrides(self, value: object) -> tuple[tuple[tuple[str, ...], Settings], ...]:
        if not isinstance(value, list):
            raise self._bad("overrides", value, "a list of tables")
        result = []
        for index, item in enumerate(value):
            place = f"overrides[{index}]"
            if not isinstance(item, dict):
                raise self._bad(place, item, "a table")
            globs = self._globs(item.get("paths", []), f"{place}.paths")
            if not globs:
                raise self._bad(f"{place}.paths", globs, "a list with at least one glob")
            rest = {key: item[key] for key in item if key != "paths"}
            result.append((globs, self.settings(rest, f"{place}.", _OVERRIDABLE)))
        return tuple(result)

    def _check_keys(self, table: Mapping[str, object], place: str, allowed: Sequence[str]) -> None:
        for key in table:
            if key not in allowed:
                found = f"is not a setting; there are {', '.join(allowed)}"
                raise BadFile(self._path, found, place=f"{place}{key}")

    def _each(
        self,
        table: Mapping[str, object],
        place: str,
        name: str,
        read: Callable[[object, str], int],
    ) -> dict[str, int]:
        values = table.get(name, {})
        if not isinstance(values, dict):
            raise self._bad(f"{place}{name}", values, "a table")
        return {key: read(value, f"{place}{name}.{key}") for key, value in values.items()}

    def _bytes_or_false(self, value: object, place: str) -> int:
        return False if value is False else self._bytes(value, place)

    def _bytes(self, value: object, place: str) -> int:
        try:
            if isinstance(value, str):
                return parse_alignment(value)
            if isinstance(value, int) and not isinstance(value, bool):
                return check_alignment(value)
        except BadRequest as error:
            raise BadFile(self._path, str(error), place=place) from error
        raise self._bad(place, value, "a number of bytes such as 256 or '4K'")

    def _globs(self, value: object, place: str) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self._bad(place, value, "a list of globs")
        return tuple(value)

    def _bad(self, place: str, value: object, allowed: str) -> BadFile:
        return BadFile(self._path, f"is {_shown(value)}, not {allowed}", place=place)


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except RecursionError:
        text = "something nested very deeply"
    return text if len(text) <= 60 else f"{text[:57]}..."
