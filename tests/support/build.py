"""Small .pte and .ptd files, made by hand from the description of the format.

`Pte(...)` and `Ptd(...)` say what a file holds, `.build()` gives its bytes and where everything
in it truly is, as known while writing. Nothing here uses aligncheck. What is not said is made as
ExecuTorch makes it; whatever is said is written, sense or nonsense.

    built = Ptd(segments=[Segment(b"abc")], named=[Named("weak", 0), Named("strong", 0)]).build()
    built.segments[0].offset == 256
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support import schema
from tests.support.flat import Encoded, encode
from tests.support.spec import Delegate, Method, Named, Offsets, Segment, Span, Tensor

__all__ = [
    "Built",
    "Delegate",
    "Method",
    "Named",
    "Offsets",
    "Ptd",
    "Pte",
    "Segment",
    "Span",
    "Tensor",
    "align_up",
    "patched",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A file's bytes and its true layout: absolute offsets, in bytes.

    A place is where a u64 is stored, None if it is not. Inline data that is missing has no span.
    """

    data: bytes
    metadata_end: int
    base: int
    segments: tuple[Span, ...]
    offset_places: tuple[int | None, ...]
    size_places: tuple[int | None, ...]
    constants: tuple[int, ...] = ()
    """Of the constant segment, the placeholder with index 0 left out."""
    constant_places: tuple[int, ...] = ()
    inline_constants: tuple[Span | None, ...] = ()
    inline_delegates: tuple[Span | None, ...] = ()

    def write(self, path: Path) -> Path:
        """Writes the file, and returns its path."""
        path.write_bytes(self.data)
        return path


@dataclass(frozen=True, slots=True, kw_only=True)
class Pte:
    """A program. `header` is the extended header's length; None for a file without a header.

    `header_end` is the byte at which the flatbuffer goes on, `base` the segment base offset; where
    they are None, they are the next multiple of 16 (after the first 8 bytes) and of
    `base_alignment`. `program_size` and `data_size` stand in for the true sizes.
    """

    segments: Sequence[Segment] = ()
    named: Sequence[Named] = ()
    methods: Sequence[Method] = ()
    constants: Offsets | None = None
    mutable: Sequence[Offsets] = ()
    inline_constants: Sequence[bytes | None] = ()
    inline_delegates: Sequence[bytes | None] = ()
    header: int | None = 32
    header_end: int | None = None
    base: int | None = None
    base_alignment: int = 128
    segment_alignment: int = 128
    program_size: int | None = None
    data_size: int | None = None
    trailing: bytes = b""
    identifier: bytes = b"ET12"

    def build(self) -> Built:
        """The file."""
        offsets = _relative_offsets(self.segments, self.segment_alignment)
        nodes = schema.program(
            segments=schema.data_segments(self.segments, offsets),
            named=self.named,
            methods=self.methods,
            constants=self.constants,
            mutable=self.mutable,
            inline_constants=self.inline_constants,
            inline_delegates=self.inline_delegates,
        )
        encoded = encode(nodes.root, self.identifier)
        shift = self._shift()
        end = len(encoded.data) + shift
        base = _base(self.base, end, self.base_alignment, self.segments)
        spans = _spans(base, self.segments, offsets)
        metadata = _shifted(encoded, self._header(end, base, spans), shift)
        return Built(
            data=_assembled(metadata, self.segments, spans) + self.trailing,
            metadata_end=end,
            base=base,
            segments=spans,
            offset_places=_places(encoded, nodes.segment_offsets, shift),
            size_places=_places(encoded, nodes.segment_sizes, shift),
            constants=_constants(self.constants, spans),
            constant_places=_constant_places(encoded, nodes.constant_offsets, shift),
            inline_constants=_vectors(encoded, nodes.inline_constants, shift),
            inline_delegates=_vectors(encoded, nodes.inline_delegates, shift),
        )

    def _shift(self) -> int:
        """How many bytes are inserted after the first 8."""
        if self.header is None:
            return 0
        return align_up(self.header, 16) if self.header_end is None else self.header_end - 8

    def _header(self, end: int, base: int, spans: Sequence[Span]) -> bytes:
        if self.header is None:
            return b""
        size = end if self.program_size is None else self.program_size
        data_size = _data_size(base, spans) if self.data_size is None else self.data_size
        fields = struct.pack("<4sIQQQ", b"eh00", self.header, size, base, data_size)
        return fields[: self.header]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ptd:
    """A data file of ExecuTorch 0.7 or later; the arguments are as for `Pte`."""

    segments: Sequence[Segment] = ()
    named: Sequence[Named] = ()
    header: int = 40
    header_end: int | None = None
    base: int | None = None
    base_alignment: int = 128
    segment_alignment: int = 128
    flatbuffer_size: int | None = None
    data_size: int | None = None
    trailing: bytes = b""
    identifier: bytes = b"FT01"
    magic: bytes = b"FH01"

    def build(self) -> Built:
        """The file."""
        offsets = _relative_offsets(self.segments, self.segment_alignment)
        nodes = schema.flat_tensor(schema.data_segments(self.segments, offsets), self.named)
        encoded = encode(nodes.root, self.identifier)
        shift = (align_up(8 + self.header, 16) if self.header_end is None else self.header_end) - 8
        end = len(encoded.data) + shift
        base = _base(self.base, end, self.base_alignment, self.segments)
        spans = _spans(base, self.segments, offsets)
        metadata = _shifted(encoded, self._header(8 + shift, end, base, spans), shift)
        return Built(
            data=_assembled(metadata, self.segments, spans) + self.trailing,
            metadata_end=end,
            base=base,
            segments=spans,
            offset_places=_places(encoded, nodes.segment_offsets, shift),
            size_places=_places(encoded, nodes.segment_sizes, shift),
        )

    def _header(self, start: int, end: int, base: int, spans: Sequence[Span]) -> bytes:
        size = end - start if self.flatbuffer_size is None else self.flatbuffer_size
        data_size = _data_size(base, spans) if self.data_size is None else self.data_size
        return struct.pack("<4sIQQQQ", self.magic, self.header, start, size, base, data_size)


