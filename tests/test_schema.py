"""The declared tables against the schemas that ExecuTorch ships in its wheel."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

from aligncheck.formats import FORMATS, layout, ptd, pte_schema
from aligncheck.formats.tables import (
    I8,
    I32,
    U32,
    U64,
    Bytes,
    Child,
    Children,
    Field,
    Numbers,
    Table,
    Text,
    Union,
    fields_of,
)

pytestmark = pytest.mark.exporter

PROGRAM = "schema/program.fbs"
SCALARS = "schema/scalar_type.fbs"
FLAT_TENSOR = "extension/flat_tensor/serialize/flat_tensor.fbs"


class SchemaField(NamedTuple):
    """A field as a schema declares it."""

    slot: int
    type: str
    default: str | None


class Schema:
    """As much of a .fbs file as is needed to number its fields and the members of its unions."""

    def __init__(self, text: str) -> None:
        text = re.sub(r"//.*", "", text)
        self.enums = {
            name: dict(_members(body))
            for name, body in re.findall(r"\benum\s+(\w+)\s*:\s*byte\s*{(.*?)}", text, re.DOTALL)
        }
        self.unions = {
            name: re.findall(r"\w+", body)
            for name, body in re.findall(r"\bunion\s+(\w+)\s*{(.*?)}", text, re.DOTALL)
        }
        self.tables = {
            name: dict(self._fields(body))
            for name, body in re.findall(r"\btable\s+(\w+)\s*{(.*?)}", text, re.DOTALL)
        }
        self.identifier = re.findall(r'\bfile_identifier\s+"(....)"', text)

    def _fields(self, body: str) -> Iterator[tuple[str, SchemaField]]:
        slot = 0
        for declaration in body.split(";")[:-1]:
            match = _FIELD.fullmatch(declaration.strip())
            assert match, f"not understood: {declaration!r}"
            # The attribute `id` would number the fields otherwise than in their order.
            assert not re.search(r"\bid\b", match["attributes"] or "")
            yield match["name"], SchemaField(slot, match["type"], match["default"])
            # A union is two fields: which table it is, and the table.
            slot += 2 if match["type"] in self.unions else 1


_FIELD = re.compile(
    r"(?P<name>\w+)\s*:\s*(?P<type>[\w.]+|\[[\w.]+\])"
    r"(?:\s*=\s*(?P<default>\w+))?(?:\s*\((?P<attributes>.*)\))?"
)


def _members(body: str) -> Iterator[tuple[str, int]]:
    value = -1
    for name, number in re.findall(r"(\w+)\s*(?:=\s*(\d+))?\s*(?:,|$)", body.strip()):
        value = int(number) if number else value + 1
        yield name, value


def read_schema(name: str) -> Schema:
    # Finding a package imports nothing of it, neither torch.
    spec = find_spec("executorch")
    assert spec is not None, "install the extra `executorch`"
    assert spec.submodule_search_locations is not None
    folder = Path(next(iter(spec.submodule_search_locations)))
    return Schema((folder / name).read_text(encoding="utf-8"))


def declared(module: ModuleType) -> list[type[Table]]:
    """The tables that a module declares or reads."""
    tables = [
        value
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, Table) and value is not Table
    ]
    assert tables
    return tables


_NUMBERS = {
    I8: {"byte", "int8"},
    I32: {"int", "int32"},
    U32: {"uint", "uint32"},
    U64: {"ulong", "uint64"},
}


def types_of(field: Field[object]) -> set[str]:
    """How a schema may spell the type that a declared field reads."""
    match field:
        case Text():
            return {"string"}
        case Bytes():
            return {"[ubyte]", "[uint8]"}
        case Numbers():
            return {f"[{name}]" for name in _NUMBERS[field.element]}
        case Child():
            return {field.kind.__name__}
        case Children():
            return {f"[{field.kind.__name__}]"}
        case _:
            return _NUMBERS[type(field)]  # type: ignore[index]


def faults(table: type[Table], schema: Schema) -> list[str]:
    """What a declared table has otherwise than the schema."""
    if table.__name__ not in schema.tables:
        return [f"{table.__name__} is not in the schema"]
    fields = schema.tables[table.__name__]
    return [
        f"{table.__name__}.{name}: {fault}"
        for name, field in fields_of(table).items()
        for fault in (_faults(field, fields[name], schema) if name in fields else ["no such field"])
    ]


def _faults(field: Field[object], truth: SchemaField, schema: Schema) -> Iterator[str]:
    if field.slot != truth.slot:
        yield f"slot {field.slot}, not {truth.slot}"
    if isinstance(field, Union):
        members = schema.unions.get(truth.type, [])
        # The number 0 says that there is none.
        if members[field.tag - 1 : field.tag] != [field.kind.__name__]:
            yield f"tag {field.tag} is not {field.kind.__name__} in {members}"
    elif ("byte" if truth.type in schema.enums else truth.type) not in types_of(field):
        yield f"{type(field).__name__}, not {truth.type}"
    # A number that is not stored is read as 0.
    default = schema.enums.get(truth.type, {}).get(truth.default or "", truth.default)
    if default not in {None, 0, "0"}:
        yield f"default {truth.default}"


@pytest.mark.parametrize("table", declared(pte_schema), ids=lambda table: table.__name__)
def test_a_table_of_a_program_is_as_in_its_schema(table: type[Table]) -> None:
    assert faults(table, with_scalar_types(read_schema(PROGRAM))) == []


@pytest.mark.parametrize("table", declared(ptd), ids=lambda table: table.__name__)
def test_a_table_of_a_data_file_is_as_in_its_schema(table: type[Table]) -> None:
    assert faults(table, read_schema(FLAT_TENSOR)) == []


@pytest.mark.parametrize("name", [PROGRAM, FLAT_TENSOR])
@pytest.mark.parametrize("table", declared(layout), ids=lambda table: table.__name__)
def test_a_shared_table_is_as_in_both_schemas(table: type[Table], name: str) -> None:
    assert faults(table, read_schema(name)) == []


def test_the_root_tables_have_no_fields_beyond_those_that_are_known() -> None:
    # A new kind of data in a file would go unaudited: a new slot is to be looked at.
    assert set(read_schema(PROGRAM).tables["Program"]) == set(fields_of(pte_schema.Program))
    assert set(read_schema(FLAT_TENSOR).tables["FlatTensor"]) == set(fields_of(ptd.FlatTensor))


def test_the_file_identifiers_are_those_of_the_schemas() -> None:
    assert list(FORMATS) == [b"ET12", b"FT01"]
    assert read_schema(PROGRAM).identifier == ["ET12"]
    assert read_schema(FLAT_TENSOR).identifier == ["FT01"]


def test_the_locations_have_the_numbers_of_the_schema() -> None:
    enums = read_schema(PROGRAM).enums
    assert enums["DataLocation"] == {
        "INLINE": pte_schema.DATA_LOCATION_INLINE,
        "SEGMENT": pte_schema.DATA_LOCATION_SEGMENT,
    }
    assert enums["TensorDataLocation"]["EXTERNAL"] == pte_schema.TENSOR_LOCATION_EXTERNAL


def test_elements_have_the_sizes_that_torch_gives_them() -> None:
    from executorch.exir.tensor import enum_to_scalar_map

    sizes = {int(kind): dtype.itemsize for kind, dtype in enum_to_scalar_map.items()}
    known = pte_schema.SCALAR_SIZES
    assert {kind: known[kind] for kind in known.keys() & sizes.keys()} == {
        kind: sizes[kind] for kind in known.keys() & sizes.keys()
    }
    assert known.keys() >= sizes.keys() - SUBBYTE


def test_every_scalar_type_of_the_schema_has_a_size() -> None:
    scalars = read_schema(SCALARS).enums["ScalarType"]
    assert set(scalars.values()) - pte_schema.SCALAR_SIZES.keys() == SUBBYTE
    for name, number in scalars.items():
        bits = re.search(r"FLOAT8|16|32|64", name)
        if bits and number not in SUBBYTE:
            assert pte_schema.SCALAR_SIZES[number] == int(bits[0].removeprefix("FLOAT")) // 8


SUBBYTE = {16, 17}
"""QUINT4X2 and QUINT2X4: several elements share a byte."""


def with_scalar_types(schema: Schema) -> Schema:
    """With the enum that program.fbs includes from another file."""
    schema.enums |= read_schema(SCALARS).enums
    return schema


class DataSegment(Table):
    """The fields exchanged."""

    offset = U64(1)
    size = U64(0)


class NamedData(Table):
    """One field too narrow, and one that does not exist."""

    segment_index = I8(1)
    alignment = U32(2)


class EValue(Table):
    """The union's members miscounted."""

    val = Union(0, pte_schema.Tensor, tag=4)


def test_a_wrong_declaration_would_be_noticed() -> None:
    schema = read_schema(PROGRAM)
    assert faults(DataSegment, schema) == [
        "DataSegment.offset: slot 1, not 0",
        "DataSegment.size: slot 0, not 1",
    ]
    assert faults(NamedData, schema) == [
        "NamedData.segment_index: I8, not uint32",
        "NamedData.alignment: no such field",
    ]
    (fault,) = faults(EValue, schema)
    assert fault.startswith("EValue.val: tag 4 is not Tensor in ['Null', 'Int',")


def test_fields_after_a_union_are_numbered_with_its_two_slots() -> None:
    schema = Schema(
        "union U { A, B } table T { before: int; u: U; after: [ubyte] (force_align: 8); }"
    )
    assert schema.tables["T"] == {
        "before": SchemaField(0, "int", None),
        "u": SchemaField(1, "U", None),
        "after": SchemaField(3, "[ubyte]", None),
    }
