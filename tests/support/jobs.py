"""Random files with random requests, and what a fix makes of them: for the property tests.

A `Job` is made by hypothesis; `carry_out` builds its file, fixes it, and gives what was before, as
the builder knows it, and what is there now, as the second reader (tests/support/peek.py) sees it.
Fixed files can be very large and are almost all holes, so they are not read as a whole.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from hypothesis import settings
from hypothesis import strategies as st

from aligncheck import Plan, fix
from tests.support.build import (
    Built,
    Delegate,
    Method,
    Named,
    Offsets,
    Ptd,
    Pte,
    Segment,
    Tensor,
    align_up,
)
from tests.support.peek import Peek, peek
from tests.support.samples import Spec

FORMAT_ALIGNMENT = 16
"""What the format asks for each constant and each inline payload."""
_MANY = int(os.environ.get("ALIGNCHECK_EXAMPLES", "1"))

ALIGNMENTS = st.one_of(
    st.sampled_from([2**power for power in range(17)]),
    st.sampled_from([3, 5, 7, 12, 48, 100, 1000, 3 * 4096, 16384, 65536]),
    st.integers(1, 40),
)
SIZES = st.one_of(st.just(0), st.integers(1, 60))


def few(count: int) -> settings:
    """So many examples, or a multiple with ALIGNCHECK_EXAMPLES; a fix waits for the disk."""
    return settings(max_examples=count * _MANY, deadline=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A file and what is asked of it. Constant i has `constant_sizes[i]` bytes, if that is told."""

    spec: Spec
    requests: Mapping[str, int]
    segment_alignment: int | None = None
    constant_sizes: Sequence[int | None] = ()

    @property
    def constant_segment(self) -> int | None:
        constants = self.spec.constants if isinstance(self.spec, Pte) else None
        return constants.segment if constants else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A job that was carried out. `stretches` are where the new file has data and not a hole."""

    job: Job
    before: Built
    after: Peek
    data: mmap.mmap
    stretches: Sequence[tuple[int, int]]
    plan: Plan
    again: bool
    """Whether a second fix changed anything."""

    def nonzero(self, start: int, end: int) -> int:
        """How many bytes of a range of the new file are not zero."""
        parts = [self.data[max(a, start) : min(b, end)] for a, b in self.stretches if a < end]
        return sum(len(part) - part.count(0) for part in parts)


def carry_out(job: Job) -> Done:
    """Builds the job's file and fixes it, twice."""
    before = job.spec.build()
    with TemporaryDirectory() as folder:
        path = before.write(Path(folder, "file"))
        made = fix(path, job.requests, segment_alignment=job.segment_alignment).plan
        first = path.stat()
        fix(path, job.requests, segment_alignment=job.segment_alignment)
        second = path.stat()
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            stretches = _stretches(file.fileno(), len(data))
    return Done(
        job=job,
        before=before,
        after=peek(data[: before.metadata_end]),
        data=data,
        stretches=stretches,
        plan=made,
        again=(first.st_ino, first.st_mtime_ns) != (second.st_ino, second.st_mtime_ns),
    )


def _stretches(fd: int, size: int) -> list[tuple[int, int]]:
    if not hasattr(os, "SEEK_DATA"):
        return [(0, size)]
    found = []
    position = 0
    while position < size:
        try:
            start = os.lseek(fd, position, os.SEEK_DATA)
        except OSError:  # Only a hole is left.
            break
        position = os.lseek(fd, start, os.SEEK_HOLE)
        found.append((start, position))
    return found


@st.composite
def jobs(draw: st.DrawFn, *, overlaps: bool = True, constants: bool | None = None) -> Job:
    """Stores in both formats, and programs with all that they can hold.

    `constants` tells whether there are constants; None leaves that open.
    """
    segments = draw(_segments(overlaps=overlaps))
    keys = draw(st.lists(st.integers(0, len(segments) - 1), max_size=6)) if segments else []
    named = [Named(f"key{i}", segment) for i, segment in enumerate(keys)]
    names = [f"key{i}" for i in range(len(keys))]
    if constants or draw(st.booleans()):
        job = draw(_pte(segments, named))
        if constants or (constants is None and draw(st.booleans())):
            job = draw(_with_constants(job.spec))
    else:
        job = draw(_ptd(segments, named))
    if isinstance(job.spec, Pte):
        names += [f"m/delegate {i} (B)" for i in range(len(job.spec.methods[0].delegates))]
        names += [f"const{i}" for i in range(len(job.constant_sizes))]
    requests = st.dictionaries(st.sampled_from(names), ALIGNMENTS) if names else st.just({})
    of_segments = draw(st.one_of(st.none(), st.none(), ALIGNMENTS))
    return replace(job, requests=draw(requests), segment_alignment=of_segments)


