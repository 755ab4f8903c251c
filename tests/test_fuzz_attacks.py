"""Files made to be expensive cost no more calls and bytes than their size explains."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from aligncheck import BadFile, audit, fix
from aligncheck.requests.config import read_config
from aligncheck.requests.sources import Sources
from tests.fuzz.attacks import ATTACKS, many_dimensions, nested_segments
from tests.support.build import Named, Ptd, Pte, Segment
from tests.support.cli import python
from tests.support.effort import Effort, effort
from tests.support.flat import Encoded, Table, Tables, Text, encode
from tests.support.hostile import audited
from tests.support.reading import fault_at

SIZE = 2**12
MOST_CALLS = 4 * 10**6
CALLS_A_BYTE = 400
MEMORY_A_BYTE = 1000
GIB = 2**30


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=list(ATTACKS))
def test_an_attack_costs_calls_and_memory_in_proportion_to_its_size(
    tmp_path: Path, attack: Callable[[int], bytes]
) -> None:
    small, large = (cost(tmp_path / "attack", attack(size)) for size in (SIZE, 4 * SIZE))
    # A cost that grew with the square would grow sixteen-fold.
    assert large.calls < 6 * small.calls
    assert large.memory < 6 * small.memory + 2**20
    assert small.calls < CALLS_A_BYTE * SIZE
    assert small.memory < MEMORY_A_BYTE * SIZE


def cost(path: Path, data: bytes) -> Effort:
    path.write_bytes(data)
    return effort(lambda: audited(path), most_calls=MOST_CALLS)


def test_a_constant_of_very_many_dimensions_is_refused_in_a_short_message(tmp_path: Path) -> None:
    path = tmp_path / "dimensions.pte"
    path.write_bytes(many_dimensions(4000))
    assert len(fault_at(path)) < 500


def test_nested_segments_are_moved_by_reading_them_a_few_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "nested.ptd"
    path.write_bytes(nested_segments(2**16))
    pread, count = os.pread, [0]

    def counted(fd: int, size: int, start: int) -> bytes:
        data = pread(fd, size, start)
        count[0] += len(data)
        return data

    monkeypatch.setattr(os, "pread", counted)
    assert fix(path, {"key": 3}).applied
    assert count[0] < 20 * path.stat().st_size


def sparse(path: Path, encoded: Encoded, text: Text | None = None) -> Path:
    """A .pte without a header that claims 1 TiB, of which the disk has a page."""
    data = bytearray(encoded.data)
    if text is not None:
        struct.pack_into("<I", data, encoded.places[text] - 4, 2**32 - 1)
    with path.open("wb") as file:
        file.write(data)
        file.truncate(1024 * GIB)
    return path


def test_a_sparse_file_that_claims_a_tebibyte_of_metadata_is_audited_or_refused(
    tmp_path: Path,
) -> None:
    path = sparse(tmp_path / "sparse.pte", encode(Table({4: Tables([])}), b"ET12"))
    spent = effort(lambda: audited(path), most_calls=10_000)
    assert spent.memory < 64 * 2**20


LIMITED = """
import resource, sys
import aligncheck
resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
try:
    aligncheck.audit(sys.argv[1])
except aligncheck.BadFile as error:
    print(error.place)
"""


def test_a_text_that_claims_gibibytes_is_refused_before_it_is_read(tmp_path: Path) -> None:
    key = Text("key")
    encoded = encode(Table({4: Tables([Table({})]), 7: Tables([Table({0: key})])}), b"ET12")
    path = sparse(tmp_path / "sparse.pte", encoded, key)
    # In a process of its own, which may not have the memory that the file claims.
    ran = python("-c", LIMITED, str(path))
    assert (ran.out, ran.err) == ("named_data[0].key\n", "")


@pytest.mark.parametrize("place", [16, 24, 32])
@pytest.mark.parametrize("claim", [2 * GIB, 2**40, 2**63])
def test_a_header_that_claims_gigabytes_costs_nothing(
    tmp_path: Path, place: int, claim: int
) -> None:
    data = bytearray(Pte(segments=[Segment(b"1")]).build().data)
    struct.pack_into("<Q", data, place, claim)
    path = tmp_path / "claim.pte"
    path.write_bytes(data)
    spent = effort(lambda: audited(path), most_calls=1000)
    assert spent.memory < 2**20


def test_segments_of_a_sparse_file_are_not_read(tmp_path: Path) -> None:
    spec = Ptd(base=384, segments=[Segment(size=100 * GIB, offset=0)], named=[Named("a", 0)])
    path = spec.build().write(tmp_path / "sparse.ptd")
    os.truncate(path, 384 + 100 * GIB)
    spent = effort(lambda: audit(path, {"a": 4096}), most_calls=5000)
    assert spent.memory < 2**20


def test_a_configuration_of_one_endless_key_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "aligncheck.toml"
    path.write_text("requests." + ".".join(["a"] * 20_000) + " = 1\n", encoding="utf-8")
    with pytest.raises(BadFile) as caught:
        effort(lambda: read_config(str(path)), most_calls=10**6)
    assert len(str(caught.value)) < 1000


def test_many_overrides_for_many_entries_cost_no_product_of_both(tmp_path: Path) -> None:
    override = '[[overrides]]\npaths = ["*"]\nrequests = {"*" = 3}\n'
    (tmp_path / "aligncheck.toml").write_text(override * 500, encoding="utf-8")
    named = [Named(f"key {index}", 0) for index in range(500)]
    path = Ptd(segments=[Segment(b"1")], named=named).build().write(tmp_path / "many.ptd")

    def work() -> None:
        with suppress(BadFile):  # Nobody has so many wishes: it may well be refused.
            audit(path, Sources().askers(str(path)))

    assert effort(work, most_calls=200_000).memory < 2**26
