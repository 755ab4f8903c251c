"""Requests that are known for backends: for their payloads, and for the named data these use."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from aligncheck.model import Container, Level, Request
from aligncheck.requests import Asked
from aligncheck.requests.backend_facts import FACTS

_MANY = 64  # delegates that are named as users of one key


class User(NamedTuple):
    """A delegate that uses named data: its own name, and its backend's id."""

    name: str
    backend: str


class Survey(NamedTuple):
    """What is known from the files of a run.

    `users` are the delegates of its programs, by the key they use; `keys` the keys of its data
    files. `together` are the paths of the files and `homes` those that have a key, where the run is
    over one program and its data files; they are empty for other runs, whose files need not belong
    together.
    """

    users: Mapping[str, tuple[User, ...]]
    keys: frozenset[str]
    together: tuple[str, ...]
    homes: Mapping[str, tuple[str, ...]]


NO_SURVEY = Survey(users={}, keys=frozenset(), together=(), homes={})


def survey(containers: Iterable[Container]) -> Survey:
    """The users, the keys and the homes of the keys of several files."""
    users: dict[str, list[User]] = {}
    homes: dict[str, list[str]] = {}
    keys: set[str] = set()
    paths: list[str] = []
    programs = 0
    for container in containers:
        paths.append(container.path)
        names = {entry.name for entry in container.named_data}
        programs += container.format == "pte"
        keys.update(names if container.format == "ptd" else ())
        for name in names:
            homes.setdefault(name, []).append(container.path)
        _users(users, container, prefix=f"{container.path}: ")
    return Survey(
        users={key: tuple(sharers) for key, sharers in users.items()},
        keys=frozenset(keys),
        together=tuple(paths) if programs == 1 else (),
        homes={key: tuple(paths) for key, paths in homes.items()} if programs == 1 else {},
    )


def _users(
    known: dict[str, list[User]], container: Container, prefix: str = ""
) -> dict[str, list[User]]:
    """Adds a file's delegates to those that are known by the key they use; of many the first.

    Delegates that share a payload are looked at together: each may use a great many keys.
    """
    uses: dict[int, tuple[str, ...]] = {}
    users: dict[int, list[User]] = {}
    for _, entry in container.others():
        if entry.uses:
            uses[id(entry.uses)] = entry.uses
            sharers = users.setdefault(id(entry.uses), [])
            if len(sharers) < _MANY:
                sharers.append(User(name=f"{prefix}{entry.name}", backend=entry.backend or ""))
    for payload, keys in uses.items():
        for key in keys:
            known.setdefault(key, []).extend(users[payload])
    return known


class KnownBackends:
    """What each backend is known to need of its payload, and of the named data it uses.

    `own` replaces what is known of a backend by the user's own word: bytes, or False for nothing.
    A file's data may be used by delegates of another file, which `others` tells.
    """

    def __init__(
        self,
        own: Mapping[str, int | bool] | None = None,
        *,
        origin: str = "",
        others: Survey = NO_SURVEY,
    ) -> None:
        self._others = others
        self._payload: dict[str, Request] = {}
        self._named_data: dict[str, Request] = {}
        for fact in FACTS:
            _put(self._payload, fact.backend, fact.payload, fact.payload_level)
            _put(self._named_data, fact.backend, fact.named_data, fact.named_data_level)
        for backend, alignment in (own or {}).items():
            wanted = None if isinstance(alignment, bool) else alignment
            for table in (self._payload, self._named_data):
                _put(table, backend, wanted, "error", origin=f"{backend} ({origin})")

    def ask(self, container: Container) -> Asked:
        """The requests on payloads and on named data, who uses the latter, and what is missing."""
        asked = Asked()
        for index, entry in container.others():
            if entry.backend is not None and entry.holds_data:
                request = self._payload.get(entry.backend)
                if request is not None:
                    asked.entries.append((index, request))
        if container.format == "ptd":  # it has no delegates of its own
            self._ask_for_all(asked, container, self._others.users)
        else:
            own = _users({}, container)
            self._ask_for_all(asked, container, own)
            asked.unresolved = self._unresolved(container, own)
        return asked

    def _ask_for_all(
        self, asked: Asked, container: Container, users: Mapping[str, Sequence[User]]
    ) -> None:
        """The requests on the named data that delegates use."""
        if users:
            for index, entry in enumerate(container.named_data):
                if entry.name in users:
                    self._ask_for_named_data(asked, index, users[entry.name])

    def _ask_for_named_data(self, asked: Asked, index: int, users: Iterable[User]) -> None:
        asked.users += [(index, user.name) for user in islice(users, _MANY)]
        for backend in dict.fromkeys(user.backend for user in users):
            if backend in self._named_data:
                asked.entries.append((index, self._named_data[backend]))

    def _unresolved(self, container: Container, used: Collection[str]) -> list[str]:
        """The keys that a delegate here uses and that neither this file nor a data file has."""
        if not used:
            return []
        here = {entry.name for entry in container.named_data}
        return [key for key in used if key not in here and key not in self._others.keys]


def _put(
    table: dict[str, Request],
    backend: str,
    alignment: int | None,
    level: Level,
    *,
    origin: str | None = None,
) -> None:
    if alignment is None:
        table.pop(backend, None)
    else:
        table[backend] = Request(alignment=alignment, origin=origin or backend, level=level)
