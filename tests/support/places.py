"""Folders in which nothing can be written, or little: made by the system itself where it allows."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

NOBODY = 65534


def as_nobody(work: Callable[[], None]) -> Callable[[], None]:
    """The same work by a user whom permissions stop; to be done in a child."""

    def done() -> None:
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        work()

    return done


def with_files_up_to(size: int, work: Callable[[], None]) -> Callable[[], None]:
    """The same work by a process that may write no larger files; to be done in a child."""

    def done() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        work()

    return done


@cache
def can_mount() -> bool:
    """True if a process here may have mounts of its own."""
    if shutil.which("unshare") is None or shutil.which("mount") is None:
        return False
    script = "mount -t tmpfs -o size=64k none /mnt"
    return subprocess.run(_unshared(script), check=False, capture_output=True).returncode == 0


def on_a_small_disk(
    folder: Path, kib: int, command: Sequence[str]
) -> subprocess.CompletedProcess[str]:
    """Runs a command that sees an empty disk of some KiB at a folder; nobody else does."""
    script = 'mount -t tmpfs -o size="$1"k none "$2" && shift 2 && exec "$@"'
    args = [*_unshared(script), "sh", str(kib), str(folder), *command]
    return subprocess.run(args, check=False, capture_output=True, text=True)


def _unshared(script: str) -> list[str]:
    return ["unshare", "--map-root-user", "--mount", "sh", "-c", script]
