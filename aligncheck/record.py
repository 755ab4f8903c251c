"""Recording what an export asks for: the alignment requests that the files themselves do not keep.

The only module that uses executorch, and only while it records. It stands in for
`NamedDataStore.add_named_data` (upstream's exir/_serialize/_named_data_store.py), by which
backends ask, from release 1.1 on.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from types import CodeType, FrameType
from typing import Any, NamedTuple

from aligncheck.errors import AligncheckError
from aligncheck.model import Container
from aligncheck.requests import Asked
from aligncheck.requests.sidecar import SUFFIX, KeyRequest, Sidecar, render

UNKNOWN_BACKEND = "unknown backend"
"""The origin of a request that was made before the recording began."""
_STORES = "executorch.exir._serialize"
_DISPATCHER = "executorch.exir.backend.backend_api"
_DETAILS = "executorch.exir.backend.backend_details"


class RecordError(AligncheckError):
    """Requests cannot be recorded here, or cannot be saved there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRequest:
    """One request that an export made.

    `alignment` is in bytes. `origin` is the id of the backend that asked, or the dotted name of
    the module where it was no backend. `file` is the name of the data file that the data go to,
    None for the program.
    """

    key: str
    alignment: int
    origin: str
    file: str | None


class Recording:
    """The requests seen so far. It can be given to `audit` and `fix` as it is."""

    def __init__(self) -> None:
        self._asked: set[RecordedRequest] = set()
        self._wishes: set[tuple[str, int]] = set()
        self._merged: dict[str, set[str | None]] = {}

    @property
    def requests(self) -> tuple[RecordedRequest, ...]:
        """All requests, sorted, each once.

        A key that a program's own store has taken over lies where that store has put it.
        """
        placed = {
            replace(request, file=file)
            for request in self._asked.copy()
            for file in self._merged.get(request.key, {request.file})
        }
        return tuple(sorted(placed, key=lambda r: (r.key, r.alignment, r.origin, r.file or "")))

    def ask(self, container: Container) -> Asked:
        """The requests on the named data of one file. A key that it lacks is in another one."""
        everything = (KeyRequest(r.key, r.alignment, r.origin) for r in self.requests)
        asked = Sidecar("", everything).ask(container)
        asked.stale.clear()
        return asked

    def save(self, path: str | os.PathLike[str]) -> tuple[str, ...]:
        """Write a sidecar for the program at `path`, and one in its folder for each data file.

        The files themselves need not be there yet. The program always gets its sidecar: an older
        one must not stay. Returns the paths of the sidecars; each is written whole or not at all.
        Raises RecordError where one cannot be written, BadRequest for an alignment over 1 GiB.
        """
        program = os.fspath(path)
        contents: dict[str, list[KeyRequest]] = {program: []}
        for r in self.requests:
            file = program if r.file is None else os.path.join(os.path.dirname(program), r.file)
            contents.setdefault(file, []).append(KeyRequest(r.key, r.alignment, r.origin))
        texts = {file + SUFFIX: render(requests) for file, requests in contents.items()}
        for sidecar, text in texts.items():
            _write(sidecar, text)
        return tuple(texts)

    def add(self, request: RecordedRequest) -> None:
        """Somebody asked a store."""
        self._asked.add(request)
        self._wishes.add((request.key, request.alignment))

    def merge(self, request: RecordedRequest) -> None:
        """A store takes over what another store was asked for."""
        if (request.key, request.alignment) not in self._wishes:
            self.add(request)
        self._merged.setdefault(request.key, set()).add(request.file)


@contextmanager
def record() -> Iterator[Recording]:
    """Record all alignment requests that this process makes in the block, in any thread.

    Put the lowering and `to_executorch()` of one model into the block. A call that raises is not
    recorded: it ends an export. Raises RecordError where executorch 1.1 or later is not installed.
    """
    recording = Recording()
    _OBSERVER.start(recording)
    try:
        yield recording
    finally:
        _OBSERVER.stop(recording)


class _Wish(NamedTuple):
    key: str
    alignment: int
    tag: str | None


def _wish(
    key: str,
    _data: Any = None,
    alignment: int | None = 1,
    external_tag: str | None = None,
    *_others: Any,
    **_named: Any,
) -> _Wish:
    """What `add_named_data` is asked for: its parameters as they are in executorch 1.1 to 1.5."""
    return _Wish(key, int(alignment or 1), external_tag)


