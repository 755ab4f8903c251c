"""The checked reader of flatbuffers, on buffers that the flatbuffers package wrote."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from aligncheck.errors import BadFile
from aligncheck.formats import flatbuffer, tables
from aligncheck.formats.flatbuffer import Buffer
from aligncheck.formats.source import Source
from aligncheck.formats.tables import read_root
from tests.support.build import patched
from tests.support.flat import Bytes, Encoded, Node, Number, Numbers, Table, Tables, Text, encode

Reader = Callable[[bytes], "Root"]
TAG = 3


class Leaf(tables.Table):
    number = tables.U64(0)
    name = tables.Text(1)
    numbers = tables.Numbers(2, tables.U64)


class Root(tables.Table):
    tiny = tables.I8(0)
    signed = tables.I32(1)
    count = tables.U32(2)
    large = tables.U64(3)
    text = tables.Text(4)
    blob = tables.Bytes(5)
    numbers = tables.Numbers(6, tables.U64)
    child = tables.Child(7, Leaf)
    leaves = tables.Children(8, Leaf)
    value = tables.Union(9, Leaf, tag=TAG)


TINY, SIGNED, COUNT = Number("I8", -5), Number("I32", -70_000), Number("U32", 2**32 - 1)
LARGE = Number("U64", 2**64 - 1)
TEXT, BLOB, NUMBERS = Text("grüße"), Bytes(b"0123456789"), Numbers("U64", [7, 8, 2**63])
LEAVES = Tables([Table({0: Number("U64", i), 1: Text(f"leaf {i}")}) for i in range(1, 4)])
CHILD, VALUE = Table({0: Number("U64", 11)}), Table({0: Number("U64", 12)})
FULL = Table(
    {
        0: TINY,
        1: SIGNED,
        2: COUNT,
        3: LARGE,
        4: TEXT,
        5: BLOB,
        6: NUMBERS,
        7: CHILD,
        8: LEAVES,
        9: Number("U8", TAG),
        10: VALUE,
    }
)


@pytest.fixture
def read(tmp_path: Path) -> Iterator[Reader]:
    """Reads the root table of a buffer that is a whole file."""
    with ExitStack() as stack:

        def _read(data: bytes) -> Root:
            path = tmp_path / "buffer"
            path.write_bytes(data)
            source = stack.enter_context(closing(Source(str(path))))
            return read_root(Buffer(source, source.size), Root)

        yield _read


@pytest.fixture
def full() -> Encoded:
    return encode(FULL, b"TEST")


def everything(root: Root) -> object:
    """All that can be read from a root table."""
    leaves = [root.child, root.value, *root.leaves]
    inside = [(leaf.number, leaf.name, leaf.numbers.values) for leaf in leaves if leaf]
    numbers = (root.tiny, root.signed, root.count, root.large, root.numbers.values)
    return numbers, root.text, root.blob, inside


def slot_place(data: bytes, slot: int) -> int:
    """Where the root table's vtable says where a slot's field is."""
    table = struct.unpack_from("<I", data)[0]
    vtable = table - struct.unpack_from("<i", data, table)[0]
    return int(vtable + 4 + 2 * slot)


def field_place(data: bytes, slot: int) -> int:
    """Where the field of one of the root table's slots is."""
    table = struct.unpack_from("<I", data)[0]
    return int(table + struct.unpack_from("<H", data, slot_place(data, slot))[0])


def u32(number: int) -> bytes:
    return struct.pack("<I", number)


def test_every_kind_of_field_reads_as_it_was_written(read: Reader, full: Encoded) -> None:
    root = read(full.data)
    assert (root.tiny, root.signed, root.count, root.large) == (-5, -70_000, 2**32 - 1, 2**64 - 1)
    assert root.text == "grüße"
    assert root.blob == (full.places[BLOB], 10)
    assert root.numbers.values == (7, 8, 2**63)
    assert root.child is not None
    assert root.child.number == 11
    assert root.value is not None
    assert root.value.number == 12
    assert [(leaf.number, leaf.name) for leaf in root.leaves] == [
        (1, "leaf 1"),
        (2, "leaf 2"),
        (3, "leaf 3"),
    ]


