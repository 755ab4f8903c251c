"""What platforms and vendors want, with its source: the names that `--target` knows. In bytes.

Paths are in ExecuTorch's source tree; docs/backends.md says more.
"""

from typing import NamedTuple


class Target(NamedTuple):
    """An alignment that a platform or a vendor wants, to be asked for by name.

    With `backend` it is meant for the payloads of that backend, without for every segment that
    holds data.
    """

    name: str
    alignment: int
    meaning: str
    source: str
    backend: str | None = None


TARGETS: tuple[Target, ...] = (
    Target(
        name="ios",
        alignment=16384,
        meaning="each segment on a page of its own where pages are 16 KiB, as on iOS",
        source=".ci/scripts/test_ios_ci.sh, examples/portable/scripts/export.py",
    ),
    Target(
        name="mmap-4k",
        alignment=4096,
        meaning="each segment on a page of its own where pages are 4 KiB",
        source="docs/source/pte-file-format.md",
    ),
    Target(
        name="mmap-16k",
        alignment=16384,
        meaning="each segment on a page of its own where pages are 16 KiB",
        source="docs/source/pte-file-format.md",
    ),
    Target(
        name="qnn",
        alignment=256,
        backend="QnnBackend",
        meaning="each QnnBackend payload as Qualcomm's own export scripts place it",
        source="backends/qualcomm/export_utils.py",
    ),
)
"""The names that `--target` knows."""
