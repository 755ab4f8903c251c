"""Fuzzing that is guided by coverage, by atheris (which pip installs, for Linux and macOS).

    python -m tests.fuzz.seeds build/corpus
    python -m tests.fuzz.guided build/corpus -max_total_time=180 -max_len=8192 -timeout=5

The arguments are libFuzzer's. What breaks a property is written to a file crash-*, whose name is
an argument to try it again.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

# By its name: it is there only where somebody installed it, and has no types.
atheris = import_module("atheris")
with atheris.instrument_imports(include=["aligncheck"]):
    from tests.support.hostile import audited, check_fix, check_reports

EVERY = 16
"""Of the files that are audited, one in so many is fixed and reported, which takes far longer."""


def main() -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "input")
        count = 0

        def examine(data: bytes) -> None:
            nonlocal count
            path.write_bytes(data)
            audit = audited(path)
            count += audit is not None
            if audit is not None and count % EVERY == 0:
                check_reports(path, audit)
                check_fix(path)

        atheris.Setup(sys.argv, examine)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
