"""The reported bug and its controls, built by hand in both formats.

Upstream writes each of them in the same way: tests/exporter shows that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.support.build import Named, Ptd, Pte, Segment

Spec = Pte | Ptd
Make = Callable[[int, Sequence[Segment], Sequence[Named]], Spec]
Sample = Callable[[Make], Spec]

REQUESTS = {"weak": 16, "strong": 256, "prefix*": 128}
"""What the entries of the samples were registered with."""
ASKED = tuple(part for key, number in REQUESTS.items() for part in ("-r", f"{key}={number}"))
"""The same as arguments of the command."""


def pte(base: int, segments: Sequence[Segment], named: Sequence[Named]) -> Pte:
    return Pte(base=base, segments=segments, named=named)


def ptd(base: int, segments: Sequence[Segment], named: Sequence[Named]) -> Ptd:
    return Ptd(base=base, segments=segments, named=named)


FORMATS: dict[str, Make] = {"pte": pte, "ptd": ptd}

_PREFIX = Segment(b"p" * 4, offset=0)


def weak_first(make: Make) -> Spec:
    """Equal data under two keys; the second key's stricter request was dropped."""
    return _merged(make, 128)


def strong_first(make: Make) -> Spec:
    """The same, registered the other way round."""
    return _merged(make, 256)


def _merged(make: Make, offset: int) -> Spec:
    named = [Named("prefix0", 0), Named("weak", 1), Named("strong", 1)]
    return make(512, [_PREFIX, Segment(b"same", offset=offset)], named)


def distinct_weak_first(make: Make) -> Spec:
    """Different data: both requests are kept."""
    return _apart(make, weak=128, strong=256)


def distinct_strong_first(make: Make) -> Spec:
    """The same, registered the other way round."""
    return _apart(make, weak=384, strong=256)


def _apart(make: Make, *, weak: int, strong: int) -> Spec:
    segments = [_PREFIX, Segment(b"weak", offset=weak), Segment(b"strong", offset=strong)]
    return make(512, segments, [Named("prefix0", 0), Named("weak", 1), Named("strong", 2)])


def lone(make: Make) -> Spec:
    """One entry at the segment base, which is aligned to 128 only."""
    return make(384, [Segment(b"data", offset=0)], [Named("strong", 0)])


def lcm(make: Make) -> Spec:
    """Two keys for the same data, whose requests only 12 meets; the base is 256."""
    return make(256, [Segment(b"x" * 250, offset=0)], [Named("a", 0), Named("b", 0)])


CLEAN: dict[str, Sample] = {
    "strong_first": strong_first,
    "distinct_weak_first": distinct_weak_first,
    "distinct_strong_first": distinct_strong_first,
}
"""The controls: nothing is violated."""
