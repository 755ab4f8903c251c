"""Delegate payloads: which named data do they refer to?

A payload is the backend's own format, so what cannot be read here is no error.
"""

from __future__ import annotations

from collections.abc import Callable

from aligncheck.errors import BadFile
from aligncheck.formats.payloads import vulkan, xnnpack
from aligncheck.formats.source import Source
from aligncheck.formats.tables import Span

READERS: dict[str, Callable[[Source, Span], tuple[str, ...]]] = {
    vulkan.BACKEND: vulkan.read_keys,
    xnnpack.BACKEND: xnnpack.read_keys,
}
"""By backend id: reads the keys from the payload at an absolute offset. May raise BadFile."""


def references(source: Source, backend: str, payload: Span) -> tuple[str, ...]:
    """The keys of the named data that a payload uses; none where that cannot be told."""
    reader = READERS.get(backend)
    if reader is None:
        return ()
    try:
        return reader(source, payload)
    except BadFile:
        return ()