class _Observer:
    """Stands in for `add_named_data` while anybody records, and tells all recordings."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._recordings: list[Recording] = []
        self._store: Any = None
        self._original: Any = None
        self._stand_in: Any = None

    def start(self, recording: Recording) -> None:
        store = _store_class()
        with self._lock:
            # Somebody else may have put something in its place meanwhile: then once more.
            if store.add_named_data is not self._stand_in:
                self._store, self._original = store, store.add_named_data
                self._stand_in = store.add_named_data = self._observed(self._original)
            self._recordings.append(recording)

    def stop(self, recording: Recording) -> None:
        with self._lock:
            self._recordings.remove(recording)
            if not self._recordings and self._store.add_named_data is self._stand_in:
                self._store.add_named_data = self._original
                self._store = self._original = self._stand_in = None

    def _observed(self, original: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(original)
        def add_named_data(store: Any, *args: Any, **kwargs: Any) -> None:
            original(store, *args, **kwargs)
            callers = list(_callers(inspect.currentframe()))
            self._tell(store, _wish(*args, **kwargs), callers)

        return add_named_data

    def _tell(self, store: Any, wish: _Wish, callers: Sequence[FrameType]) -> None:
        merging = any(caller.f_code.co_name == "merge_named_data_store" for caller in callers)
        request = RecordedRequest(
            key=wish.key,
            alignment=wish.alignment,
            origin=UNKNOWN_BACKEND if merging else _asker(callers),
            file=_file_of(store, wish),
        )
        with self._lock:
            for recording in self._recordings:
                (recording.merge if merging else recording.add)(request)


_OBSERVER = _Observer()


def _store_class() -> Any:
    try:
        from executorch.exir._serialize._named_data_store import NamedDataStore
    except ImportError as error:
        raise RecordError(
            "recording needs executorch 1.1 or later: pip install 'aligncheck[executorch]'"
        ) from error
    return NamedDataStore


def _file_of(store: Any, wish: _Wish) -> str | None:
    """Where a store holds a key: not where it was asked to if the key was elsewhere before.

    A data file is named as upstream's `write_tensor_data_to_file` does (exir/program/_program.py).
    """
    if wish.key in store.pte_data:
        return None
    tags = (tag for tag, keys in store.external_data.items() if wish.key in keys)
    tag: str | None = next(tags, wish.tag)
    return tag if tag is None or tag.endswith(".ptd") else f"{tag}.ptd"


def _callers(frame: FrameType | None) -> Iterator[FrameType]:
    """The frames around the stand-in's, from the inside out, but for those of this module."""
    while frame:
        if frame.f_globals.get("__name__") != __name__:
            yield frame
        frame = frame.f_back


def _asker(callers: Iterable[FrameType]) -> str:
    """The backend whose `preprocess` is running, else the module that called the store.

    Upstream's dispatcher names a backend by its class. Of several matches below the nearest
    dispatcher the outermost counts: backends may inherit the inner ones from a common base.
    """
    methods = _backend_methods()
    backends: set[str] = set()
    module = ""
    for caller in callers:
        name = caller.f_globals.get("__name__", "")
        if name == _DISPATCHER and backends:
            break
        backends = methods.get(caller.f_code, backends)
        module = module or ("" if name.startswith(_STORES) else name)
    return " or ".join(sorted(backends)) or module or UNKNOWN_BACKEND


def _backend_methods() -> dict[CodeType, set[str]]:
    """The names of all backends, by the code of the methods that the dispatcher calls.

    Upstream finds them by `BackendDetails.__subclasses__()`, too (exir/backend/backend_api.py).
    """
    base = getattr(sys.modules.get(_DETAILS), "BackendDetails", None)
    methods: dict[CodeType, set[str]] = {}
    for backend in base.__subclasses__() if base else ():
        for name in ("preprocess", "preprocess_multimethod"):
            code = _code(backend, name)
            # What all backends inherit tells none of them.
            if code and code is not _code(base, name):
                methods.setdefault(code, set()).add(backend.__name__)
    return methods


def _code(owner: Any, name: str) -> CodeType | None:
    """The code of a method, below its decorators."""
    method: Any = getattr(owner, name, None)
    return getattr(inspect.unwrap(method), "__code__", None)


def _write(path: str, text: str) -> None:
    """Writes a file under a name of its own beside `path`, and then gives it that name."""
    temporary = f"{path}.{os.urandom(8).hex()}.tmp"
    try:
        with open(temporary, "x", encoding="ascii", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise RecordError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            os.unlink(temporary)
