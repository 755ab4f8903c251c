"""What is known of backends and platforms: facts, each with its source. Alignments are in bytes.

Paths are in ExecuTorch's source tree, unless they name a repository. docs/backends.md says more of
each, and which backends ask for nothing.
"""

from typing import NamedTuple

from aligncheck.model import Level


class Fact(NamedTuple):
    """What one backend, by the id that .pte files have, needs of its data. None: nothing known.

    `payload` is for the start of a delegate's payload, `named_data` for each piece of named data
    that the payload uses. Their levels: `error` where the runtime refuses to load otherwise,
    `warning` where only an exporter or a vendor asks. `since` is the first ExecuTorch release with
    the first of the two.
    """

    backend: str
    payload: int | None
    named_data: int | None
    since: str
    source: str
    note: str
    payload_level: Level = "warning"
    named_data_level: Level = "warning"


FACTS: tuple[Fact, ...] = (
    Fact(
        backend="ArmBackend",
        payload=16,
        named_data=None,
        payload_level="error",
        since="0.1",
        source="backends/arm/runtime/VelaBinStream.cpp",
        note="the Ethos-U backend's id before 0.6; its size must be a multiple of 16 as well",
    ),
    Fact(
        backend="CoreAIBackend",
        payload=None,
        named_data=16,
        since="1.5",
        source="backends/apple/coreai/compiler/preprocess.py",
        note="the payload is a list of file names; the files are named data",
    ),
    Fact(
        backend="EthosUBackend",
        payload=16,
        named_data=16,
        payload_level="error",
        named_data_level="error",
        since="0.6",
        source="backends/arm/runtime/VelaBinStream.cpp",
        note="named data since 1.5; the payload's size must be a multiple of 16 as well",
    ),
    Fact(
        backend="GgmlBackend",
        payload=None,
        named_data=64,
        since="1.1",
        source="larryliu0820/executorch-ggml: python/executorch_ggml/ggml_backend.py",
        note="not a part of ExecuTorch",
    ),
    Fact(
        backend="MLXBackend",
        payload=None,
        named_data=16,
        since="1.3",
        source="backends/mlx/builder/program_builder.py",
        note="the runtime can use the data in place",
    ),
    Fact(
        backend="NeutronBackend",
        payload=16,
        named_data=None,
        since="1.0",
        source="backends/nxp/runtime/NeutronDriver.h",
        note="microcode, weights and kernels lie at multiples of 16 in the payload",
    ),
    Fact(
        backend="QnnBackend",
        payload=256,
        named_data=None,
        since="1.2",
        source="backends/qualcomm/runtime/backends/QnnCustomProtocol.h",
        note="the context binary is at byte 256 of the payload; not every exporter asks",
    ),
    Fact(
        backend="VulkanBackend",
        payload=16,
        named_data=16,
        since="0.2",
        source=(
            "backends/vulkan/serialization/vulkan_graph_builder.py,"
            " backends/vulkan/serialization/vulkan_graph_serialize.py"
        ),
        note="named data since 1.0; before, constants at multiples of 16 in the payload",
    ),
    Fact(
        backend="XnnpackBackend",
        payload=16,
        named_data=16,
        since="0.2",
        source=(
            "backends/xnnpack/operators/node_visitor.py,"
            " backends/xnnpack/serialization/xnnpack_graph_serialize.py"
        ),
        note="named data since 0.6; before, constants at multiples of 16 in the payload",
    ),
)
"""One row a backend, by its id."""
