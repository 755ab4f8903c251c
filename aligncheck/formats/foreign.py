"""Files that people take for a .pte or .ptd and that are something else, called by their names."""

from __future__ import annotations

from aligncheck.errors import BadFile, LfsPointer

_LFS = b"version https://git-lfs"
_KNOWN = (
    # start, bytes there, what it is, what to do
    (0, b"PK\x03\x04", "a zip archive (a TorchScript or torch.save file?)", "export it to .pte"),
    (0, b"PK\x05\x06", "a zip archive, an empty one", ""),
    (0, b"\x1f\x8b", "gzip data", "decompress it first"),
    (0, b"GGUF", "a GGUF model", ""),
    (0, b"\x7fELF", "an ELF binary", ""),
    (0, b"\x80\x02", "a pickle (a torch.save file?)", "export it to .pte"),
    (4, b"TFL3", "a TensorFlow Lite model", ""),
    (4, b"ED", "an ETDump, a profile of a run, not a model", ""),
    (4, b"BP0", "a bundled program, which is not supported", "audit the .pte it was made from"),
)
_IDENTIFIERS = {b"ET": "ET12 (a program)", b"FT": "FT01 (a data file)"}


def fault(path: str, head: bytes) -> BadFile:
    """The error for a file that is neither format, from its first bytes (some 64 of them)."""
    if not head:
        return BadFile(path, "is empty")
    if head.startswith(_LFS):
        return LfsPointer(path, "is a Git LFS pointer, not the model", hint="run `git lfs pull`")
    for start, magic, name, hint in _KNOWN:
        if head[start : start + len(magic)] == magic:
            return BadFile(path, f"is {name}", hint=hint)
    if _is_text(head):
        return BadFile(path, "is text, not a .pte or .ptd")
    if len(head) < 8:
        return BadFile(path, f"has only {len(head)} bytes, too few for a .pte or .ptd")
    found = f"the identifier is {head[4:8]!r}"
    known = _IDENTIFIERS.get(head[4:6], "ET12 (a program) or FT01 (a data file)")
    return BadFile(path, f"{found}, not {known}", place="byte 4")


def _is_text(head: bytes) -> bool:
    return all(byte in b"\t\n\r\x0c" or 32 <= byte < 127 or byte >= 128 for byte in head) and (
        _decodes(head)
    )


def _decodes(head: bytes) -> bool:
    """True for UTF-8, also where the last character is cut."""
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return True
