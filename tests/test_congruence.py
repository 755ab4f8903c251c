"""Offsets that several alignments allow at once, against trying all of them."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from aligncheck.plan.congruence import ANYWHERE, Congruence, aligned

MODULI = st.integers(1, 48)
OFFSETS = st.integers(0, 10**6)
LARGE = 2**64


@st.composite
def congruences(draw: st.DrawFn) -> Congruence:
    modulus = draw(MODULI)
    return Congruence(draw(st.integers(0, modulus - 1)), modulus)


def members(congruence: Congruence, stop: int) -> set[int]:
    """By definition, without asking the class."""
    return {x for x in range(stop) if x % congruence.modulus == congruence.remainder}


@given(congruences())
def test_a_congruence_contains_what_its_definition_says(congruence: Congruence) -> None:
    assert {x for x in range(200) if x in congruence} == members(congruence, 200)


@given(congruences(), congruences())
def test_both_allow_exactly_the_offsets_that_each_allows(a: Congruence, b: Congruence) -> None:
    period = a.modulus * b.modulus
    common = members(a, period) & members(b, period)
    both = a.both(b)
    assert (members(both, period) if both else set()) == common


@given(congruences(), congruences())
def test_both_is_none_and_never_a_congruence_without_offsets(a: Congruence, b: Congruence) -> None:
    both = a.both(b)
    assert both is None or (0 <= both.remainder < both.modulus)
    assert (both is None) == (not members(a, 48 * 48) & members(b, 48 * 48))


@given(congruences(), congruences())
def test_both_repeats_after_the_lcm(a: Congruence, b: Congruence) -> None:
    both = a.both(b)
    assert both is None or both.modulus == math.lcm(a.modulus, b.modulus)


@given(congruences(), congruences())
def test_the_order_does_not_matter(a: Congruence, b: Congruence) -> None:
    assert a.both(b) == b.both(a)


@given(congruences())
def test_anywhere_adds_nothing(congruence: Congruence) -> None:
    assert ANYWHERE.both(congruence) == congruence
    assert all(offset in ANYWHERE for offset in range(100))


@given(congruences(), OFFSETS)
def test_the_first_offset_is_the_smallest_that_is_not_before_the_start(
    congruence: Congruence, start: int
) -> None:
    candidates = range(start, start + congruence.modulus)
    first = next(x for x in candidates if x % congruence.modulus == congruence.remainder)
    assert congruence.first_from(start) == first


@given(st.integers(1, 2**30), OFFSETS, OFFSETS)
def test_something_further_in_is_aligned_exactly_at_these_places(
    alignment: int, within: int, place: int
) -> None:
    places = aligned(alignment, within)
    assert (place in places) == ((place + within) % alignment == 0)
    assert (places.first_from(place) + within) % alignment == 0


@given(st.integers(1, 2**30), st.integers(1, 2**30), st.integers(0, LARGE), st.integers(0, LARGE))
def test_large_numbers_are_exact(a: int, b: int, within_a: int, within_b: int) -> None:
    both = aligned(a, within_a).both(aligned(b, within_b))
    assert (both is None) == bool((within_a - within_b) % math.gcd(a, b))
    if both is not None:
        place = both.first_from(LARGE)
        assert (place + within_a) % a == (place + within_b) % b == 0