def test_a_field_that_is_not_stored_has_its_default_and_no_place(read: Reader) -> None:
    root = read(encode(Table({10: None}), b"TEST").data)
    assert everything(root) == ((0, 0, 0, 0, ()), None, None, [])
    assert [root.place(name) for name in ("tiny", "large", "text", "leaves", "value")] == [None] * 5


def test_a_slot_that_the_writer_did_not_know_is_a_field_that_is_not_stored(read: Reader) -> None:
    root = read(encode(Table({2: COUNT}), b"TEST").data)
    assert len(root.fields) == 3
    assert root.count == 2**32 - 1
    assert root.large == 0


def test_slots_that_this_reader_does_not_know_are_left_alone(read: Reader) -> None:
    root = read(encode(Table({2: COUNT, 50: Text("of the future")}), b"TEST").data)
    assert len(root.fields) == 51
    assert root.count == 2**32 - 1


@pytest.mark.parametrize(("name", "node"), [("tiny", TINY), ("count", COUNT), ("large", LARGE)])
def test_the_place_of_a_number_is_where_its_bytes_are(
    read: Reader, full: Encoded, name: str, node: Node
) -> None:
    assert read(full.data).place(name) == full.places[node]


def test_a_default_that_is_stored_all_the_same_has_a_place(read: Reader) -> None:
    zero = Number("U64", 0, stored=True)
    encoded = encode(Table({3: zero}), b"TEST")
    assert read(encoded.data).place("large") == encoded.places[zero]


def test_the_place_of_a_vector_element_is_where_its_bytes_are(read: Reader, full: Encoded) -> None:
    numbers = read(full.data).numbers
    assert [numbers.place(i) for i in range(3)] == [full.places[NUMBERS] + 8 * i for i in range(3)]


def test_the_table_size_in_a_vtable_is_not_trusted(read: Reader, full: Encoded) -> None:
    size_place = slot_place(full.data, 0) - 2
    changed = patched(full.data, size_place, b"\x04\x00")
    assert everything(read(changed)) == everything(read(full.data))


def test_text_that_is_not_utf_8_is_escaped(read: Reader) -> None:
    root = read(encode(Table({4: Text(b"caf\xe9 \xff")}), b"TEST").data)
    assert root.text == r"caf\xe9 \xff"


def test_a_union_of_another_type_is_not_read(read: Reader) -> None:
    table = Table({9: Number("U8", TAG + 1), 10: Table({0: Number("U64", 12)})})
    assert read(encode(table, b"TEST").data).value is None


def test_a_union_with_a_type_and_no_value_is_refused(read: Reader) -> None:
    root = read(encode(Table({9: Number("U8", TAG), 10: None}), b"TEST").data)
    with pytest.raises(BadFile, match=r": value: has a type but no value$"):
        _ = root.value


def test_a_vector_of_tables_is_a_sequence(read: Reader, full: Encoded) -> None:
    leaves = read(full.data).leaves
    assert len(leaves) == 3
    assert leaves[2].number == 3
    assert [leaf.number for leaf in leaves[1:]] == [2, 3]
    with pytest.raises(IndexError):
        leaves[3]


def test_a_table_knows_its_path_from_the_root(read: Reader, full: Encoded) -> None:
    root = read(full.data)
    assert root.leaves[1].where("number") == "leaves[1].number"
    assert root.where() == "root table"


@pytest.mark.parametrize("offset", [0, 4, 7])
def test_a_root_offset_into_the_first_8_bytes_is_refused(
    read: Reader, full: Encoded, offset: int
) -> None:
    with pytest.raises(BadFile, match=f"root table offset: points to byte {offset}, inside"):
        read(patched(full.data, 0, u32(offset)))


@pytest.mark.parametrize("offset", [2**31, 2**32 - 1])
def test_a_root_offset_outside_the_buffer_is_refused(
    read: Reader, full: Encoded, offset: int
) -> None:
    found = f"root table: points to bytes {offset} to {offset + 4}, outside the first"
    with pytest.raises(BadFile, match=found):
        read(patched(full.data, 0, u32(offset)))


@pytest.mark.parametrize("distance", [-(2**31), -(2**20), 2**20, 2**31 - 1])
def test_a_vtable_outside_the_buffer_is_refused(read: Reader, full: Encoded, distance: int) -> None:
    table = struct.unpack_from("<I", full.data)[0]
    changed = patched(full.data, table, struct.pack("<i", distance))
    place = table - distance
    with pytest.raises(BadFile, match=f"root table: points to bytes {place} to {place + 2}, out"):
        read(changed)


