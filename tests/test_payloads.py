"""Which named data a delegate's payload refers to, read from payloads made by hand."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aligncheck.errors import BadFile
from aligncheck.formats import flatbuffer, payloads, read_container
from aligncheck.formats.source import Source
from aligncheck.formats.tables import Span
from tests.support.build import Delegate, Method, Named, Pte, Segment, patched
from tests.support.flat import Encoded, Number, Table, Tables, Text, encode
from tests.support.reading import layout_of, of_kind

START = 32
"""Where both backends' exporters put the flatbuffer."""
BEFORE = b"before the payload" * 3
AFTER = b"after the payload" * 50
KEYS = ("weight", "bias")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """How one backend writes its payloads; `slot` is that of the constants in the root table."""

    backend: str
    magic: bytes
    identifier: bytes
    slot: int


XNNPACK = Kind(backend="XnnpackBackend", magic=b"XH00", identifier=b"XN01", slot=8)
VULKAN = Kind(backend="VulkanBackend", magic=b"VH00", identifier=b"VK00", slot=5)
BOTH = pytest.mark.parametrize("kind", [XNNPACK, VULKAN], ids=lambda kind: kind.backend)


@dataclass(frozen=True, slots=True)
class Made:
    """A payload, and the nodes in it that tests damage, placed from its start."""

    data: bytes
    size: int
    """Of the flatbuffer."""
    root: int
    constants: int
    """The first element of the vector; its count is before it."""
    key: int
    """The first byte of the first key; its length is before it."""


