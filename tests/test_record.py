"""Recording an export: what is seen, who asked, and how everything is as before afterwards.

A few small modules stand in for executorch here; tests/exporter/test_record.py has the real one.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from aligncheck import AligncheckError, BadRequest, audit, fix
from aligncheck.record import UNKNOWN_BACKEND, RecordedRequest, RecordError, Recording, record
from tests.support import samples

STORE = "executorch.exir._serialize._named_data_store"
MODULES = {
    STORE: """
class NamedDataStore:
    def __init__(self):
        self.pte_data = {}
        self.external_data = {}

    def add_named_data(self, key, data, alignment=1, external_tag=None, tensor_layout=None):
        '''Add.'''
        if data == b"refused":
            raise ValueError(key)
        if any(key in keys for keys in (self.pte_data, *self.external_data.values())):
            return
        keys = self.pte_data
        if external_tag is not None:
            keys = self.external_data.setdefault(external_tag, {})
        keys[key] = (data, alignment or 1)

    def merge_named_data_store(self, other):
        for tag, keys in {None: other.pte_data, **other.external_data}.items():
            for key, (data, alignment) in keys.items():
                self.add_named_data(key, data, alignment, external_tag=tag)
""",
    "executorch.exir._serialize._serialize": "def call(function, *args): return function(*args)",
    "executorch.exir.backend.backend_details": """
class BackendDetails:
    @classmethod
    def preprocess_multimethod(cls, *args):
        return cls.preprocess(*args)
""",
    "executorch.exir.backend.backend_api": """
def to_backend(backend, *args):
    return backend.preprocess(*args)

def lower_all(backend, *args):
    return backend.preprocess_multimethod(*args)
