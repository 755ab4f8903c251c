"""Recorded requests, in a file beside the model: `model.pte.align.json`, read and written here.

The format is described in docs/recording.md and in docs/aligncheck-requests-v1.schema.json.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple, NoReturn

from aligncheck.errors import BadFile, BadRequest
from aligncheck.formats.source import Source
from aligncheck.model import MAX_ALIGNMENT, Container, Request
from aligncheck.requests import Asked

SUFFIX = ".align.json"
VERSION = 1
MAX_SIZE = 8 * 2**20
"""The largest sidecar that is read: room for 50,000 requests. Parsed JSON takes 20 times that."""
MAX_PER_KEY = 64
"""Different requests for one key; bounds the work where many entries of a file have one name."""
_LONGEST_NUMBER = 20


class KeyRequest(NamedTuple):
    """One request in a sidecar: the key, bytes, and who asked."""

    key: str
    alignment: int
    origin: str


class Sidecar:
    """The requests that were recorded for one file, by the keys of its named data.

    `path` is the sidecar's own.
    """

    def __init__(self, path: str, requests: Iterable[KeyRequest]) -> None:
        self.path = path
        by_key: dict[str, dict[Request, None]] = {}
        for key, alignment, origin in requests:
            request = Request(alignment=alignment, origin=f"{origin} (recorded)")
            by_key.setdefault(key, {})[request] = None
        self._by_key = {key: tuple(found) for key, found in by_key.items()}

    def ask(self, container: Container) -> Asked:
        """The requests on named data; a key that the file does not have is stale."""
        named: dict[str, list[int]] = {}
        for index, entry in enumerate(container.named_data):
            named.setdefault(entry.name, []).append(index)
        asked = Asked()
        for key, requests in self._by_key.items():
            if key not in named:
                asked.stale.append((key, self.path))
            asked.entries += [(index, item) for index in named.get(key, ()) for item in requests]
        return asked


def find_sidecar(path: str) -> str | None:
    """The path of the sidecar beside a model file; None if there is none."""
    sidecar = path + SUFFIX
    # A dangling link is one, too: requests must not get lost without a word.
    return sidecar if os.path.lexists(sidecar) else None


def read_sidecar(path: str) -> Sidecar:
    """The sidecar at `path`. Raises BadFile for whatever is no sidecar of version 1."""
    with closing(Source(path)) as source:
        if source.size > MAX_SIZE:
            raise BadFile(
                path, f"is {source.size} bytes long; {MAX_SIZE} are the most for requests"
            )
        data = source.read(0, source.size)
    try:
        return Sidecar(path, _requests(_decoded(data)))
    except _Fault as fault:
        raise BadFile(path, fault.found, place=fault.place) from fault


def render(requests: Iterable[KeyRequest]) -> str:
    """A sidecar's text: sorted, each request once and on a line of its own, in ASCII.

    Raises BadRequest for requests that `read_sidecar` would refuse.
    """
    import json

    lines = []
    for request in sorted(set(requests)):
        if not 1 <= request.alignment <= MAX_ALIGNMENT:
            raise BadRequest(
                f"{request.origin} asked for {request.alignment} bytes for the key {request.key!r};"
                " an alignment is 1 byte to 1 GiB"
            )
        lines.append("\n    " + json.dumps(request._asdict()))
    end = "\n  " if lines else ""
    text = f'{{\n  "version": {VERSION},\n  "requests": [{",".join(lines)}{end}]\n}}\n'
    if len(text) > MAX_SIZE:
        raise BadRequest(f"{len(lines)} requests do not fit into a sidecar of {MAX_SIZE} bytes")
    return text


class _Fault(Exception):  # says what BadFile will say
    """What is wrong, and where in the document; None for all of it."""

    def __init__(self, place: str | None, found: str) -> None:
        super().__init__(place, found)
        self.place = place
        self.found = found


class _OtherNumber(str):
    """A number that no field can have, as written: a fraction, or one with very many digits."""

    __slots__ = ()


class _Repeated(str):
    """Stands for an object in which this name occurs twice."""

    __slots__ = ()


def _decoded(data: bytes) -> Any:
    import json

    try:
        return json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_OtherNumber,
            parse_constant=_constant,
        )
    except UnicodeDecodeError as error:
        raise _Fault(f"byte {error.start}", "is not UTF-8") from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise _Fault(place, f"is no JSON: {error.msg}") from error
    except RecursionError as error:
        raise _Fault(None, "is nested too deeply") from error


def _object(pairs: Sequence[tuple[str, Any]]) -> Mapping[str, Any] | _Repeated:
    fields = dict(pairs)
    if len(fields) == len(pairs):
        return fields
    counts = Counter(name for name, _ in pairs)
    return _Repeated(next(name for name, count in counts.items() if count > 1))


def _integer(digits: str) -> int | _OtherNumber:
    return int(digits) if len(digits) <= _LONGEST_NUMBER else _OtherNumber(digits)


def _constant(name: str) -> NoReturn:
    raise _Fault(None, f"is no JSON: it holds {name}")


def _requests(document: Any) -> list[KeyRequest]:
    fields = _fields(document, None)
    version = _member(fields, "version", "version")
    if type(version) is not int or version != VERSION:
        raise _Fault("version", f"is {_shown(version)}; this release reads version {VERSION}")
    items = _member(fields, "requests", "requests")
    if not isinstance(items, list):
        raise _Fault("requests", f"is {_shown(items)}, not a list")
    requests: dict[KeyRequest, None] = {}
    counts: dict[str, int] = {}
    for index, item in enumerate(items):
        request = _request(item, f"requests[{index}]")
        if request not in requests:
            requests[request] = None
            counts[request.key] = counts.get(request.key, 0) + 1
            if counts[request.key] > MAX_PER_KEY:
                raise _Fault(f"requests[{index}]", f"is one of over {MAX_PER_KEY} for its key")
    return list(requests)


def _request(item: Any, place: str) -> KeyRequest:
    fields = _fields(item, place)
    key = _text(fields, "key", f"{place}.key")
    alignment = _member(fields, "alignment", f"{place}.alignment")
    # `type`: true and false are numbers to Python.
    if type(alignment) is not int or not 1 <= alignment <= MAX_ALIGNMENT:
        found = f"is {_shown(alignment)}, not a whole number from 1 to {MAX_ALIGNMENT}"
        raise _Fault(f"{place}.alignment", found)
    origin = _text(fields, "origin", f"{place}.origin")
    if not origin:
        raise _Fault(f"{place}.origin", "is empty")
    return KeyRequest(key, alignment, origin)


def _fields(value: Any, place: str | None) -> Mapping[str, Any]:
    if isinstance(value, _Repeated):
        raise _Fault(place, f"has the name {_cut(value)!r} twice")
    if not isinstance(value, dict):
        raise _Fault(place, f"is {_shown(value)}, not an object")
    return value


def _member(fields: Mapping[str, Any], name: str, place: str) -> Any:
    if name not in fields:
        raise _Fault(place, "is missing")
    return fields[name]


def _text(fields: Mapping[str, Any], name: str, place: str) -> str:
    value = _member(fields, name, place)
    if type(value) is not str:
        raise _Fault(place, f"is {_shown(value)}, not a text")
    return value


def _shown(value: Any) -> str:
    """A JSON value, short enough for a message and safe to print."""
    if isinstance(value, _Repeated | dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, _OtherNumber):
        return _cut(value)
    if isinstance(value, str):
        return f"the text {_cut(value)!r}"
    if value is None:
        return "null"
    return str(value).lower()  # a boolean as JSON writes it


def _cut(text: str) -> str:
    return str(text) if len(text) <= 40 else f"{text[:40]}..."
