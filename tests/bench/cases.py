"""What is measured. Each case yields rows: what, figure, goal."""

from __future__ import annotations

import json
import math
import shlex
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from tests.bench.make import fill
from tests.bench.measure import Sample, in_turn, middle, python, ratio, run

ROOT = Path(__file__).parents[2]
IMPORTS = "import click, flatbuffers"
AUDIT = "import sys; from aligncheck.cli import main; main(['-q', *sys.argv[1:]])"
GIB = 2**30


class Row(NamedTuple):
    """A measured figure; `goal` is the largest that will do, None where there is none."""

    case: str
    what: str
    figure: float
    unit: str
    goal: float | None = None


def data_file(path: Path, entries: int, **more: int) -> Path:
    """As in make.py, but made in a process of its own.

    This one has to stay small: a process that it starts counts its memory as its own at first.
    """
    code = "import sys; from pathlib import Path; from tests.bench.make import data_file"
    call = f"data_file(Path(sys.argv[1]), {entries}, **{more})"
    subprocess.run(python(f"{code}; {call}", str(path)), check=True, cwd=ROOT)
    return path


def start_up(folder: Path, runs: int) -> Iterator[Row]:
    """A run on a small file against importing what it needs, in two fresh environments."""
    small = str(data_file(folder / "small.ptd", 8))
    for name, packages in (("bare", ["flatbuffers"]), ("numpy", ["flatbuffers", "numpy"])):
        home = folder / name
        venv.create(home, with_pip=True)
        pip = [str(home / "bin" / "pip"), "install", "--quiet", str(ROOT), *packages]
        subprocess.run(pip, check=True)
        interpreter, command = str(home / "bin" / "python"), str(home / "bin" / "aligncheck")
        commands = {
            "imports": [interpreter, "-c", IMPORTS],
            "--version": [command, "--version"],
            "-q small.ptd": [command, "-q", small],
        }
        samples = in_turn(commands, runs)
        for what in list(commands)[1:]:
            figure = ratio(samples[what], samples["imports"], "cpu")
            yield Row("start-up", f"{what}, {name} environment", figure, "x imports", 1.4)


