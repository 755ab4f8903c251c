"""Recording real exports: what the files lose, the sidecars keep, and a fix gives it back."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from aligncheck import audit, fix
from aligncheck.record import UNKNOWN_BACKEND, Recording, record
from aligncheck.requests.sidecar import find_sidecar, read_sidecar
from tests.exporter import upstream
from tests.exporter.models import Model, external, methods, run, two_backends, xnnpack_external
from tests.support import cli

pytestmark = pytest.mark.exporter

SCHEMA = Path(__file__).parents[2] / "docs" / "aligncheck-requests-v1.schema.json"
TAG = "weights"
WEAK, STRICT = 16, 4096
each_file = pytest.mark.parametrize("tag", [None, TAG], ids=["pte", "ptd"])
"""Where the backends put their named data."""


class Wish:
    """What the test backend asks for its weight, in turn."""

    def __init__(self, *asked: tuple[str, int], tag: str | None = None) -> None:
        self.asked = asked
        self.tag = tag

    def specification(self) -> list[Any]:
        from executorch.exir.backend.compile_spec_schema import CompileSpec

        return [CompileSpec("wish", json.dumps([self.asked, self.tag]).encode())]


@cache
def asking_backend() -> Any:
    """A backend that asks as its compile specification says."""
    from executorch.exir._serialize._named_data_store import NamedDataStore
    from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult

    class AskingBackend(BackendDetails):  # type: ignore[misc]  # executorch is not typed here
        @staticmethod
        def preprocess(edge_program: Any, specification: Any) -> Any:
            (weight,) = edge_program.state_dict.values()
            asked, tag = json.loads(specification[0].value)
            store = NamedDataStore()
            for key, alignment in asked:
                store.add_named_data(key, weight.numpy().tobytes(), alignment, tag)
            return PreprocessResult(
                b"asking", data_store_output=store.get_named_data_store_output()
            )

    return AskingBackend


def asking_partitioner(wish: Wish) -> Any:
    """Gives a whole method to that backend."""
    from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
    from executorch.exir.backend.utils import tag_constant_data

    class AskingPartitioner(Partitioner):  # type: ignore[misc]  # executorch is not typed here
        def partition(self, exported_program: Any) -> Any:
            for node in exported_program.graph.nodes:
                if node.op == "call_function":
                    node.meta["delegation_tag"] = "all"
            tag_constant_data(exported_program)
            delegate = DelegationSpec(asking_backend().__name__, wish.specification())
            return PartitionResult(exported_program, {"all": delegate})

    return AskingPartitioner()


def inputs() -> tuple[Any, ...]:
    import torch

    return (torch.linspace(-1, 1, 32).reshape(2, 16),)


def layer(tag: str | None) -> Any:
    """An exported layer; with a tag, XNNPACK puts its weight into that data file."""
    import torch
    from executorch.exir.passes.external_constants_pass import (
        delegate_external_constants_pass_unlifted,
    )

    module = torch.nn.Linear(16, 16, bias=False)
    module.weight.requires_grad_(requires_grad=False).copy_(
        torch.linspace(-1, 1, 256).reshape(16, 16)
    )
    exported = torch.export.export(module.eval(), inputs())
    if tag is None:
        return exported
    tagged = exported.module()
    delegate_external_constants_pass_unlifted(tagged, lambda _node: tag)
    # Only a strict export keeps the tags that the pass has set.
    return torch.export.export(tagged, inputs(), strict=True)


def lowered(wish: Wish) -> Any:
    """Two methods with equal weights: XNNPACK's, which asks first, and the test backend's."""
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    return to_edge_transform_and_lower(
        {"a_weak": layer(wish.tag), "b_strict": layer(None)},
        partitioner={"a_weak": [XnnpackPartitioner()], "b_strict": [asking_partitioner(wish)]},
    )


def save(manager: Any, path: Path) -> None:
    """Writes the program and its data files with upstream's own names."""
    manager.save(str(path))
    manager.write_tensor_data_to_file(str(path.parent))


def exported(wish: Wish, folder: Path) -> tuple[Path, Recording]:
    """The file with the named data of an export that was recorded, its sidecar beside it."""
    path = folder / "model.pte"
    with record() as requests:
        save(lowered(wish).to_executorch(), path)
    requests.save(path)
    return (folder / f"{wish.tag}.ptd" if wish.tag else path), requests


