"""Text as XML and HTML can hold it."""

from __future__ import annotations

from html import escape


def escaped(text: str) -> str:
    """In ASCII, so that no stream's encoding can spoil it; `text` is one that can be shown."""
    return escape(text).encode("ascii", "xmlcharrefreplace").decode("ascii")
