"""The seed corpus of the coverage-guided harness, made when it is needed.

`python -m tests.fuzz.seeds FOLDER` fills a folder with the samples of the real exporter, the files
that were made to be expensive, and one file of each foreign kind that is called by its name.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from tests.fuzz.attacks import ATTACKS
from tests.support.mutate import samples

FOREIGN = (b"PK\3\4", b"version https://git-lfs", b"\x1f\x8b", b"GGUF", b"\x1c\0\0\0BP08")


def seeds() -> Iterator[tuple[str, bytes]]:
    """Names and contents."""
    for sample in samples():
        yield sample.name, sample.data
    for name, attack in ATTACKS.items():
        yield name, attack(512)
    for index, start in enumerate(FOREIGN):
        yield f"foreign{index}", start.ljust(64, b"\0")


def write_seeds(folder: Path) -> int:
    """Writes them, and returns how many there are."""
    folder.mkdir(parents=True, exist_ok=True)
    found = list(seeds())
    for name, data in found:
        (folder / name).write_bytes(data)
    return len(found)


if __name__ == "__main__":
    print(write_seeds(Path(sys.argv[1])), "seeds")
