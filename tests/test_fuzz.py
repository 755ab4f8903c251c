"""Damage to real files: whatever becomes of them, they are audited or refused, and nothing is lost.

The same for very many files, and guided by coverage: tests/fuzz, see docs/reliability.md.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import mutate
from tests.support.effort import effort
from tests.support.hostile import audited, check_fix, check_reports
from tests.support.mutate import TELLING, Sample, chimera, mutated, written
from tests.support.reports import REPORTS

SAMPLES = {sample.name: sample for sample in mutate.samples()}
SMALL = ("base.ptd", "base.pte", "weak_first.ptd", "lcm_3_4.pte")
RICH = ("weak_first.ptd", "weak_first.pte", "methods.pte", "mutable.pte", "external.pte")
"""Together these have all kinds of entries, and every field that is read."""
HEADERS = (0, 12, 16, 24, 32, 40)
CALLS = 200_000
"""What an audit may take; that of any sample takes 3,000, but damage can make lists longer."""
MEMORY = 2**22

names = st.sampled_from(sorted(SAMPLES))
randoms = st.randoms(use_true_random=False)
"""Of which hypothesis makes all decisions, so that it finds a simple example."""


def checked(data: bytes, check: Callable[[Path], object]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "damaged")
        path.write_bytes(data)
        check(path)


def test_the_samples_have_numbers_of_every_width_in_many_places() -> None:
    # Else the tests below could pass by damaging nothing.
    assert {name for name, sample in SAMPLES.items() if len(sample.places) < 30} == set()
    assert {p.width for sample in SAMPLES.values() for p in sample.places} == {1, 2, 4, 8}
    assert all(HEADERS[-2] in {p.at for p in SAMPLES[name].places} for name in RICH)


def test_there_is_a_report_for_everybody() -> None:
    assert {"text", "quiet", "json_v1"} < set(REPORTS)


@pytest.mark.parametrize("name", SMALL)
def test_a_file_cut_at_any_byte_is_refused(tmp_path: Path, name: str) -> None:
    path, data = tmp_path / "cut", SAMPLES[name].data
    for size in range(len(data)):
        path.write_bytes(data[:size])
        assert audited(path) is None, size
    path.write_bytes(data)
    assert audited(path) is not None


@pytest.mark.parametrize("name", SMALL)
def test_each_byte_may_be_gone_or_doubled(tmp_path: Path, name: str) -> None:
    path, data = tmp_path / "shifted", SAMPLES[name].data
    for at in range(len(data)):
        for other in (data[:at] + data[at + 1 :], data[:at] + data[at : at + 1] + data[at:]):
            path.write_bytes(other)
            audited(path)


@pytest.mark.parametrize("name", RICH)
def test_any_number_that_leads_somewhere_may_be_a_telling_one(tmp_path: Path, name: str) -> None:
    path, sample = tmp_path / "number", SAMPLES[name]
    for place in sample.places:
        for number in TELLING:
            path.write_bytes(written(sample.data, place, number))
            audited(path)


@pytest.mark.parametrize("name", RICH)
def test_a_fix_loses_nothing_whatever_numbers_are_in_the_header_and_the_offsets(
    tmp_path: Path, name: str
) -> None:
    path, sample = tmp_path / "number", SAMPLES[name]
    for place in sample.places:
        if place.width == 8 or place.at in HEADERS:
            for number in TELLING:
                path.write_bytes(written(sample.data, place, number))
                if audited(path) is not None:
                    check_fix(path)


@settings(max_examples=400, deadline=None)
@given(name=names, random=randoms)
def test_a_damaged_file_is_audited_or_refused_in_bounded_time_and_memory(
    name: str, random: Random
) -> None:
    def check(path: Path) -> None:
        spent = effort(lambda: audited(path), most_calls=CALLS)
        assert spent.memory < MEMORY

    checked(mutated(random, SAMPLES[name]), check)


@settings(max_examples=200, deadline=None)
@given(name=names, random=randoms)
def test_every_report_can_be_made_of_a_damaged_file(name: str, random: Random) -> None:
    def check(path: Path) -> None:
        result = audited(path)
        if result is not None:
            check_reports(path, result)

    checked(mutated(random, SAMPLES[name]), check)


@settings(max_examples=200, deadline=None)
@given(name=names, random=randoms)
def test_a_fix_of_a_damaged_file_loses_nothing(name: str, random: Random) -> None:
    def check(path: Path) -> None:
        if audited(path) is not None:
            check_fix(path)

    checked(mutated(random, SAMPLES[name]), check)


@settings(max_examples=200, deadline=None)
@given(one=names, two=names, random=randoms)
def test_the_first_part_of_one_file_and_the_last_of_another_are_no_crash(
    one: str, two: str, random: Random
) -> None:
    checked(chimera(random, SAMPLES[one], SAMPLES[two]), audited)


@pytest.mark.parametrize("name", ["weak_first.ptd", "weak_first.pte"])
def test_damage_is_what_a_seed_says(name: str) -> None:
    # So that what the slow tier finds can be found again.
    sample: Sample = SAMPLES[name]
    one, two, other = (mutated(Random(seed), sample) for seed in (1, 1, 2))
    assert one == two != other
