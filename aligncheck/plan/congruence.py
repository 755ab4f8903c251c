"""Offsets that several alignments allow at once: pure arithmetic, in bytes."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Congruence:
    """The offsets x with x % modulus == remainder."""

    remainder: int
    modulus: int

    def __contains__(self, offset: int) -> bool:
        return offset % self.modulus == self.remainder

    def first_from(self, start: int) -> int:
        """The smallest allowed offset that is not before `start`."""
        return start + (self.remainder - start) % self.modulus

    def both(self, other: Congruence) -> Congruence | None:
        """The offsets that both allow; None if there are none (Chinese remainder theorem)."""
        common = math.gcd(self.modulus, other.modulus)
        distance = other.remainder - self.remainder
        if distance % common:
            return None
        rest = other.modulus // common
        steps = distance // common * pow(self.modulus // common, -1, rest) % rest
        modulus = self.modulus * rest
        return Congruence((self.remainder + self.modulus * steps) % modulus, modulus)


ANYWHERE = Congruence(0, 1)


def aligned(alignment: int, within: int = 0) -> Congruence:
    """The offsets at which something that lies `within` bytes further is aligned."""
    return Congruence(-within % alignment, alignment)