Export = Callable[..., tuple[Path, Recording]]


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Export:
    """`exported`, once for each wish. Its files are shared: copy them to change them."""
    made: dict[str, tuple[Path, Recording]] = {}

    def once(*asked: tuple[str, int], tag: str | None = None) -> tuple[Path, Recording]:
        wish = Wish(*asked, tag=tag)
        name = repr((asked, tag))
        if name not in made:
            made[name] = exported(wish, tmp_path_factory.mktemp("recorded"))
        return made[name]

    return once


def copied(path: Path, folder: Path) -> Path:
    """A copy of a file and all that lies beside it, to be changed."""
    shutil.copytree(path.parent, folder, dirs_exist_ok=True)
    return folder / path.name


def sidecar_of(path: Path) -> str:
    found = find_sidecar(str(path))
    assert found is not None
    return found


def recorded(path: Path) -> list[tuple[int, str]]:
    """The alignments and origins in the sidecar beside a file."""
    requests = json.loads(Path(sidecar_of(path)).read_text(encoding="utf-8"))["requests"]
    return sorted((request["alignment"], request["origin"]) for request in requests)


@each_file
def test_both_backends_are_recorded(tag: str | None, export: Export) -> None:
    path, requests = export(("strict", STRICT), tag=tag)
    assert recorded(path) == [(WEAK, "XnnpackBackend"), (STRICT, "AskingBackend")]
    assert {request.file for request in requests.requests} == {tag and f"{tag}.ptd"}
    assert {r.key for r in requests.requests} == upstream.payloads(path.read_bytes()).keys()


@each_file
def test_the_lost_request_is_found_with_both_backends(tag: str | None, export: Export) -> None:
    path, _ = export(("strict", STRICT), tag=tag)
    result = audit(path, backends=False)
    (finding,) = result.findings
    assert finding.entry is not None
    assert (finding.entry.name, finding.required, finding.level) == ("strict", STRICT, "error")
    assert [request.origin for request in finding.requests] == ["AskingBackend (recorded)"]
    (weak,) = upstream.payloads(path.read_bytes()).keys() - {"strict"}
    # In the .ptd nothing lies before the shared data: their offset is 0, and only the base is odd.
    cause = ("segment-base", None) if tag else ("shared-segment", weak)
    assert (finding.cause, finding.sharer) == cause
    asked = {entry.name: [r.origin for r in requests] for entry, requests, _ in result.judged()}
    assert asked[weak] == ["XnnpackBackend (recorded)"]
    assert result.remarks == ()


@each_file
def test_a_plain_run_finds_the_sidecar_and_names_both(tag: str | None, export: Export) -> None:
    path, _ = export(("strict", STRICT), tag=tag)
    plain, verbose = cli.run(path, columns=200), cli.run("-v", path, columns=200)
    assert (plain.code, verbose.code) == (1, 1)
    assert "AskingBackend (recorded)" in plain.out
    assert "16 by XnnpackBackend (recorded)" in verbose.out


@each_file
def test_a_sidecar_or_a_recording_can_be_given(tag: str | None, export: Export) -> None:
    path, requests = export(("strict", STRICT), tag=tag)
    assert audit(path, sidecar=False).findings == ()
    for asker in (read_sidecar(sidecar_of(path)), requests):
        (finding,) = audit(path, [asker], sidecar=False).findings
        assert [request.origin for request in finding.requests] == ["AskingBackend (recorded)"]


@each_file
def test_a_fix_repairs_it_and_the_runtime_computes_the_same(
    tag: str | None, export: Export, tmp_path: Path
) -> None:
    path = copied(export(("strict", STRICT), tag=tag)[0], tmp_path)
    model = Model(
        name="model",
        path=tmp_path / "model.pte",
        data=path if tag else None,
        # The runtime does not know the other method's backend.
        inputs={"a_weak": inputs()},
    )
    before = run(model)
    assert fix(path).applied
    assert audit(path).findings == ()
    for old, new in zip(before, run(model), strict=True):
        assert all(a.equal(b) for a, b in zip(old, new, strict=True))


@each_file
def test_the_stricter_second_request_for_a_key_is_recorded(
    tag: str | None, export: Export, tmp_path: Path
) -> None:
    path, _ = export(("twice", WEAK), ("twice", STRICT), tag=tag)
    asking = [item for item in recorded(path) if item[1] == "AskingBackend"]
    assert asking == [(WEAK, "AskingBackend"), (STRICT, "AskingBackend")]
    (finding,) = audit(path).findings
    assert finding.entry is not None
    assert finding.entry.name == "twice"
    assert fix(path, output=tmp_path / path.name).after.findings == ()


