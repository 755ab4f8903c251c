"""What is measured. Each case yields rows: what, figure, goal."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
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


def data_file(path: Path, entries: int, segment_size: int = 16, base: int = 0) -> Path:
    """As in make.py, but made in a process of its own.

    This one has to stay small: a process that it starts counts its memory as its own at first.
    """
    code = "import sys; from pathlib import Path; from tests.bench.make import data_file"
    call = f"data_file(Path(sys.argv[1]), {entries}, segment_size={segment_size}, base={base})"
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


MEASURED = """
import gc, json, resource, sys, time
sys.path.insert(0, {root!r})
path = sys.argv[1]
def audited():
    import aligncheck
    gc.disable()
    begin = time.perf_counter()
    aligncheck.audit(path)
    return time.perf_counter() - begin
def looped():
    from tests.bench.loop import read
    gc.disable()
    begin = time.perf_counter()
    read(path)
    return time.perf_counter() - begin
def upstream():
    from executorch.extension.flat_tensor.serialize import serialize
    header = serialize.FlatTensorHeader.from_bytes(open(path, "rb").read(48)[8:])
    begin = time.perf_counter()
    data = open(path, "rb").read(header.flatbuffer_offset + header.flatbuffer_size)
    serialize._deserialize_to_flat_tensor(data)
    return time.perf_counter() - begin
import aligncheck.audit
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
seconds = {what}()
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(json.dumps([seconds, memory * 1024]))
"""


def _measured(what: str, path: Path) -> tuple[float, int]:
    """Seconds and bytes of memory that reading a file takes, in a process of its own."""
    code = MEASURED.format(root=str(ROOT), what=what)
    shown = subprocess.run(python(code, str(path)), check=True, capture_output=True, text=True)
    seconds, memory = json.loads(shown.stdout.splitlines()[-1])
    return seconds, memory


def many_entries(folder: Path, runs: int) -> Iterator[Row]:
    """How time and memory grow with the entries, beside two other readers."""
    seconds: dict[int, float] = {}
    for count in (1_000, 10_000, 100_000, 1_000_000):
        path = data_file(folder / f"{count}.ptd", count)
        trials = [(_measured("audited", path), _measured("looped", path)) for _ in range(runs)]
        seconds[count] = sorted(audited[0] for audited, _ in trials)[runs // 2]
        each = seconds[count] / count * 1e6
        yield Row("entries", f"{count:,}, audit", each, "us each")
        loop = sorted(audited[0] / looped[0] for audited, looped in trials)[runs // 2]
        yield Row("entries", f"{count:,}", loop, "x a loop", 3 if count == 1_000_000 else None)
        if count in {1_000, 10_000, 100_000}:
            figure = seconds[count] / min(_measured("upstream", path)[0] for _ in range(runs))
            yield Row("entries", f"{count:,}", figure, "x upstream's decoder", 0.2)
        if count == 1_000_000:
            memory = sorted(audited[1] for audited, _ in trials)[runs // 2] / count
            yield Row("entries", f"{count:,}, memory", memory, "bytes each", 400)
    yield Row("growth", "entries", _exponent(seconds), "exponent", 1.05)


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

    It is not there, or the archive would have to be of the kind for more than 4 GiB.
    """
    if shutil.which("zipalign") is None or path.stat().st_size >= 4 * GIB:
        return False
    size = path.stat().st_size // 8
    with zipfile.ZipFile(folder / "archive.zip", "w") as out, path.open("rb") as stream:
        for index in range(8):
            with out.open(f"member{index}", "w") as member:
                for _ in range(size >> 20):
                    member.write(stream.read(1 << 20))
    return True


def many_files(folder: Path, _runs: int) -> Iterator[Row]:
    """2,000 small models in one run, and what as many runs would take."""
    seconds: dict[int, float] = {}
    for count in (20, 200, 2_000):
        models = folder / f"models{count}"
        models.mkdir()
        model = data_file(folder / "model.ptd", 8)
        for index in range(count):
            shutil.copy(model, models / f"{index}.ptd")
        seconds[count] = run(python(AUDIT, str(models))).wall
    one = run(python(AUDIT, str(models / "0.ptd"))).wall
    yield Row("files", "2,000 in one run", seconds[2_000], "s")
    yield Row("files", "2,000 in one run", seconds[2_000] / (2_000 * one), "x 2,000 runs")
    beyond = {count: time - one for count, time in seconds.items() if count > 20}
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
}
