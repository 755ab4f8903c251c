"""Damage: what bit rot, bad transfers and attackers make of a file. Everything follows a seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.support.fields import Place, places

DATA = Path(__file__).parents[1] / "data"
TELLING = (0, 1, 2**31, 2**32 - 1, 2**64 - 1)
"""The numbers at which careless arithmetic breaks."""


class Sample(NamedTuple):
    """A sound file, and the numbers in it that lead to other places."""

    name: str
    data: bytes
    places: Sequence[Place]


def samples(folder: Path = DATA) -> list[Sample]:
    """The files that the real exporter wrote."""
    files = sorted(path for path in folder.iterdir() if path.suffix in {".pte", ".ptd"})
    return [Sample(path.name, data := path.read_bytes(), places(data)) for path in files]


def written(data: bytes, place: Place, number: int) -> bytes:
    """The same file with a number at a place, cut to its width."""
    new = (number & ((1 << 8 * place.width) - 1)).to_bytes(place.width, "little")
    return data[: place.at] + new + data[place.at + place.width :]


def number_at(data: bytes, place: Place) -> int:
    return int.from_bytes(data[place.at : place.at + place.width], "little")


def _flip(random: Random, sample: Sample, data: bytes) -> bytes:
    damaged = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 8))):
        damaged[random.randrange(len(damaged))] ^= 1 << random.randrange(8)
    return bytes(damaged)


def _cut(random: Random, sample: Sample, data: bytes) -> bytes:
    return data[: random.randrange(1, len(data) + 1)]


def _write(random: Random, sample: Sample, data: bytes) -> bytes:
    place = random.choice(sample.places)
    old = number_at(data, place)
    near = (old - 1, old + 1, old + 4, 2 * old, len(data), len(data) - 1, random.getrandbits(64))
    return written(data, place, random.choice((*TELLING, *near)))


def _swap(random: Random, sample: Sample, data: bytes) -> bytes:
    """Two places of one width trade their numbers."""
    one = random.choice(sample.places)
    two = random.choice([place for place in sample.places if place.width == one.width])
    return written(written(data, one, number_at(data, two)), two, number_at(data, one))


def _splice(random: Random, sample: Sample, data: bytes) -> bytes:
    """A stretch of the file over, or between, other bytes of it."""
    size = random.randrange(1, min(len(data), 64) + 1)
    start = random.randrange(len(data) - size + 1)
    at = random.randrange(len(data))
    gone = random.choice((0, size))
    return bytes(data[:at] + data[start : start + size] + data[at + gone :])


KINDS: Sequence[Callable[[Random, Sample, bytes], bytes]] = (_flip, _cut, _write, _swap, _splice)


def mutated(random: Random, sample: Sample) -> bytes:
    """A sample that was damaged once, or a few times in a row."""
    data = sample.data
    kinds = random.choices(KINDS, weights=(4, 1, 8, 3, 2), k=random.choice((1, 1, 1, 2, 3)))
    for kind in kinds:
        data = kind(random, sample, data)
    return data


def chimera(random: Random, one: Sample, two: Sample) -> bytes:
    """The first bytes of one file and the last of another."""
    return one.data[: random.randrange(len(one.data))] + two.data[random.randrange(len(two.data)) :]