def file_size(folder: Path, runs: int) -> Iterator[Row]:
    """Audit of 4 GiB against 4 KiB with as many entries."""
    small = data_file(folder / "4k.ptd", 16)
    large = data_file(folder / "4g.ptd", 16, segment_size=GIB // 2)
    names = {"small": small, "large": large}
    samples = in_turn({name: python(AUDIT, str(path)) for name, path in names.items()}, runs)
    yield Row("size", "4 GiB", ratio(samples["large"], samples["small"]), "x 4 KiB", 1.1)
    memory = middle(samples["large"], "memory") - middle(samples["small"], "memory")
    yield Row("size", "4 GiB, memory", memory, "MiB more", 5)


IN_ONE_PROCESS = """
import gc, json, sys, time
sys.path.insert(0, {root!r})
import aligncheck
from tests.bench.loop import read
def ours(path):
    aligncheck.audit(path)
def loop(path):
    read(path)
def upstream(path):
    from executorch.extension.flat_tensor.serialize import serialize
    with open(path, "rb") as stream:
        header = serialize.FlatTensorHeader.from_bytes(stream.read(48)[8:])
        stream.seek(0)
        data = stream.read(header.flatbuffer_offset + header.flatbuffer_size)
    serialize._deserialize_to_flat_tensor(data)
seconds = {{name: [] for name in {names}}}
for count in range({runs} + 1):
    for name, times in seconds.items():
        gc.collect()
        begin = time.perf_counter()
        globals()[name](sys.argv[1])
        if count:
            times.append(time.perf_counter() - begin)
print(json.dumps(seconds))
"""
MEMORY = """
import resource, sys
import aligncheck.audit
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
aligncheck.audit(sys.argv[1])
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


def _in_one_process(path: Path, runs: int, *names: str) -> dict[str, list[float]]:
    """Seconds that each way to read a file takes, in turn in one process, without its start."""
    code = IN_ONE_PROCESS.format(root=str(ROOT), names=names, runs=runs)
    shown = subprocess.run(python(code, str(path)), check=True, capture_output=True, text=True)
    seconds: dict[str, list[float]] = json.loads(shown.stdout.splitlines()[-1])
    return seconds


def _typical(path: Path, runs: int) -> float:
    """Seconds of an audit, without the start of a process."""
    return median(_in_one_process(path, runs, "ours")["ours"])


def _times(ours: Sequence[float], others: Sequence[float]) -> float:
    return float(median(one / other for one, other in zip(ours, others, strict=True)))


def many_entries(folder: Path, runs: int) -> Iterator[Row]:
    """How time and memory grow with the entries, beside two other readers."""
    typical: dict[int, float] = {}
    for count in (1_000, 10_000, 100_000, 1_000_000):
        path = data_file(folder / f"{count}.ptd", count)
        seconds = _in_one_process(path, runs, "ours", "loop", "upstream")
        typical[count] = median(seconds["ours"])
        yield Row("entries", f"{count:,}, audit", typical[count] / count * 1e6, "us each")
        goal = 3 if count == 1_000_000 else None
        yield Row(
            "entries", f"{count:,}", _times(seconds["ours"], seconds["loop"]), "x a loop", goal
        )
        figure = _times(seconds["ours"], seconds["upstream"])
        yield Row("entries", f"{count:,}", figure, "x upstream's decoder", 0.2)
    yield Row("entries", f"{count:,}, memory", _memory(path) / count, "bytes each", 400)
    yield Row("growth", "entries", _exponent(typical), "exponent", 1.05)


def _memory(path: Path) -> int:
    """Bytes of memory that an audit takes beyond what the imports do."""
    shown = subprocess.run(python(MEMORY, str(path)), check=True, capture_output=True, text=True)
    return int(shown.stdout)


def growth(folder: Path, runs: int) -> Iterator[Row]:
    """How the time of an audit grows with segments and bytes, and that of a fix with bytes."""
    counts = (1_000, 10_000, 100_000, 1_000_000)
    files = {n: data_file(folder / f"{n}.ptd", 8, segments=n) for n in counts}
    seconds = {count: _typical(path, runs) for count, path in files.items()}
    yield Row("growth", "segments", _exponent(seconds), "exponent", 1.05)
    sizes = (1 << 20, 1 << 24, 1 << 28, 1 << 32)
    files = {n: data_file(folder / f"{n}b.ptd", 16, segment_size=n // 8) for n in sizes}
    seconds = {size: _typical(path, runs) for size, path in files.items()}
    yield Row("growth", "bytes, audit", _exponent(seconds), "exponent", 0.05)
    sizes = (1 << 27, 1 << 28, 1 << 29, 1 << 30)
    files = {n: data_file(folder / f"{n}f.ptd", 16, segment_size=n // 8, base=128) for n in sizes}
    for path in files.values():
        fill(path)
    options = ("-q", "-s", "4096", "--fix", "-o", str(folder / "fixed"))
    fix = [sys.executable, "-m", "aligncheck", *options]
    samples = in_turn({str(n): [*fix, str(path)] for n, path in files.items()}, runs)
    fixes = {size: middle(samples[str(size)]) for size in sizes}
    yield Row("growth", "bytes, --fix", _exponent(fixes), "exponent", 1.05)


UPSTREAM = (
    "import sys; from executorch.extension.flat_tensor.serialize.serialize import"
    " FlatTensorSerializer; from executorch.exir._serialize._cord import Cord;"
    " FlatTensorSerializer().deserialize(Cord(open(sys.argv[1], 'rb').read()))"
)


def by_hand(folder: Path, runs: int) -> Iterator[Row]:
    """Against a script with upstream's deserializer, process start included."""
    large = data_file(folder / "1g.ptd", 16, segment_size=GIB // 8)
    for name, path in (("weak_first.ptd", ROOT / "tests/data/weak_first.ptd"), ("1 GiB", large)):
        commands = {"ours": python(AUDIT, str(path)), "theirs": python(UPSTREAM, str(path))}
        samples = in_turn(commands, min(runs, 3))
        faster = ratio(samples["theirs"], samples["ours"])
        yield Row("by hand", name, 1 / faster, "x upstream's time", 1 / 50)
        smaller = ratio(samples["theirs"], samples["ours"], "memory")
        yield Row("by hand", name, 1 / smaller, "x upstream's memory", 1 / 10)


def fixing(folder: Path, runs: int) -> Iterator[Row]:
    """`--fix` of a file that is all moved, against copying it and against zipalign."""
    for gib in (1, 4):
        path = data_file(folder / f"fix{gib}.ptd", 16, segment_size=gib * GIB // 8, base=128)
        fill(path)
        archive = _archive(folder, path)
        fix = f"{sys.executable} -m aligncheck -q -s 4096 --fix -o fixed {path.name}"
        commands = {
            "fix": [f"cd {folder}; rm -f fixed; exec {fix}"],
            "cp": [f"cd {folder}; rm -f copy; cp {path.name} copy && sync copy"],
        }
        if archive:
            zipalign = "zipalign -f 4096 archive.zip aligned && sync aligned"
            commands["zipalign"] = [f"cd {folder}; rm -f aligned; {zipalign}"]
        samples = in_turn(commands, runs, shell=True)
        yield Row("fix", f"{gib} GiB", ratio(samples["fix"], samples["cp"]), "x cp and sync", 1.5)
        if archive:
            figure = ratio(samples["fix"], samples["zipalign"])
            yield Row("fix", f"{gib} GiB", figure, "x zipalign and sync", 1)
        yield Row("fix", f"{gib} GiB, memory", _above_start(samples["fix"]), "MiB more", 64)
        for name in (path.name, "archive.zip", "fixed", "copy", "aligned"):
            (folder / name).unlink(missing_ok=True)


def _above_start(samples: Sequence[Sample]) -> float:
    return middle(samples, "memory") - run([sys.executable, "-m", "aligncheck", "--version"]).memory


def _archive(folder: Path, path: Path) -> bool:
    """Makes an archive of as many stored members and bytes; False where zipalign cannot do that.

    It is not there, or the archive would be of 2 GiB or more, which it does not open.
    """
    if shutil.which("zipalign") is None or path.stat().st_size >= 2 * GIB:
        return False
    size = path.stat().st_size // 8
    with zipfile.ZipFile(folder / "archive.zip", "w") as out, path.open("rb") as stream:
        for index in range(8):
            with out.open(f"member{index}", "w") as member:
                for _ in range(size >> 20):
                    member.write(stream.read(1 << 20))
    return True


def many_files(folder: Path, runs: int) -> Iterator[Row]:
    """2,000 small models in one run, and what as many runs would take."""
    model = data_file(folder / "model.ptd", 8)
    counts = (1, 500, 1_000, 2_000)
    for count in counts:
        models = folder / str(count)
        models.mkdir()
        for index in range(count):
            shutil.copy(model, models / f"{index}.ptd")
    commands = {str(count): python(AUDIT, str(folder / str(count))) for count in counts}
    samples = in_turn(commands, runs)
    one, *_, most = (middle(samples[str(count)]) for count in counts)
    yield Row("files", "2,000 in one run", most, "s")
    yield Row("files", "2,000 in one run", most / (2_000 * one), "x 2,000 runs")
    memory = middle(samples["2000"], "memory") - middle(samples["1"], "memory")
    yield Row("files", "2,000 in one run, memory", memory, "MiB more")
    half = shlex.join(python(AUDIT, str(folder / "1000")))
    both = {"one": [shlex.join(commands["2000"])], "two": [f"{half} & {half} & wait"]}
    trials = in_turn(both, runs, shell=True)
    yield Row("files", "2,000 in two processes", ratio(trials["two"], trials["one"]), "x in one")
    beyond = {count: middle(samples[str(count)]) - one for count in counts[1:]}
    yield Row("growth", "files", _exponent(beyond), "exponent", 1.05)


def _exponent(seconds: dict[int, float]) -> float:
    """The slope of a line through the logarithms: 1 where twice as much takes twice as long."""
    points = [(math.log(count), math.log(time)) for count, time in seconds.items()]
    x, y = (sum(values) / len(points) for values in zip(*points, strict=True))
    above = sum((a - x) * (b - y) for a, b in points)
    return float(above / sum((a - x) ** 2 for a, _ in points))


CASES = {
    "start-up": start_up,
    "size": file_size,
    "entries": many_entries,
    "by-hand": by_hand,
    "fix": fixing,
    "files": many_files,
    "growth": growth,
}
