"""Payloads of the real exporters, against what upstream's own decoders read in them."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from aligncheck.formats import read_container
from aligncheck.formats.payloads import READERS, vulkan, xnnpack
from aligncheck.formats.tables import Table
from aligncheck.model import Container, Entry
from tests.exporter import upstream
from tests.exporter.conftest import Exported
from tests.test_schema import declared, faults, read_schema

pytestmark = pytest.mark.exporter

XNNPACK_SCHEMAS = {
    b"XN00": "backends/xnnpack/serialization/runtime_schema.fbs",
    b"XN01": "backends/xnnpack/serialization/schema.fbs",
}
VULKAN_SCHEMA = "backends/vulkan/serialization/schema.fbs"


@pytest.mark.parametrize("schema", XNNPACK_SCHEMAS.values())
@pytest.mark.parametrize("table", declared(xnnpack), ids=lambda table: table.__name__)
def test_a_table_of_xnnpack_is_as_in_both_of_its_schemas(table: type[Table], schema: str) -> None:
    assert faults(table, read_schema(schema)) == []


@pytest.mark.parametrize("table", declared(vulkan), ids=lambda table: table.__name__)
def test_a_table_of_vulkan_is_as_in_its_schema(table: type[Table]) -> None:
    assert faults(table, read_schema(VULKAN_SCHEMA)) == []


def test_the_file_identifiers_are_those_of_the_schemas() -> None:
    schemas = {
        identifier.encode(): name
        for name in XNNPACK_SCHEMAS.values()
        for identifier in read_schema(name).identifier
    }
    assert schemas == XNNPACK_SCHEMAS
    assert set(schemas) == set(xnnpack.IDENTIFIERS)
    assert read_schema(VULKAN_SCHEMA).identifier == [vulkan.IDENTIFIERS[0].decode()]
    assert len(vulkan.IDENTIFIERS) == 1


def test_the_magic_and_the_backend_ids_are_upstreams() -> None:
    from executorch.backends.vulkan.serialization.vulkan_graph_serialize import (
        VulkanDelegateHeader,
    )
    from executorch.backends.vulkan.vulkan_preprocess import VulkanBackend
    from executorch.backends.xnnpack.serialization.xnnpack_graph_serialize import XNNHeader
    from executorch.backends.xnnpack.xnnpack_preprocess import XnnpackBackend

    assert xnnpack.MAGIC == XNNHeader.EXPECTED_MAGIC
    assert vulkan.MAGIC == VulkanDelegateHeader.EXPECTED_MAGIC
    assert set(READERS) == {XnnpackBackend.__name__, VulkanBackend.__name__}


def delegates(container: Container) -> list[Entry]:
    return [entry for entry in container.entries if entry.kind == "delegate"]


def named(container: Container) -> set[str]:
    return {entry.name for entry in container.entries if entry.kind == "named_data"}


def xnnpack_truth(payload: bytes) -> list[str]:
    """The keys in a payload, by upstream's reader of the header and upstream's schema compiler."""
    from executorch.backends.xnnpack.serialization.xnnpack_graph_serialize import XNNHeader

    header = XNNHeader.from_bytes(payload[: XNNHeader.EXPECTED_LENGTH])
    assert header.is_valid()
    end = header.flatbuffer_offset + header.flatbuffer_size
    content = payload[header.flatbuffer_offset : end]
    graph = flatc_json(content, XNNPACK_SCHEMAS[content[4:8]])
    return [data["named_key"] for data in graph["constant_data"] if data.get("named_key")]


def vulkan_truth(payload: bytes) -> list[str]:
    """The keys in a payload, by upstream's decoders."""
    from executorch.backends.vulkan.serialization.vulkan_graph_serialize import (
        extract_vk_flatbuffer,
        flatbuffer_to_vk_graph,
    )

    graph = flatbuffer_to_vk_graph(extract_vk_flatbuffer(payload))
    return [constant.named_key for constant in graph.constants if constant.named_key]


