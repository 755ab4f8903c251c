"""Where the corpus of real files is, on machines that have it. It is no part of this project."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "ALIGNCHECK_CORPUS"
CORPUS = Path(os.environ.get(VARIABLE) or Path(__file__).parents[3] / "shared" / "corpus")
