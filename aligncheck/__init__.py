"""Finds and fixes lost data alignment in ExecuTorch .pte and .ptd files."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING

from aligncheck.version import __version__

if TYPE_CHECKING:
    from aligncheck.audit import audit
    from aligncheck.errors import AligncheckError, BadFile, BadRequest, FixError
    from aligncheck.model import Audit, Container, Entry, Finding, Remark, Request, Segment
    from aligncheck.plan import Plan, plan
    from aligncheck.record import Recording, record
    from aligncheck.rewrite import Fix, fix

__all__ = [
    "AligncheckError",
    "Audit",
    "BadFile",
    "BadRequest",
    "Container",
    "Entry",
    "Finding",
    "Fix",
    "FixError",
    "Plan",
    "Recording",
    "Remark",
    "Request",
    "Segment",
    "__version__",
    "audit",
    "fix",
    "plan",
    "record",
]

_HOMES = {
    "audit": ("audit",),
    "errors": ("AligncheckError", "BadFile", "BadRequest", "FixError"),
    "model": ("Audit", "Container", "Entry", "Finding", "Remark", "Request", "Segment"),
    "plan": ("Plan", "plan"),
    "record": ("Recording", "record"),
    "rewrite": ("Fix", "fix"),
}


def _at_first_use(module: str, name: str) -> property:
    """A public name, imported when it is used: a start must not pay for what it does not need.

    The setter ignores that importing a module binds it to its name here: `aligncheck.plan` is the
    function, whether or not the module of that name has been imported.
    """

    def get(_package: ModuleType) -> object:
        return getattr(importlib.import_module(f"{__name__}.{module}"), name)

    return property(get, lambda _package, _value: None)


class _Package(ModuleType):
    """This module, with properties for its public names."""

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *__all__})


for _module, _names in _HOMES.items():
    for _name in _names:
        setattr(_Package, _name, _at_first_use(_module, _name))
sys.modules[__name__].__class__ = _Package
