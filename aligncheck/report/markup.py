"""Text as XML and HTML can hold it."""

from __future__ import annotations

from html import escape


def escaped(text: str) -> str:
    """In ASCII, so that no stream's encoding can spoil it; `text` is one that can be shown."""
    # `##` and `::` may begin commands to CI runners, wherever in a line they stand.
    harmless = escape(text).replace("##", "#&#35;").replace("::", ":&#58;")
    return harmless.encode("ascii", "xmlcharrefreplace").decode("ascii")
