"""Damaged files, read by upstream's decoders too: where both read one, all offsets are the same.

    python -m tests.fuzz.agree --count 20000

Upstream's decoders crash and hang on damaged files, so each gets a second, in a process with
limited memory. Prints what became of the files as JSON, with the seeds of those that differ.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from aligncheck import BadFile
from aligncheck.formats import read_container
from tests.exporter import upstream
from tests.exporter.view import Delegate, Named, View, view_of
from tests.fuzz.limits import Hang, alarm, limit_memory
from tests.fuzz.slow import SAMPLES, damaged

MORE_MIB = 1024


def ours(data: bytes, folder: Path) -> View | None:
    path = folder / "input"
    path.write_bytes(data)
    try:
        return view_of(read_container(str(path)))
    except BadFile:
        return None


def theirs(data: bytes) -> View | None:
    try:
        with alarm(1):
            return upstream.decode(data)
    except (Exception, Hang):  # noqa: BLE001 # whatever it is that a decoder without checks raises
        return None


def offsets(view: View) -> dict[str, Any]:
    """What must agree: every offset, and every size that is stored.

    Not the words for what has no name, which each decoder chooses. Nor the sizes of constants,
    which are worked out from tensors: of several that share a constant aligncheck takes the
    largest and upstream's order of reading decides here, and for negative dimensions aligncheck
    knows of none.
    """
    return {
        "base": view.segment_base_offset,
        "segments": view.segments,
        "named": view.named_data,
        "constants": [_place(constant) for constant in view.constants],
        "delegates": [(_place(delegate), delegate.size) for delegate in view.delegates],
        "mutable": view.mutable_segments,
    }


def _place(item: Named | Delegate) -> tuple[int | None, int | None]:
    return item.segment, item.offset


def compare(seeds: Iterable[int]) -> dict[str, Any]:
    """How often both read a file, or only one; and the seeds of what they read differently."""
    result: dict[str, Any] = {"both": 0, "ours": 0, "theirs": 0, "neither": 0, "differ": []}
    with TemporaryDirectory() as folder:
        for seed in seeds:
            data = damaged(seed)
            one, other = ours(data, Path(folder)), theirs(data)
            if one is None or other is None:
                result["ours" if one else "theirs" if other else "neither"] += 1
                continue
            result["both"] += 1
            if offsets(one) != offsets(other):
                result["differ"].append(seed)
    return result


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.agree")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0, help="the first of --count seeds")
    asked = parser.parse_args()
    for sample in SAMPLES:  # imports all that it takes, before memory is limited
        upstream.decode(sample.data)
    limit_memory(MORE_MIB)
    result = compare(range(asked.seed, asked.seed + asked.count))
    # On a line of its own: upstream has flatc write its help between.
    print(f"\n{json.dumps(result)}")
    return int(bool(result["differ"]))


if __name__ == "__main__":
    sys.exit(main())