@pytest.mark.parametrize("size", [0, 2, 3, 5, 27])
def test_a_vtable_of_an_impossible_size_is_refused(read: Reader, full: Encoded, size: int) -> None:
    vtable = slot_place(full.data, 0) - 4
    changed = patched(full.data, vtable, struct.pack("<H", size))
    with pytest.raises(BadFile, match=f"has a vtable of {size} bytes at byte {vtable}$"):
        read(changed)


def test_a_vtable_that_goes_on_after_the_buffer_is_refused(read: Reader, full: Encoded) -> None:
    changed = patched(full.data, slot_place(full.data, 0) - 4, b"\xfe\xff")
    with pytest.raises(BadFile, match="root table: points to bytes"):
        read(changed)


@pytest.mark.parametrize(
    ("slot", "name"),
    [(0, "tiny"), (3, "large"), (4, "text"), (6, "numbers"), (7, "child"), (8, "leaves")],
)
def test_a_field_outside_the_buffer_is_refused_by_its_name(
    read: Reader, full: Encoded, slot: int, name: str
) -> None:
    root = read(patched(full.data, slot_place(full.data, slot), b"\xff\xff"))
    with pytest.raises(BadFile, match=f": {name}: points to bytes"):
        getattr(root, name)


@pytest.mark.parametrize("distance", [2**20, 2**31, 2**32 - 1])
@pytest.mark.parametrize(
    ("slot", "name"), [(4, "text"), (5, "blob"), (6, "numbers"), (7, "child"), (8, "leaves")]
)
def test_an_offset_that_leads_outside_the_buffer_is_refused(
    read: Reader, full: Encoded, slot: int, name: str, distance: int
) -> None:
    at = field_place(full.data, slot)
    root = read(patched(full.data, at, u32(distance)))
    start = at + distance
    with pytest.raises(BadFile, match=f": {name}: points to bytes {start} to {start + 4}, out"):
        getattr(root, name)


@pytest.mark.parametrize("count", [2**16, 2**29, 2**31, 2**32 - 1])
@pytest.mark.parametrize(
    ("name", "width"), [("text", 1), ("blob", 1), ("numbers", 8), ("leaves", 4)]
)
def test_a_vector_longer_than_the_buffer_is_refused(
    read: Reader, full: Encoded, name: str, width: int, count: int
) -> None:
    vectors: dict[str, Node] = {"text": TEXT, "blob": BLOB, "numbers": NUMBERS, "leaves": LEAVES}
    start = full.places[vectors[name]]
    root = read(patched(full.data, start - 4, u32(count)))
    found = f": {name}: points to bytes {start} to {start + count * width}, outside"
    with pytest.raises(BadFile, match=found):
        getattr(root, name)


def test_a_table_of_a_vector_outside_the_buffer_is_refused_by_its_index(
    read: Reader, full: Encoded
) -> None:
    changed = patched(full.data, full.places[LEAVES] + 4, u32(2**31))
    root = read(changed)
    with pytest.raises(BadFile, match=r": leaves\[1\]: points to bytes"):
        everything(root)


def test_a_fault_deep_in_the_buffer_is_given_with_the_path_to_it(
    read: Reader, full: Encoded
) -> None:
    name = LEAVES.items[2].slots[1]
    assert name is not None
    root = read(patched(full.data, full.places[name] - 4, u32(2**30)))
    with pytest.raises(BadFile, match=r": leaves\[2\]\.name: points to bytes"):
        everything(root)


def test_a_buffer_cut_anywhere_gives_an_error_or_what_was_written(
    read: Reader, full: Encoded
) -> None:
    whole = everything(read(full.data))
    refused = 0
    for size in range(len(full.data)):
        try:
            assert everything(read(full.data[:size])) == whole
        except BadFile:
            refused += 1
    # Some bytes at the end may be padding; all the others are needed.
    assert refused > len(full.data) - 16


