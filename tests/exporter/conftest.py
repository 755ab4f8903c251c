"""Models are exported once for all tests of a run: an export takes seconds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.exporter.models import MODELS, Model, export

Exported = Callable[[str], Model]


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """Gives a model of `MODELS` by its name. Its files are shared: copy them to change them."""
    folder = tmp_path_factory.mktemp("models")
    made: dict[str, Model] = {}

    def model(name: str) -> Model:
        if name not in made:
            made[name] = export(name, folder)
        return made[name]

    return model


@pytest.fixture(params=sorted(MODELS))
def model(request: pytest.FixtureRequest, exported: Exported) -> Model:
    """Each model of `MODELS` in turn."""
    return exported(request.param)