def test_the_program_has_a_sidecar_without_requests_where_all_data_are_external(
    export: Export,
) -> None:
    path, _ = export(("strict", STRICT), tag=TAG)
    assert recorded(path.with_name("model.pte")) == []


def test_the_backend_of_the_other_tests_is_recorded_too(tmp_path: Path) -> None:
    with record() as requests:
        model = two_backends(tmp_path / "model.pte")
    requests.save(model.path)
    assert {origin for _, origin in recorded(model.path)} == {"StrictBackend", "XnnpackBackend"}
    assert len(audit(model.path).findings) == 1


@pytest.mark.parametrize("make", [methods, xnnpack_external, external])
def test_each_named_entry_of_a_model_has_a_request(
    make: Callable[[Path], Model], tmp_path: Path
) -> None:
    with record() as requests:
        model = make(tmp_path / "model.pte")
    for path in model.files:
        result = audit(path, [requests], backends=False)
        assert result.unknown == 0
        assert result.findings == ()


def test_a_second_export_gives_the_same_files_and_sidecar(export: Export, tmp_path: Path) -> None:
    path, _ = export(("strict", STRICT))
    again, _ = exported(Wish(("strict", STRICT)), tmp_path)
    assert Path(sidecar_of(again)).read_bytes() == Path(sidecar_of(path)).read_bytes()
    assert again.read_bytes() == path.read_bytes()


@each_file
def test_a_sidecar_fits_the_schema_that_is_shipped(tag: str | None, export: Export) -> None:
    path, _ = export(("strict", STRICT), tag=tag)
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.validate(json.loads(Path(sidecar_of(path)).read_text(encoding="utf-8")), schema)


def test_an_export_is_the_same_whether_recorded_or_not(export: Export, tmp_path: Path) -> None:
    from executorch.exir._serialize._named_data_store import NamedDataStore

    before = NamedDataStore.__dict__["add_named_data"]
    path, _ = export(("strict", STRICT))
    manager = lowered(Wish(("strict", STRICT)))
    # The stores have been collected by now: nothing more is asked for.
    with record() as requests:
        save(manager.to_executorch(), tmp_path / "model.pte")
    assert requests.requests == ()
    assert (tmp_path / "model.pte").read_bytes() == path.read_bytes()
    assert NamedDataStore.__dict__["add_named_data"] is before


def stores(*asked: Sequence[Any]) -> Any:
    """A real store that was asked so."""
    from executorch.exir._serialize._named_data_store import NamedDataStore

    store = NamedDataStore()
    for key, data, alignment, tag in asked:
        store.add_named_data(key, data, alignment, tag)
    return store


def test_data_that_a_backend_moves_to_other_files_are_followed() -> None:
    with record() as requests:
        backend = stores(("a", b"data", 16, None), ("b", b"more", 64, None))
        backend.externalize_pte_data(4, "shard")
        stores().merge_named_data_store(backend.get_named_data_store_output())
    files = {f"{tag}.ptd" for tag in backend.external_data}
    assert len(files) == 2
    assert {request.file for request in requests.requests} == files
    assert {request.origin for request in requests.requests} == {__name__}


def test_a_store_from_before_the_recording_has_no_known_backend() -> None:
    early = stores(("a", b"data", 16, None)).get_named_data_store_output()
    with record() as requests:
        stores().merge_named_data_store(early)
    assert [(r.alignment, r.origin) for r in requests.requests] == [(16, UNKNOWN_BACKEND)]


def test_a_key_in_two_files_is_where_the_real_store_has_it() -> None:
    with record() as requests:
        one = stores(("k", b"data", 16, None)).get_named_data_store_output()
        two = stores(("k", b"data", 4096, TAG)).get_named_data_store_output()
        both = stores()
        both.merge_named_data_store(one)
        both.merge_named_data_store(two)
    assert both.get_named_data_store_output().external_data == {}
    assert [(r.alignment, r.file) for r in requests.requests] == [(16, None), (4096, None)]


def test_a_call_that_raises_is_not_recorded() -> None:
    with record() as requests:
        store = stores(("k", b"data", 16, None))
        with pytest.raises(ValueError, match="Duplicate key k"):
            store.add_named_data("k", b"other", 4096)
        with pytest.raises(ValueError, match="greater than 0"):
            store.add_named_data("none", b"other", 0)
    assert [(r.key, r.alignment) for r in requests.requests] == [("k", 16)]
