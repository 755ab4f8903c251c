"""The rules: what each code that a report names stands for. docs/rules.md tells more of each."""

from __future__ import annotations

from dataclasses import dataclass

from aligncheck.model import Level

MANUAL: str | None = None
"""The absolute address of docs/rules.md, once it has one."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `level` is what a violation is unless the request or the case says otherwise."""

    code: str
    name: str
    level: Level
    summary: str
    help: str

    @property
    def title(self) -> str:
        """The heading of the rule's section in docs/rules.md."""
        return f"{self.code} {self.name}"

    @property
    def anchor(self) -> str:
        """The section's anchor, as Markdown renderers make it of the heading."""
        return self.title.lower().replace(" ", "-")

    @property
    def uri(self) -> str | None:
        """Where to read more of it, if there is such a place."""
        return f"{MANUAL}#{self.anchor}" if MANUAL else None


RULES = (
    Rule(
        "AC001",
        "unreadable",
        "error",
        "The file could not be audited.",
        "Nothing is known about the alignment in this file: it is missing, damaged, or no .pte or"
        " .ptd file. The message names the place. Export or download it again.",
    ),
    Rule(
        "AC101",
        "named-data",
        "error",
        "A named data entry is not aligned as requested.",
        "Whoever maps or copies the entry from its offset gets an address that its backend did not"
        " ask for. Run `aligncheck --fix`, or export again with the strictest request first.",
    ),
    Rule(
        "AC102",
        "constant",
        "error",
        "A constant is not aligned as requested.",
        "Kernels read constants where they lie in the file. Run `aligncheck --fix`; a constant"
        " inside the flatbuffer can only be moved by a new export.",
    ),
    Rule(
        "AC103",
        "delegate",
        "error",
        "A delegate's payload is not aligned as requested.",
        "The backend is handed the payload at an address that it did not ask for. Run"
        " `aligncheck --fix`; an inline payload needs a new export, with payloads in segments.",
    ),
    Rule(
        "AC104",
        "segment",
        "error",
        "A segment is not aligned as requested.",
        "The request is for the segment itself, whatever it holds. Run `aligncheck --fix`, or"
        " export with a larger segment alignment.",
    ),
    Rule(
        "AC201",
        "stale-request",
        "warning",
        "A sidecar asks for data that the file does not have.",
        "The sidecar was recorded for another export, or the data went to another file. Record"
        " again, or take the sidecar away.",
    ),
    Rule(
        "AC202",
        "key-in-two-files",
        "warning",
        "A program and its data files have the same key twice.",
        "ExecuTorch's runtime refuses to merge data files of which two have the same key, or one"
        " has a key of the program. Export the data into one place.",
    ),
    Rule(
        "AC301",
        "overlapping-segments",
        "error",
        "Two segments share some of their bytes.",
        "Writers store equal data once, as one segment. Segments that overlap in part come from a"
        " damaged or hostile file. Export again.",
    ),
    Rule(
        "AC302",
        "segment-order",
        "warning",
        "A segment lies before one with a lower index.",
        "Readers do not mind, but ExecuTorch writes segments in order: another tool has been at"
        " work. Check that the file is what you expect.",
    ),
    Rule(
        "AC303",
        "duplicate-key",
        "error",
        "A key of named data is there twice.",
        "ExecuTorch finds only the first of them, so the second key's data, and what was asked for"
        " it, are lost. Give the data different keys. A warning if both name the same segment.",
    ),
    Rule(
        "AC304",
        "dirty-padding",
        "warning",
        "Bytes that belong to no segment are not zero.",
        "A fix would have to drop them, and refuses to. Find out which tool put them there, or"
        " export again.",
    ),
    Rule(
        "AC305",
        "data-size",
        "warning",
        "The header's segment data size ends before the segments do.",
        "A loader that trusts the header reads too little. Export again with a current writer.",
    ),
    Rule(
        "AC306",
        "segment-in-metadata",
        "error",
        "A segment begins before the metadata ends.",
        "The same bytes are read as data and as structure, so no segment can be moved. Export"
        " again.",
    ),
)
"""All of them, by code."""

BY_CODE = {rule.code: rule for rule in RULES}
