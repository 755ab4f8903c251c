"""Small real models, exported by ExecuTorch's own exporter, and its runtime to run them with.

`export(name, folder)` writes one of `MODELS` into a folder; `run` gives what the official runtime
computes. Weights and inputs are fixed numbers, so that an export gives the same file every time.
Imported without torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STRICT_KEY = "strict.weight"
STRICT_ALIGNMENT = 4096
"""What the second backend of `two_backends` asks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """An exported model: its files, and inputs for each of its methods."""

    name: str
    path: Path
    inputs: Mapping[str, tuple[Any, ...]]
    data: Path | None = None
    """The .ptd, where there is one."""
    runnable: bool = True
    """False where a backend exists only in these tests."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The program, and the .ptd after it."""
        return (self.path, self.data) if self.data else (self.path,)


def export(name: str, folder: Path) -> Model:
    """Export one of `MODELS` to `folder`/`name`.pte, and .ptd where its data are external."""
    return MODELS[name](folder / f"{name}.pte")


def run(model: Model, *, path: Path | None = None, data: Path | None = None) -> list[list[Any]]:
    """The outputs of all methods, each called twice: a mutable buffer shows in the second call.

    `path` and `data` stand in for the model's own files, to run changed copies of them.
    """
    from executorch.runtime import Runtime

    program = Runtime.get().load_program(path or model.path, data_path=data or model.data)
    outputs = []
    for name, inputs in model.inputs.items():
        method = program.load_method(name)
        for _ in range(2):
            output = method.execute(inputs)
            outputs.append([tensor.clone() for tensor in output])
    return outputs


def xnnpack(path: Path) -> Model:
    """Delegated as a whole; the backend puts its weights into named data."""
    inputs = (_numbers(1, 3, 6, 6),)
    program = _exported(_convolution(), inputs)
    _save(_delegated({"forward": program}), path)
    return Model(name=path.stem, path=path, inputs={"forward": inputs})


def portable(path: Path) -> Model:
    """No delegate: the weights are constants, in a segment of their own. All sizes are odd."""
    inputs = (_numbers(1, 5),)
    _save(_edge(_exported(_perceptron(), inputs)).to_executorch(), path)
    return Model(name=path.stem, path=path, inputs={"forward": inputs})


def methods(path: Path) -> Model:
    """Three methods on the same weights; two are equal: their delegates share a segment."""
    layer = _perceptron()
    inputs = {
        "decode": (_numbers(1, 5),),
        "forward": (_numbers(1, 5),),
        "prefill": (_numbers(4, 5),),
    }
    programs = {name: _exported(layer, given) for name, given in inputs.items()}
    _save(_delegated(programs), path)
    return Model(name=path.stem, path=path, inputs=inputs)


def external(path: Path) -> Model:
    """No delegate, and all constants in a .ptd."""
    from executorch.exir import ExecutorchBackendConfig

    inputs = (_numbers(1, 5),)
    edge = _edge(_exported(_perceptron(), inputs))
    manager = edge.to_executorch(ExecutorchBackendConfig(external_constants=True))
    data = _save_with_data(manager, path)
    return Model(name=path.stem, path=path, inputs={"forward": inputs}, data=data)


def xnnpack_external(path: Path) -> Model:
    """Delegated, and the backend's named data in a .ptd."""
    import torch
    from executorch.exir.passes.external_constants_pass import (
        delegate_external_constants_pass_unlifted,
    )

    inputs = (_numbers(2, 5),)
    module = _exported(_perceptron(), inputs).module()
    delegate_external_constants_pass_unlifted(module, lambda _node: "weights")
    # Only a strict export keeps the tags that the pass has set.
    tagged = torch.export.export(module, inputs, strict=True)
    manager = _delegated({"forward": tagged})
    data = _save_with_data(manager, path)
    return Model(name=path.stem, path=path, inputs={"forward": inputs}, data=data)