def align_up(number: int, alignment: int) -> int:
    """The next multiple of `alignment`."""
    return -(-number // alignment) * alignment


def patched(data: bytes, at: int | None, new: bytes) -> bytes:
    """The same bytes, with others put over those at a place."""
    assert at is not None
    return data[:at] + new + data[at + len(new) :]


def _relative_offsets(segments: Sequence[Segment], alignment: int) -> list[int]:
    offsets: list[int] = []
    end = 0
    for segment in segments:
        offset = segment.offset
        if offset is None:
            offset = align_up(end, segment.alignment or alignment) if segment.data else 0
        offsets.append(offset)
        end = max(end, offset + len(segment.data)) if segment.data else end
    return offsets


def _base(given: int | None, end: int, alignment: int, segments: Sequence[Segment]) -> int:
    if given is not None:
        return given
    return align_up(end, alignment) if any(segment.data for segment in segments) else 0


def _spans(base: int, segments: Sequence[Segment], offsets: Sequence[int]) -> tuple[Span, ...]:
    return tuple(
        Span(base + offset, segment.claimed_size)
        for segment, offset in zip(segments, offsets, strict=True)
    )


def _data_size(base: int, spans: Sequence[Span]) -> int:
    return max((span.offset + span.size - base for span in spans if span.size), default=0)


def _shifted(encoded: Encoded, header: bytes, shift: int) -> bytes:
    """The flatbuffer with the header after its first 8 bytes.

    All its offsets are relative to themselves, except for the first: to the root table.
    """
    root = struct.unpack_from("<I", encoded.data)[0] + shift
    start = struct.pack("<I", root) + encoded.data[4:8] + header.ljust(shift, b"\0")
    return start[: 8 + shift] + encoded.data[8:]


def _assembled(metadata: bytes, segments: Sequence[Segment], spans: Sequence[Span]) -> bytes:
    data = bytearray(metadata)
    for segment, span in zip(segments, spans, strict=True):
        if segment.data:
            assert span.offset >= len(metadata), "data over the metadata: choose a larger base"
            end = span.offset + len(segment.data)
            data.extend(bytes(max(0, end - len(data))))
            data[span.offset : end] = segment.data
    return bytes(data)


def _places(encoded: Encoded, nodes: Sequence[schema.Node], shift: int) -> tuple[int | None, ...]:
    return tuple(encoded.places[node] + shift if node in encoded.places else None for node in nodes)


def _vectors(
    encoded: Encoded, nodes: Sequence[schema.Bytes | None], shift: int
) -> tuple[Span | None, ...]:
    return tuple(
        Span(encoded.places[node] + shift, len(node.value)) if node else None for node in nodes
    )


def _constants(constants: Offsets | None, spans: Sequence[Span]) -> tuple[int, ...]:
    if constants is None or constants.segment >= len(spans):
        return ()
    return tuple(spans[constants.segment].offset + offset for offset in constants.offsets[1:])


def _constant_places(encoded: Encoded, node: schema.Numbers | None, shift: int) -> tuple[int, ...]:
    if node is None:
        return ()
    start = encoded.places[node] + shift
    return tuple(start + 8 * index for index in range(1, len(node.values)))
