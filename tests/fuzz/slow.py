"""Very many damaged files, each with a second and 256 MiB: the slow tier.

    python -m tests.fuzz.slow --count 200000 --seconds 1800 --jobs 2

Prints one line, and each violation with the seed that makes its file. The exit status is 1 if
there is any, or if the time was up before all files were tried. Needs Linux.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.fuzz.attacks import ATTACKS
from tests.fuzz.limits import alarm, limit_memory
from tests.support.hostile import audited, check_fix, check_reports
from tests.support.mutate import chimera, mutated, samples

MOST_MIB = 256
MOST_SECONDS = 1.0
ATTACK_SIZE = 2**15
_SHARE = 500
_REPORTS_OF_ONE_IN = 5
"""Reports cost far more than an audit."""


class Work(NamedTuple):
    """A share of the inputs, by their seeds; `until` is the time to stop."""

    seeds: range
    until: float


class Result(NamedTuple):
    """What became of a share: how many inputs ended how, and what must not have happened."""

    ends: Counter[str]
    violations: list[str]


def damaged(seed: int) -> bytes:
    """The input with that seed."""
    random = Random(seed)
    sample = random.choice(SAMPLES)
    if random.random() < 0.05:
        return chimera(random, sample, random.choice(SAMPLES)) or b"\0"
    return mutated(random, sample)


SAMPLES = samples()


def examine(path: Path, seed: int) -> str:
    """One input, under every property. Gives what became of it; raises for a violation."""
    audit = audited(path)
    if audit is None:
        return "refused"
    if seed % _REPORTS_OF_ONE_IN == 0:
        check_reports(path, audit)
    return "fixed" if check_fix(path) else "audited"


def survive(what: str, work: Callable[[], str], result: Result) -> None:
    """Does the work within its second, and notes how it ended."""
    try:
        with alarm(MOST_SECONDS):
            end = work()
    except BaseException as error:  # noqa: BLE001 # also a hang, and a lack of memory
        end = "violations"
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(last.filename).name}:{last.lineno}"
        result.violations.append(f"{what}: {type(error).__name__} at {place}")
    result.ends[end] += 1


def run(work: Work) -> Result:
    """One share, in a worker process."""
    result = Result(Counter(), [])
    with TemporaryDirectory() as folder:
        path = Path(folder, "input")
        for seed in work.seeds:
            if time.monotonic() > work.until:
                break
            path.write_bytes(damaged(seed))
            survive(f"seed {seed}", partial(examine, path, seed), result)
    return result


def run_attacks() -> Result:
    """The files that were made to be expensive, in a worker process."""
    result = Result(Counter(), [])
    with TemporaryDirectory() as folder:
        for name, attack in ATTACKS.items():
            path = Path(folder, name)
            path.write_bytes(attack(ATTACK_SIZE))
            survive(name, partial(examine, path, 1), result)
    return result


def shares(count: int, first: int, until: float) -> Iterator[Work]:
    for start in range(first, first + count, _SHARE):
        yield Work(range(start, min(start + _SHARE, first + count)), until)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.slow")
    parser.add_argument("--count", type=int, default=200_000)
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0, help="the first of --count seeds")
    asked = parser.parse_args()
    begin = time.monotonic()
    result = Result(Counter(), [])
    with ProcessPoolExecutor(
        asked.jobs, get_context("spawn"), initializer=limit_memory, initargs=(MOST_MIB,)
    ) as pool:
        attacks = pool.submit(run_attacks)
        for part in pool.map(run, shares(asked.count, asked.seed, begin + asked.seconds)):
            result.ends.update(part.ends)
            result.violations.extend(part.violations)
        result.violations.extend(attacks.result().violations)
    return report(result, asked.count, time.monotonic() - begin)


def report(result: Result, count: int, seconds: float) -> int:
    """Prints what came out, and gives the exit status."""
    for violation in result.violations:
        print(violation)
    tried = sum(result.ends.values())
    ends = ", ".join(f"{number} {end}" for end, number in sorted(result.ends.items()))
    print(
        f"{tried} of {count} inputs ({ends}) and {len(ATTACKS)} attacks in {seconds:.0f} s:"
        f" {len(result.violations)} violations"
    )
    return int(bool(result.violations) or tried < count)


if __name__ == "__main__":
    sys.exit(main())
