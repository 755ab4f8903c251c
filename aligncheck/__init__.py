"""Finds and fixes lost data alignment in ExecuTorch .pte and .ptd files."""

from aligncheck.audit import audit
from aligncheck.errors import AligncheckError, BadFile, BadRequest, FixError
from aligncheck.model import Audit, Container, Entry, Finding, Request, Segment
from aligncheck.plan import Plan, plan
from aligncheck.record import Recording, record
from aligncheck.rewrite import Fix, fix

__version__ = "0.1.0"

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
    "Request",
    "Segment",
    "__version__",
    "audit",
    "fix",
    "plan",
    "record",
]