""",
    "vendor.helper": "def ask(store, *args, **kwargs): store.add_named_data(*args, **kwargs)",
}


class Upstream:
    """The stand-ins."""

    def __init__(self, modules: dict[str, ModuleType]) -> None:
        self.store: Any = modules[STORE].__dict__["NamedDataStore"]
        self.details: Any = modules["executorch.exir.backend.backend_details"].BackendDetails
        self.api: Any = modules["executorch.exir.backend.backend_api"]
        self.call: Any = modules["executorch.exir._serialize._serialize"].call
        self.ask: Any = modules["vendor.helper"].ask

    def backend(self, name: str, body: Callable[..., Any], *bases: type) -> Any:
        """A backend whose `preprocess` is this function."""
        return type(name, (*bases, self.details), {"preprocess": staticmethod(body)})


@pytest.fixture
def upstream(monkeypatch: pytest.MonkeyPatch) -> Upstream:
    modules = {}
    for name, source in MODULES.items():
        modules[name] = ModuleType(name)
        exec(source, modules[name].__dict__)
        monkeypatch.setitem(sys.modules, name, modules[name])
    return Upstream(modules)


def asked(recording: Recording) -> list[tuple[str, int, str | None]]:
    return [(r.key, r.alignment, r.file) for r in recording.requests]


def origins(recording: Recording) -> dict[str, str]:
    return {request.key: request.origin for request in recording.requests}


def test_a_request_is_recorded_with_all_that_is_known(upstream: Upstream) -> None:
    store = upstream.store()
    with record() as requests:
        store.add_named_data("k", b"data", 16)
        store.add_named_data("x", b"data", external_tag="weights", alignment=48)
    assert requests.requests == (
        RecordedRequest(key="k", alignment=16, origin=__name__, file=None),
        RecordedRequest(key="x", alignment=48, origin=__name__, file="weights.ptd"),
    )
    assert store.pte_data == {"k": (b"data", 16)}


def test_no_alignment_is_1(upstream: Upstream) -> None:
    store = upstream.store()
    with record() as requests:
        store.add_named_data("a", b"data")
        store.add_named_data(key="b", data=b"data", alignment=None)
    assert asked(requests) == [("a", 1, None), ("b", 1, None)]


def test_a_request_that_the_store_drops_is_recorded(upstream: Upstream) -> None:
    store = upstream.store()
    with record() as requests:
        store.add_named_data("k", b"data", 16)
        store.add_named_data("k", b"data", 4096)
    assert asked(requests) == [("k", 16, None), ("k", 4096, None)]


def test_a_request_that_is_refused_is_not_recorded(upstream: Upstream) -> None:
    store = upstream.store()
    with record() as requests, pytest.raises(ValueError, match=r"^k$"):
        store.add_named_data("k", b"refused", 16)
    assert requests.requests == ()


def test_nothing_is_recorded_outside_of_the_block(upstream: Upstream) -> None:
    store = upstream.store()
    store.add_named_data("before", b"data")
    with record() as requests:
        pass
    store.add_named_data("after", b"data")
    assert requests.requests == ()


def test_the_store_is_as_before_afterwards(upstream: Upstream) -> None:
    before = upstream.store.__dict__["add_named_data"]
    with record():
        inside = upstream.store.__dict__["add_named_data"]
        assert inside is not before
        assert (inside.__name__, inside.__doc__) == ("add_named_data", "Add.")
    assert upstream.store.__dict__["add_named_data"] is before


def test_an_error_in_the_block_comes_through_and_the_store_is_as_before(upstream: Upstream) -> None:
    def export() -> None:
        upstream.store().add_named_data("k", b"data", 2)
        raise KeyboardInterrupt

    before = upstream.store.add_named_data
    with pytest.raises(KeyboardInterrupt), record() as requests:
        export()
    assert upstream.store.add_named_data is before
    assert asked(requests) == [("k", 2, None)]


def test_recordings_nest(upstream: Upstream) -> None:
    before = upstream.store.add_named_data
    store = upstream.store()
    with record() as outer:
        store.add_named_data("a", b"data")
        with record() as inner:
            store.add_named_data("b", b"data")
        store.add_named_data("c", b"data")
    assert [key for key, _, _ in asked(outer)] == ["a", "b", "c"]
    assert [key for key, _, _ in asked(inner)] == ["b"]
    assert upstream.store.add_named_data is before


def test_recordings_may_end_in_the_order_in_which_they_began(upstream: Upstream) -> None:
    before = upstream.store.add_named_data
    first, second = ExitStack(), ExitStack()
    early, late = first.enter_context(record()), second.enter_context(record())
    first.close()
    upstream.store().add_named_data("k", b"data")
    second.close()
    assert upstream.store.add_named_data is before
    assert early.requests == ()
    assert asked(late) == [("k", 1, None)]


def test_what_somebody_else_put_in_its_place_stays(upstream: Upstream) -> None:
    original = upstream.store.add_named_data

    def other(self: Any, *args: Any, **kwargs: Any) -> None:
        seen.append(args[0])
        beneath(self, *args, **kwargs)

    seen: list[str] = []
    with record() as first:
        beneath = upstream.store.add_named_data
        upstream.store.add_named_data = other
        upstream.store().add_named_data("a", b"data", 8)
    assert upstream.store.add_named_data is other
    with record() as second:
        upstream.store().add_named_data("b", b"data", 8)
    assert upstream.store.add_named_data is other
    assert seen == ["a", "b"]
    assert (asked(first), asked(second)) == ([("a", 8, None)], [("b", 8, None)])
    upstream.store.add_named_data = original
    with record() as third:
        upstream.store().add_named_data("c", b"data", 8)
    assert asked(third) == [("c", 8, None)]


def test_recordings_in_many_threads_leave_the_store_as_before(upstream: Upstream) -> None:
    before = upstream.store.add_named_data
    recordings: list[Recording] = []

    def run(number: int) -> None:
        for turn in range(20):
            with record() as requests:
                upstream.store().add_named_data(f"{number}.{turn}", b"data", number + 1)
            assert (f"{number}.{turn}", number + 1, None) in asked(requests)
            recordings.append(requests)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(recordings) == 8 * 20
    assert upstream.store.add_named_data is before


def test_without_executorch_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, STORE, None)
    with pytest.raises(RecordError) as caught, record():
        pytest.fail("there is nothing to record")
    assert isinstance(caught.value, AligncheckError)
    assert str(caught.value) == (
        "recording needs executorch 1.1 or later: pip install 'aligncheck[executorch]'"
    )


def test_the_asker_is_the_backend_being_lowered(upstream: Upstream) -> None:
    backend = upstream.backend("NpuBackend", lambda key: upstream.ask(upstream.store(), key, b""))
    with record() as requests:
        upstream.api.to_backend(backend, "single")
        upstream.api.lower_all(backend, "multi")
        backend.preprocess("direct")
    assert set(origins(requests).items()) == {
        ("single", "NpuBackend"),
        ("multi", "NpuBackend"),
        ("direct", "NpuBackend"),
    }


def test_the_asker_is_found_below_decorators(upstream: Upstream) -> None:
    def decorated(function: Callable[[str], None]) -> Callable[[str], None]:
        @functools.wraps(function)
        def wrapper(key: str) -> None:
            function(key)

        return wrapper

    one = decorated(lambda key: upstream.store().add_named_data(key, b""))
    two = decorated(lambda key: upstream.ask(upstream.store(), key, b""))
    with record() as requests:
        upstream.api.lower_all(upstream.backend("One", one), "a")
        upstream.api.lower_all(upstream.backend("Two", two), "b")
    assert origins(requests) == {"a": "One", "b": "Two"}


def test_a_backend_that_uses_the_preprocess_of_a_base_is_the_asker(upstream: Upstream) -> None:
    class Base:
        @classmethod
        def preprocess(cls, key: str) -> None:
            upstream.ask(upstream.store(), key, b"")

    inheriting = type("Inheriting", (Base, upstream.details), {})
    calling = upstream.backend("Calling", lambda key: [Base.preprocess(key)])
    with record() as requests:
        upstream.api.to_backend(inheriting, "a")
        upstream.api.to_backend(calling, "b")
    assert origins(requests) == {"a": "Inheriting", "b": "Calling"}


def test_backends_that_cannot_be_told_apart_are_both_named(upstream: Upstream) -> None:
    class Base:
        @classmethod
        def preprocess(cls, key: str) -> None:
            upstream.ask(upstream.store(), key, b"")

    backends = [type(name, (Base, upstream.details), {}) for name in ("Second", "First")]
    with record() as requests:
        upstream.api.to_backend(backends[0], "k")
    assert origins(requests) == {"k": "First or Second"}


def test_a_backend_within_a_backend_is_the_asker(upstream: Upstream) -> None:
    inner = upstream.backend("Inner", lambda key: upstream.ask(upstream.store(), key, b""))
    outer = upstream.backend("Outer", lambda key: upstream.api.to_backend(inner, key))
    with record() as requests:
        upstream.api.to_backend(outer, "k")
    assert origins(requests) == {"k": "Inner"}


def test_without_a_backend_the_asker_is_the_module_that_called(upstream: Upstream) -> None:
    with record() as requests:
        upstream.ask(upstream.store(), "helper", b"")
        upstream.call(upstream.store().add_named_data, "exporter", b"")
    assert origins(requests) == {"helper": "vendor.helper", "exporter": __name__}


def test_a_merged_store_asks_for_nothing_new(upstream: Upstream) -> None:
    def preprocess() -> Any:
        store = upstream.store()
        store.add_named_data("k", b"data", 16)
        store.add_named_data("x", b"data", 32, "weights")
        return store

    with record() as requests:
        lowered = upstream.api.to_backend(upstream.backend("Npu", preprocess))
        for _ in range(2):
            upstream.store().merge_named_data_store(lowered)
    assert [(r.key, r.alignment, r.origin, r.file) for r in requests.requests] == [
        ("k", 16, "Npu", None),
        ("x", 32, "Npu", "weights.ptd"),
    ]


def test_a_store_from_before_the_recording_has_no_known_asker(upstream: Upstream) -> None:
    early = upstream.store()
    early.add_named_data("k", b"data", 16)
    with record() as requests:
        upstream.store().add_named_data("k", b"data", 4096)
        upstream.store().merge_named_data_store(early)
    assert [(r.alignment, r.origin) for r in requests.requests] == [
        (16, UNKNOWN_BACKEND),
        (4096, __name__),
    ]


def test_a_key_in_two_files_is_where_the_store_has_it(upstream: Upstream) -> None:
    one, two, all_of_it = upstream.store(), upstream.store(), upstream.store()
    with record() as requests:
        one.add_named_data("k", b"data", 16)
        two.add_named_data("k", b"data", 4096, "weights")
        all_of_it.merge_named_data_store(one)
        all_of_it.merge_named_data_store(two)
    assert asked(requests) == [("k", 16, None), ("k", 4096, None)]


def test_a_key_registered_twice_for_two_files_is_in_the_first(upstream: Upstream) -> None:
    store = upstream.store()
    with record() as requests:
        store.add_named_data("k", b"data", 16, "weights")
        store.add_named_data("k", b"data", 4096)
    assert {file for _, _, file in asked(requests)} == {"weights.ptd"}


def test_data_moved_to_another_file_before_the_merge_are_followed(upstream: Upstream) -> None:
    store = upstream.store()
    with record() as requests:
        store.add_named_data("k", b"data", 16)
        store.external_data["shard"], store.pte_data = store.pte_data, {}
        upstream.store().merge_named_data_store(store)
    assert asked(requests) == [("k", 16, "shard.ptd")]


def recorded(upstream: Upstream) -> Recording:
    store = upstream.store()
    with record() as requests:
        store.add_named_data("weak", b"data", 16)
        store.add_named_data("strong", b"data", 256)
        store.add_named_data("out", b"data", 64, "weights")
        store.add_named_data("other", b"data", 8, "more.ptd")
    return requests


def content(path: str | Path) -> list[dict[str, Any]]:
    document = json.loads(Path(path).read_text(encoding="utf-8"))
    assert document.keys() == {"version", "requests"}
    requests: list[dict[str, Any]] = document["requests"]
    return requests


def test_a_sidecar_is_written_for_each_file(upstream: Upstream, tmp_path: Path) -> None:
    paths = recorded(upstream).save(tmp_path / "model.pte")
    names = ["model.pte.align.json", "more.ptd.align.json", "weights.ptd.align.json"]
    assert sorted(paths) == [str(tmp_path / name) for name in names]
    assert sorted(os.listdir(tmp_path)) == names
    assert content(tmp_path / names[0]) == [
        {"key": "strong", "alignment": 256, "origin": __name__},
        {"key": "weak", "alignment": 16, "origin": __name__},
    ]
    assert content(tmp_path / names[1]) == [{"key": "other", "alignment": 8, "origin": __name__}]
    assert content(tmp_path / names[2]) == [{"key": "out", "alignment": 64, "origin": __name__}]


def test_a_name_without_a_folder_is_in_the_current_one(
    upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "weights.ptd.align.json" in recorded(upstream).save("model.pte")
    assert len(os.listdir(tmp_path)) == 3


def test_an_older_sidecar_does_not_stay(tmp_path: Path) -> None:
    path = tmp_path / "model.pte.align.json"
    path.write_text("old")
    assert Recording().save(str(tmp_path / "model.pte")) == (str(path),)
    assert content(path) == []


def test_a_sidecar_gets_the_usual_permissions(tmp_path: Path) -> None:
    usual = tmp_path / "usual"
    usual.touch()
    (path,) = Recording().save(tmp_path / "model.pte")
    assert os.stat(path).st_mode == usual.stat().st_mode


def test_a_sidecar_that_cannot_be_written_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "model.pte.align.json").mkdir()
    with pytest.raises(RecordError, match=r"model\.pte\.align\.json: cannot be written: Is a dir"):
        Recording().save(tmp_path / "model.pte")
    assert os.listdir(tmp_path) == ["model.pte.align.json"]
    with pytest.raises(RecordError, match="cannot be written: No such file or directory"):
        Recording().save(tmp_path / "none" / "model.pte")


def test_an_alignment_that_is_too_large_is_refused_before_anything_is_written(
    upstream: Upstream, tmp_path: Path
) -> None:
    with record() as requests:
        upstream.store().add_named_data("k", b"data", 2**31)
    with pytest.raises(BadRequest, match="for the key 'k'"):
        requests.save(tmp_path / "model.pte")
    assert os.listdir(tmp_path) == []


def test_a_recording_can_be_given_to_audit_and_fix(upstream: Upstream, tmp_path: Path) -> None:
    requests = recorded(upstream)
    path = samples.weak_first(samples.pte).build().write(tmp_path / "model.pte")
    (finding,) = audit(path, [requests]).findings
    assert finding.entry is not None
    assert finding.entry.name == "strong"
    assert [request.origin for request in finding.requests] == [f"{__name__} (recorded)"]
    assert audit(path, [requests]).container.path == str(path)
    assert fix(path, [requests]).after.findings == ()
