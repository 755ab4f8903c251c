"""A backend that asks for more alignment than others do: it exists only while exporting."""

from __future__ import annotations

from typing import Any

from executorch.exir._serialize._named_data_store import NamedDataStore
from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.exir.backend.utils import tag_constant_data

from tests.exporter.models import STRICT_ALIGNMENT, STRICT_KEY


class StrictBackend(BackendDetails):  # type: ignore[misc]  # executorch is not typed here
    """Keeps the only weight of its part of the model in named data."""

    @staticmethod
    def preprocess(edge_program: Any, _compile_specs: Any) -> Any:
        (weight,) = edge_program.state_dict.values()
        store = NamedDataStore()
        store.add_named_data(STRICT_KEY, weight.numpy().tobytes(), STRICT_ALIGNMENT)
        output = store.get_named_data_store_output()
        return PreprocessResult(processed_bytes=b"strict", data_store_output=output)


class StrictPartitioner(Partitioner):  # type: ignore[misc]  # executorch is not typed here
    """Gives a whole method to the backend."""

    def partition(self, exported_program: Any) -> Any:
        for node in exported_program.graph.nodes:
            if node.op == "call_function":
                node.meta["delegation_tag"] = "all"
        tag_constant_data(exported_program)
        specification = DelegationSpec(StrictBackend.__name__, [])
        return PartitionResult(exported_program, {"all": specification})