def made(
    kind: Kind, keys: Sequence[str | bytes | None] = KEYS, *, data: bytes = b"constant" * 2
) -> Made:
    texts = [None if key is None else Text(key) for key in keys]
    constants = Tables([_constant(text) for text in texts])
    root = Table({0: Text("0"), 2: Tables([]), kind.slot: constants})
    encoded = encode(root, kind.identifier)
    flat = encoded.data.ljust(-(-len(encoded.data) // 16) * 16, b"\0")
    return Made(
        header(kind, size=len(encoded.data), data_start=START + len(flat), data_size=len(data))
        + flat
        + data,
        size=len(encoded.data),
        root=START + encoded.places[root],
        constants=START + encoded.places[constants],
        key=_place(encoded, texts[0] if texts else None),
    )


def _constant(text: Text | None) -> Table:
    return Table({0: Number("U64", 2**64 - 1), 1: Number("U64", 64), 2: text})


def _place(encoded: Encoded, text: Text | None) -> int:
    return START + encoded.places[text] if text else 0


def header(
    kind: Kind,
    *,
    size: int,
    data_start: int,
    data_size: int = 0,
    start: int = START,
    length: int = 30,
    magic: bytes | None = None,
) -> bytes:
    fields = (magic or kind.magic, length, start, size, data_start, data_size)
    return struct.pack("<4x4sHIIIQ", *fields).ljust(START, b"\0")


class Watched(Source):
    """A file of which only the payload may be read; it notes the reads."""

    def __init__(self, path: Path, allowed: Span) -> None:
        super().__init__(str(path))
        self.allowed = allowed
        self.reads: list[Span] = []

    def read(self, offset: int, size: int) -> bytes:
        start, length = self.allowed
        assert start <= offset, "before the payload"
        assert offset + size <= start + length, "after the payload"
        self.reads.append(Span(offset - start, size))
        return super().read(offset, size)


def watched(data: bytes, folder: Path) -> Watched:
    """A file with a payload somewhere in it."""
    path = folder / "payload"
    path.write_bytes(BEFORE + data + AFTER)
    return Watched(path, Span(len(BEFORE), len(data)))


def keys_of(kind: Kind, data: bytes, folder: Path) -> tuple[str, ...]:
    """What is read of a payload, nothing outside of which is read."""
    source = watched(data, folder)
    try:
        return payloads.references(source, kind.backend, source.allowed)
    finally:
        source.close()


@BOTH
def test_the_keys_are_told_in_their_order(kind: Kind, tmp_path: Path) -> None:
    assert keys_of(kind, made(kind).data, tmp_path) == KEYS


@BOTH
def test_a_key_that_is_used_twice_is_told_once(kind: Kind, tmp_path: Path) -> None:
    data = made(kind, ["b", "a", "b", "c", "a"]).data
    assert keys_of(kind, data, tmp_path) == ("b", "a", "c")


@BOTH
def test_constants_without_a_key_are_in_the_payload(kind: Kind, tmp_path: Path) -> None:
    # Upstream's Vulkan exporter writes an empty key for them, its XNNPACK exporter none.
    assert keys_of(kind, made(kind, ["", "a", None]).data, tmp_path) == ("a",)
    assert keys_of(kind, made(kind, []).data, tmp_path) == ()


@BOTH
def test_a_key_that_is_not_utf8_is_escaped_as_it_is_among_the_entries(
    kind: Kind, tmp_path: Path
) -> None:
    spec = program(kind, made(kind, [b"\xff"]).data, [Named(b"\xff", 1)])
    container = layout_of(spec, tmp_path)
    (named,) = of_kind(container, "named_data")
    (delegate,) = of_kind(container, "delegate")
    assert delegate.uses == (named.name,) == ("\\xff",)


def test_both_identifiers_of_xnnpack_are_known(tmp_path: Path) -> None:
    old = Kind(backend="XnnpackBackend", magic=b"XH00", identifier=b"XN00", slot=8)
    assert keys_of(old, made(old).data, tmp_path) == KEYS


@BOTH
def test_only_the_header_and_the_flatbuffer_are_read(kind: Kind, tmp_path: Path) -> None:
    payload = made(kind, data=bytes(100_000))
    source = watched(payload.data, tmp_path)
    assert payloads.references(source, kind.backend, source.allowed) == KEYS
    source.close()
    assert max(offset + size for offset, size in source.reads) == START + payload.size


@BOTH
def test_a_large_flatbuffer_is_read_in_pages(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flatbuffer, "READ_WHOLE", 0)
    assert keys_of(kind, made(kind).data, tmp_path) == KEYS


@BOTH
def test_a_longer_header_is_read_as_well(kind: Kind, tmp_path: Path) -> None:
    data = patched(made(kind).data, 8, struct.pack("<H", START))
    assert keys_of(kind, data, tmp_path) == KEYS


@BOTH
def test_a_payload_before_there_were_headers_has_no_keys(kind: Kind, tmp_path: Path) -> None:
    assert keys_of(kind, made(kind).data[START:], tmp_path) == ()


@BOTH
def test_a_payload_with_a_shorter_root_table_has_no_keys(kind: Kind, tmp_path: Path) -> None:
    data = encode(Table({0: Text("0")}), kind.identifier).data
    start = header(kind, size=len(data), data_start=START + len(data))
    assert keys_of(kind, start + data, tmp_path) == ()


@BOTH
def test_no_part_of_a_payload_is_a_payload(kind: Kind, tmp_path: Path) -> None:
    data = made(kind).data
    for size in range(len(data)):
        assert keys_of(kind, data[:size], tmp_path) == (), size


@BOTH
@pytest.mark.parametrize(
    ("at", "layout", "value"),
    [
        pytest.param(4, "4s", b"XH01", id="magic"),
        pytest.param(8, "<H", 0, id="header of no length"),
        pytest.param(8, "<H", 29, id="header too short"),
        pytest.param(8, "<H", START + 1, id="header into the flatbuffer"),
        pytest.param(10, "<I", 0, id="flatbuffer at the header"),
        pytest.param(10, "<I", 29, id="flatbuffer in the header"),
        pytest.param(10, "<I", START - 1, id="flatbuffer too early"),
        pytest.param(10, "<I", START + 1, id="flatbuffer too late"),
        pytest.param(10, "<I", 2**32 - 1, id="flatbuffer outside"),
        pytest.param(14, "<I", 0, id="no flatbuffer"),
        pytest.param(14, "<I", 7, id="flatbuffer without an identifier"),
        pytest.param(14, "<I", 8, id="flatbuffer without a root table"),
        pytest.param(14, "<I", 2**32 - 1, id="flatbuffer too large"),
        pytest.param(18, "<I", 0, id="constant data before the flatbuffer"),
        pytest.param(18, "<I", START + 20, id="constant data in the flatbuffer"),
        pytest.param(18, "<I", 2**32 - 1, id="constant data outside"),
        pytest.param(22, "<Q", 17, id="constant data too large"),
        pytest.param(22, "<Q", 2**64 - 1, id="constant data beyond 64 bits"),
        pytest.param(START + 4, "4s", b"XN02", id="identifier"),
        pytest.param(START + 4, "4s", b"\0\0\0\0", id="no identifier"),
        pytest.param(START, "<I", 0, id="root table at the start"),
        pytest.param(START, "<I", 2**32 - 1, id="root table outside"),
    ],
)
def test_damage_to_the_header(
    kind: Kind, at: int, layout: str, value: int | bytes, tmp_path: Path
) -> None:
    data = patched(made(kind).data, at, struct.pack(layout, value))
    assert keys_of(kind, data, tmp_path) == ()


@BOTH
def test_a_flatbuffer_that_ends_with_the_payload_before_its_identifier(
    kind: Kind, tmp_path: Path
) -> None:
    data = header(kind, size=4, data_start=START + 4) + bytes(4)
    assert keys_of(kind, data, tmp_path) == ()


@BOTH
@pytest.mark.parametrize("value", [1, 0x7FFFFFFF, -0x80000000, -(2**20)])
def test_damage_to_the_place_of_the_vtable(kind: Kind, value: int, tmp_path: Path) -> None:
    payload = made(kind)
    data = patched(payload.data, payload.root, struct.pack("<i", value))
    assert keys_of(kind, data, tmp_path) == ()


@BOTH
@pytest.mark.parametrize("value", [0, 3, 5, 0xFFFE, 0xFFFF])
def test_damage_to_the_size_of_the_vtable(kind: Kind, value: int, tmp_path: Path) -> None:
    payload = made(kind)
    data = patched(payload.data, _vtable(payload), struct.pack("<H", value))
    assert keys_of(kind, data, tmp_path) == ()


@BOTH
def test_damage_to_the_fields_of_the_vtable(kind: Kind, tmp_path: Path) -> None:
    payload = made(kind)
    field = _vtable(payload) + 4 + 2 * kind.slot
    data = patched(payload.data, field, struct.pack("<H", 0xFFFF))
    assert keys_of(kind, data, tmp_path) == ()


def _vtable(payload: Made) -> int:
    (back,) = struct.unpack_from("<i", payload.data, payload.root)
    return payload.root - int(back)


@BOTH
@pytest.mark.parametrize("count", [3, 1000, 2**32 - 1])
def test_more_constants_than_there_are(kind: Kind, count: int, tmp_path: Path) -> None:
    payload = made(kind)
    data = patched(payload.data, payload.constants - 4, struct.pack("<I", count))
    assert keys_of(kind, data, tmp_path) == ()


@BOTH
@pytest.mark.parametrize("offset", [0x7FFFFFFF, 2**32 - 1])
def test_a_constant_outside(kind: Kind, offset: int, tmp_path: Path) -> None:
    payload = made(kind)
    data = patched(payload.data, payload.constants, struct.pack("<I", offset))
    assert keys_of(kind, data, tmp_path) == ()


@BOTH
@pytest.mark.parametrize("length", [10_000, 2**32 - 1])
def test_a_key_that_goes_on_outside(kind: Kind, length: int, tmp_path: Path) -> None:
    payload = made(kind)
    data = patched(payload.data, payload.key - 4, struct.pack("<I", length))
    assert keys_of(kind, data, tmp_path) == ()


@BOTH
def test_a_long_key_that_every_constant_shares_is_not_read_for_ever(
    kind: Kind, tmp_path: Path
) -> None:
    key = Text("k" * 50_000)
    shared = Table({0: Number("U64", 2**64 - 1), 2: key})
    root = Table({0: Text("0"), kind.slot: Tables([shared] * 10_000)})
    data = encode(root, kind.identifier).data
    start = header(kind, size=len(data), data_start=START + len(data))
    assert keys_of(kind, start + data, tmp_path) == ()


@st.composite
def mutations(draw: st.DrawFn) -> tuple[Kind, bytes]:
    """A payload with some bytes changed, and perhaps cut off or longer."""
    kind = draw(st.sampled_from([XNNPACK, VULKAN]))
    data = bytearray(made(kind).data)
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(data) - 4))
        value = draw(st.sampled_from([0, 1, 8, 0x7FFFFFFF, 2**32 - 1]) | st.integers(0, 2**32 - 1))
        width = draw(st.sampled_from([1, 2, 4]))
        data[at : at + width] = struct.pack("<I", value)[:width]
    end = draw(st.integers(0, len(data)) | st.just(len(data)))
    return kind, bytes(data[:end]) + draw(st.binary(max_size=20))