def flatc_json(data: bytes, schema: str) -> dict[str, Any]:
    from executorch.exir._serialize._flatbuffer import _get_flatc_path

    with TemporaryDirectory() as folder:
        file = Path(folder, "file.bin")
        file.write_bytes(data)
        command: list[str | Path] = [_get_flatc_path(), "--json", "--strict-json", "--raw-binary"]
        command += ["-o", folder, upstream.executorch_folder() / schema, "--", file]
        subprocess.run(command, check=True, capture_output=True)
        text = Path(folder, "file.json").read_text()
    # A ReLU has no upper bound, which flatc writes as no JSON does.
    content: dict[str, Any] = json.loads(re.sub(r": (-?)inf\b", r": \1Infinity", text))
    return content


@pytest.mark.parametrize("name", ["xnnpack", "methods", "inline", "xnnpack_external"])
def test_the_keys_in_xnnpack_payloads_are_those_that_upstream_reads(
    name: str, exported: Exported
) -> None:
    path = exported(name).path
    found = delegates(read_container(str(path)))
    payloads = upstream.delegate_payloads(path.read_bytes())
    assert found
    assert all(entry.uses for entry in found)
    assert [list(entry.uses) for entry in found] == [
        list(dict.fromkeys(xnnpack_truth(payload))) for payload in payloads
    ]


def test_every_named_datum_of_an_xnnpack_model_is_used(exported: Exported) -> None:
    path = exported("xnnpack").path
    container = read_container(str(path))
    keys = upstream.payloads(path.read_bytes())
    assert {key for entry in delegates(container) for key in entry.uses} == set(keys)
    assert len(keys) == 4, "weight and bias of a convolution and of a linear layer"


def test_a_program_refers_to_named_data_in_its_data_file(exported: Exported) -> None:
    model = exported("xnnpack_external")
    assert model.data is not None
    program = read_container(str(model.path))
    used = {key for entry in delegates(program) for key in entry.uses}
    assert used == set(upstream.payloads(model.data.read_bytes()))
    assert named(program) == set()


def test_a_payload_that_two_methods_share_says_the_same_of_both(exported: Exported) -> None:
    uses = {d.method: d.uses for d in delegates(read_container(str(exported("methods").path)))}
    assert uses["decode"] == uses["forward"]
    assert set(uses["prefill"]) == set(uses["decode"]), "equal weights are stored once"


@pytest.fixture(scope="module")
def lowered_to_vulkan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A convolution and a linear layer. Nothing here needs a GPU."""
    import torch
    from executorch.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner
    from executorch.exir import to_edge_transform_and_lower
    from torch import nn

    layers = nn.Sequential(nn.Conv2d(3, 5, 3), nn.ReLU(), nn.Flatten(), nn.Linear(80, 7))
    program = torch.export.export(layers.eval(), (torch.ones(1, 3, 6, 6),))
    manager = to_edge_transform_and_lower(program, partitioner=[VulkanPartitioner()])
    path = tmp_path_factory.mktemp("vulkan") / "model.pte"
    path.write_bytes(manager.to_executorch().buffer)
    return path


def test_the_keys_in_a_vulkan_payload_are_those_that_upstream_reads(
    lowered_to_vulkan: Path,
) -> None:
    (delegate,) = delegates(read_container(str(lowered_to_vulkan)))
    (payload,) = upstream.delegate_payloads(lowered_to_vulkan.read_bytes())
    assert delegate.backend == "VulkanBackend"
    assert list(delegate.uses) == list(dict.fromkeys(vulkan_truth(payload)))


def test_every_named_datum_of_a_vulkan_model_is_used(lowered_to_vulkan: Path) -> None:
    container = read_container(str(lowered_to_vulkan))
    (delegate,) = delegates(container)
    keys = upstream.payloads(lowered_to_vulkan.read_bytes())
    assert set(delegate.uses) == set(keys) == named(container)
    assert len(keys) == 4, "weight and bias of a convolution and of a linear layer"
