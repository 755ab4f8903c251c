"""Finds and fixes lost data alignment in ExecuTorch .pte and .ptd files."""

from aligncheck.audit import audit
from aligncheck.errors import AligncheckError, BadFile, BadRequest
from aligncheck.model import Audit, Container, Entry, Finding, Request, Segment

__version__ = "0.1.0"

__all__ = [
    "AligncheckError",
    "Audit",
    "BadFile",
    "BadRequest",
    "Container",
    "Entry",
    "Finding",
    "Request",
    "Segment",
    "__version__",
    "audit",
]