@given(mutation=mutations())
@settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_whatever_is_in_a_payload_nothing_outside_it_is_read(
    mutation: tuple[Kind, bytes], tmp_path: Path
) -> None:
    kind, data = mutation
    source = watched(data, tmp_path)
    try:
        keys = payloads.READERS[kind.backend](source, source.allowed)
        assert len(set(keys)) == len(keys)
        assert all(keys)
    except BadFile:
        pass
    finally:
        source.close()


def program(kind: Kind, payload: bytes, named: Sequence[Named] = ()) -> Pte:
    """A program with that payload in its first segment, and some named data in its second."""
    return Pte(
        segments=[Segment(payload), Segment(b"data")],
        named=named,
        methods=[Method("forward", [Delegate(backend=kind.backend, segment=0)])],
    )


@BOTH
def test_a_delegate_of_a_program_knows_the_keys(kind: Kind, tmp_path: Path) -> None:
    (delegate,) = of_kind(layout_of(program(kind, made(kind).data), tmp_path), "delegate")
    assert delegate.uses == KEYS


@BOTH
def test_so_does_one_whose_payload_is_in_the_flatbuffer(kind: Kind, tmp_path: Path) -> None:
    spec = Pte(
        inline_delegates=[made(kind).data],
        methods=[Method("forward", [Delegate(backend=kind.backend, inline=0)])],
    )
    (delegate,) = of_kind(layout_of(spec, tmp_path), "delegate")
    assert delegate.uses == KEYS