@st.composite
def _segments(draw: st.DrawFn, *, overlaps: bool) -> list[Segment]:
    """Packed, padded, at random offsets, empty anywhere, and some beginning in the one before."""
    segments: list[Segment] = []
    start = end = 0
    alignment = draw(st.sampled_from([1, 1, 2, 12, 16, 48, 128]))
    for index, size in enumerate(draw(st.lists(SIZES, max_size=5))):
        shared = overlaps and end > start and draw(st.integers(0, 5)) == 0
        gap = draw(st.sampled_from([0, 0, 0, 1, 5, 64, 300, 5000]))
        offset = draw(st.integers(start, end - 1)) if shared else align_up(end + gap, alignment)
        if not size and draw(st.booleans()):
            offset = 0
        segments.append(Segment(Random(index).randbytes(size), offset=offset))
        if size:
            start, end = offset, max(end, offset + size)
    return segments


@st.composite
def _ptd(draw: st.DrawFn, segments: list[Segment], named: list[Named]) -> Job:
    return Job(
        spec=Ptd(
            segments=segments,
            named=named,
            header=draw(st.sampled_from([40, 40, 48])),
            base_alignment=draw(st.sampled_from([1, 2, 3, 16, 128, 4096])),
            data_size=draw(st.sampled_from([None, None, 0])),
            trailing=draw(st.binary(max_size=20)),
        ),
        requests={},
    )


@st.composite
def _pte(draw: st.DrawFn, segments: list[Segment], named: list[Named]) -> Job:
    count = len(segments)
    some = st.lists(st.integers(0, count - 1), max_size=2) if count else st.just(list[int]())
    delegates = draw(some)
    inline = draw(st.lists(st.binary(min_size=1, max_size=9), max_size=1))
    spec = Pte(
        segments=segments,
        named=named,
        methods=[Method("m", [Delegate(backend="B", segment=s) for s in delegates])],
        mutable=[Offsets(s, [0, 0]) for s in draw(some)] if segments else [],
        header=draw(st.sampled_from([24, 28, 32, 40])),
        header_end=draw(st.sampled_from([None, 72])),
        base_alignment=draw(st.sampled_from([1, 2, 3, 16, 128, 4096])),
        data_size=draw(st.sampled_from([None, None, 0])),
        trailing=draw(st.binary(max_size=20)),
        inline_delegates=inline,
    )
    if inline:
        payload = Delegate(backend="B", inline=0)
        spec = replace(spec, methods=[Method("m", [*spec.methods[0].delegates, payload])])
    return Job(spec=spec, requests={})


@st.composite
def _with_constants(draw: st.DrawFn, spec: Spec) -> Job:
    """The same with a constant segment after all others; its tensors tell all sizes, or none."""
    assert isinstance(spec, Pte)
    sizes = draw(st.lists(st.integers(1, 40), min_size=1, max_size=4))
    alignment = draw(st.sampled_from([1, 2, 16, 24, 64]))
    offsets: list[int] = []
    data = bytearray(draw(st.sampled_from([0, 0, 3])) * b"?")
    for i, size in enumerate(sizes):
        data.extend(bytes(align_up(len(data), alignment) - len(data)))
        offsets.append(len(data))
        data += Random(-i).randbytes(size)
    if draw(st.booleans()):
        offsets.append(offsets[-1])
        sizes.append(sizes[-1])
    told = draw(st.booleans())
    values = [Tensor(f"const{i}", [size], buffer=i + 1) for i, size in enumerate(sizes)]
    if not told:  # An unknown element type: the name is told, the size is not.
        values = [replace(value, scalar_type=99) for value in values]
    end = max((s.offset or 0) + len(s.data) for s in spec.segments) if spec.segments else 0
    (method,) = spec.methods
    return Job(
        spec=replace(
            spec,
            segments=[*spec.segments, Segment(bytes(data), offset=end)],
            constants=Offsets(len(spec.segments), [0, *offsets]),
            methods=[replace(method, values=values)],
        ),
        requests={},
        constant_sizes=sizes if told else [None] * len(sizes),
    )