@pytest.mark.parametrize("value", [0x00, 0x7F, 0x80, 0xFF])
def test_any_byte_may_have_any_value_without_a_crash(
    read: Reader, full: Encoded, value: int
) -> None:
    refused = 0
    for at in range(len(full.data)):
        try:
            everything(read(patched(full.data, at, bytes([value]))))
        except BadFile:
            refused += 1
    assert refused


def test_a_list_that_is_shared_a_few_times_is_read(read: Reader) -> None:
    leaf = Table({2: Numbers("U64", range(100))})
    root = read(encode(Table({8: Tables([leaf] * 10)}), b"TEST").data)
    assert [len(leaf.numbers.values) for leaf in root.leaves] == [100] * 10


def test_a_list_that_is_shared_a_thousand_times_is_refused(read: Reader) -> None:
    leaf = Table({2: Numbers("U64", range(10_000))})
    root = read(encode(Table({8: Tables([leaf] * 1_000)}), b"TEST").data)
    with pytest.raises(BadFile, match=r": leaves\[\d+\]\.numbers: refers to far more data than"):
        everything(root)


def test_a_long_text_that_is_shared_a_thousand_times_is_refused(read: Reader) -> None:
    leaf = Table({1: Text("x" * 100_000)})
    root = read(encode(Table({8: Tables([leaf] * 1_000)}), b"TEST").data)
    with pytest.raises(BadFile, match=r": leaves\[\d+\]\.name: refers to far more data than"):
        everything(root)


@pytest.mark.parametrize("whole", [True, False])
def test_a_buffer_may_begin_anywhere_in_a_file(
    tmp_path: Path, full: Encoded, monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    if not whole:
        monkeypatch.setattr(flatbuffer, "READ_WHOLE", 0)
    path = tmp_path / "embedded"
    path.write_bytes(b"x" * 100_003 + full.data + b"y" * 99)
    with closing(Source(str(path))) as source:
        root = read_root(Buffer(source, len(full.data), 100_003), Root)
        assert (root.text, root.large) == ("grüße", 2**64 - 1)
        assert root.place("large") == 100_003 + full.places[LARGE]


@pytest.fixture
def lazily(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Makes every buffer a large one; the offsets and sizes that are read from its file."""
    monkeypatch.setattr(flatbuffer, "READ_WHOLE", 0)
    reads: list[tuple[int, int]] = []
    original = Source.read

    def _counted(self: Source, offset: int, size: int) -> bytes:
        reads.append((offset, size))
        return original(self, offset, size)

    monkeypatch.setattr(Source, "read", _counted)
    return reads


def test_a_large_buffer_reads_like_a_small_one(
    read: Reader, full: Encoded, lazily: list[tuple[int, int]]
) -> None:
    root = read(full.data)
    assert everything(root)
    assert [leaf.name for leaf in root.leaves] == ["leaf 1", "leaf 2", "leaf 3"]
    assert lazily


def test_of_a_large_buffer_only_the_pages_that_are_needed_are_read(
    read: Reader, lazily: list[tuple[int, int]]
) -> None:
    blob = Bytes(bytes(2**20))
    encoded = encode(Table({4: TEXT, 5: blob, 8: LEAVES}), b"TEST")
    root = read(encoded.data)
    everything(root)
    assert root.blob == (encoded.places[blob], 2**20)
    assert sum(size for _, size in lazily) <= 2**18


def test_a_page_is_read_once(read: Reader, full: Encoded, lazily: list[tuple[int, int]]) -> None:
    root = read(full.data)
    everything(root)
    everything(root)
    assert len(lazily) == len(set(lazily))


def test_a_large_buffer_is_bounded_like_a_small_one(
    read: Reader, full: Encoded, lazily: list[tuple[int, int]]
) -> None:
    changed = patched(full.data, full.places[TEXT] - 4, u32(2**31))
    with pytest.raises(BadFile, match=": text: points to bytes"):
        _ = read(changed).text


def test_a_file_that_shrinks_while_it_is_read_is_an_error(
    tmp_path: Path, full: Encoded, lazily: list[tuple[int, int]]
) -> None:
    path = tmp_path / "shrinking"
    path.write_bytes(full.data)
    with closing(Source(str(path))) as source:
        buffer = Buffer(source, source.size)
        path.write_bytes(full.data[:10])
        with pytest.raises(BadFile, match=": byte 10: the file ends here"):
            read_root(buffer, Root)