@BOTH
@pytest.mark.parametrize("payload", [b"", b"odd", bytes(4096)], ids=["none", "short", "zeros"])
def test_an_odd_payload_is_no_error(kind: Kind, payload: bytes, tmp_path: Path) -> None:
    (delegate,) = of_kind(layout_of(program(kind, payload), tmp_path), "delegate")
    assert delegate.uses == ()


def test_a_payload_of_another_backend_is_not_read(tmp_path: Path) -> None:
    other = Kind(backend="OtherBackend", magic=b"XH00", identifier=b"XN01", slot=8)
    source = watched(made(other).data, tmp_path)
    assert payloads.references(source, other.backend, source.allowed) == ()
    assert source.reads == []
    source.close()


def test_a_payload_is_read_by_its_own_backend_only(tmp_path: Path) -> None:
    assert keys_of(XNNPACK, made(VULKAN).data, tmp_path) == ()
    assert keys_of(VULKAN, made(XNNPACK).data, tmp_path) == ()


@pytest.mark.parametrize("name", ["xnnpack", "methods", "inline"])
def test_every_named_datum_of_a_sample_is_used(name: str) -> None:
    container = read_container(str(Path(__file__).parent / "data" / f"{name}.pte"))
    used = {key for entry in of_kind(container, "delegate") for key in entry.uses}
    assert used == {entry.name for entry in of_kind(container, "named_data")} != set()
