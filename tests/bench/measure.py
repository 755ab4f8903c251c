"""Timing whole processes, several in turn, so that a noisy machine is as noisy for each."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Sample:
    """One finished process: seconds on the clock and of the processor, and peak memory in MiB."""

    wall: float
    cpu: float
    memory: float


def run(command: Sequence[str], *, shell: bool = False) -> Sample:
    """Runs a command to its end. Raises RuntimeError if it fails."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    begin = time.perf_counter()
    process = subprocess.Popen(
        command[0] if shell else list(command),
        shell=shell,
        env=environment,
        stdout=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in ((0,) if shell else (0, 1)):
        raise RuntimeError(f"{command} exited with {process.returncode}")
    return Sample(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def in_turn(
    commands: Mapping[str, Sequence[str]], runs: int, *, shell: bool = False
) -> dict[str, list[Sample]]:
    """Each command `runs` times, A B A B, after one run of each that does not count."""
    samples: dict[str, list[Sample]] = {name: [] for name in commands}
    for count in range(runs + 1):
        for name, command in commands.items():
            sample = run(command, shell=shell)
            if count:
                samples[name].append(sample)
    return samples


def ratio(samples: Sequence[Sample], others: Sequence[Sample], figure: str = "wall") -> float:
    """The median of the ratios, run by run."""
    pairs = zip(samples, others, strict=True)
    return float(median(getattr(one, figure) / getattr(other, figure) for one, other in pairs))


def middle(samples: Sequence[Sample], figure: str = "wall") -> float:
    """The median of one figure."""
    return float(median(getattr(sample, figure) for sample in samples))


def python(code: str, *arguments: str) -> list[str]:
    """A command that runs some Python in an interpreter like this one."""
    return [sys.executable, "-c", code, *arguments]