def mutable(path: Path) -> Model:
    """Two buffers with an initial state, which every call changes: a segment of mutable data."""
    from executorch.exir import ExecutorchBackendConfig
    from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass

    inputs = (_numbers(5),)
    config = ExecutorchBackendConfig(
        passes=[InitializedMutableBufferPass(["total", "scale"])], emit_mutable_buffer_names=True
    )
    _save(_edge(_exported(_accumulator(), inputs)).to_executorch(config), path)
    return Model(name=path.stem, path=path, inputs={"forward": inputs})


def inline(path: Path) -> Model:
    """Delegated, with the payload in the flatbuffer as in old files."""
    from executorch.exir import ExecutorchBackendConfig

    inputs = (_numbers(2, 5),)
    config = ExecutorchBackendConfig(extract_delegate_segments=False)
    _save(_delegated({"forward": _exported(_perceptron(), inputs)}, config), path)
    return Model(name=path.stem, path=path, inputs={"forward": inputs})


def two_backends(path: Path) -> Model:
    """The reported bug through the whole export: two backends want the same weights.

    The first names them by their hash and asks for less than the second, whose request is lost.
    """
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

    from tests.exporter.strict_backend import StrictPartitioner

    inputs = (_numbers(2, 16),)
    layer = _square()
    manager = _delegated(
        {"a_weak": _exported(layer, inputs), "b_strict": _exported(layer, inputs)},
        partitioner={"a_weak": [XnnpackPartitioner()], "b_strict": [StrictPartitioner()]},
    )
    _save(manager, path)
    both = {"a_weak": inputs, "b_strict": inputs}
    return Model(name=path.stem, path=path, inputs=both, runnable=False)


MODELS: dict[str, Callable[[Path], Model]] = {
    "xnnpack": xnnpack,
    "portable": portable,
    "methods": methods,
    "external": external,
    "xnnpack_external": xnnpack_external,
    "mutable": mutable,
    "inline": inline,
    "two_backends": two_backends,
}


def _numbers(*shape: int) -> Any:
    """A tensor of numbers that are all different."""
    import torch

    return torch.linspace(-1, 1, torch.Size(shape).numel()).reshape(shape)


def _filled(module: Any) -> Any:
    """The module with fixed weights, different for each parameter."""
    for index, parameter in enumerate(module.parameters()):
        parameter.requires_grad_(False).copy_(_numbers(*parameter.shape) / (index + 1))
    return module.eval()


def _convolution() -> Any:
    from torch import nn

    return _filled(nn.Sequential(nn.Conv2d(3, 5, 3), nn.ReLU(), nn.Flatten(), nn.Linear(80, 7)))


def _perceptron() -> Any:
    from torch import nn

    return _filled(nn.Sequential(nn.Linear(5, 3), nn.ReLU(), nn.Linear(3, 7)))


def _square() -> Any:
    from torch import nn

    return _filled(nn.Linear(16, 16, bias=False))


def _accumulator() -> Any:
    import torch

    class Accumulator(torch.nn.Module):  # type: ignore[misc]  # torch is not typed here
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", _numbers(5))
            self.register_buffer("scale", torch.full((3,), 2.5))

        def forward(self, x: Any) -> Any:
            self.total.add_(x)
            self.scale.mul_(2.0)
            return self.total + 1, self.scale + 1

    return Accumulator()


def _exported(module: Any, inputs: tuple[Any, ...]) -> Any:
    import torch

    return torch.export.export(module, inputs)


def _edge(program: Any) -> Any:
    from executorch.exir import to_edge

    return to_edge(program)


def _delegated(
    programs: Mapping[str, Any],
    config: Any = None,
    partitioner: Mapping[str, Sequence[Any]] | None = None,
) -> Any:
    """Methods lowered to XNNPACK, or to what `partitioner` says."""
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    chosen = partitioner or {name: [XnnpackPartitioner()] for name in programs}
    return to_edge_transform_and_lower(dict(programs), partitioner=dict(chosen)).to_executorch(
        config
    )


def _save(manager: Any, path: Path) -> None:
    path.write_bytes(manager.buffer)


def _save_with_data(manager: Any, path: Path) -> Path:
    """Saves the program and its only data file, and returns the latter's path."""
    _save(manager, path)
    (content,) = manager._tensor_data.values()
    data = path.with_suffix(".ptd")
    data.write_bytes(bytes(content))
    return data
