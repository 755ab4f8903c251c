"""What the format itself asks for: ExecuTorch's schema/program.fbs, `force_align: 16`."""

from __future__ import annotations

from aligncheck.model import Container, Request
from aligncheck.requests import Asked

CONSTANT = Request(alignment=16, origin="format (constants)")
INLINE = Request(alignment=16, origin="format (inline data)")


class FormatRules:
    """16 bytes for each constant, and for each delegate payload that lies in the flatbuffer."""

    def ask(self, container: Container) -> Asked:
        """The requests on constants and inline data."""
        asked = Asked()
        for index, entry in container.others():
            if entry.holds_data and entry.kind == "constant":
                asked.entries.append((index, CONSTANT))
            elif entry.holds_data and entry.segment is None:
                asked.entries.append((index, INLINE))
        return asked
