"""What is true of every fix, of any file: random stores and programs, random requests.

The truth is what the builder knows of the old file, and what a second reader says of the new one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from hypothesis import assume, given
from hypothesis import strategies as st

from tests.support.build import Built, Named, Ptd, Pte, Segment
from tests.support.jobs import ALIGNMENTS, FORMAT_ALIGNMENT, Done, Job, carry_out, few, jobs
from tests.support.peek import Peek

KEPT = 2**16
POWERS = [1 << exponent for exponent in range(17)]
LARGEST = 2**30


class Ask(NamedTuple):
    """Somebody wants what has this name, and lies here now, aligned."""

    name: str | int
    offset: int
    alignment: int


def asks(done: Done) -> Iterator[Ask]:
    """Everything that is asked of data in a segment of the new file."""
    job, after = done.job, done.after
    for key, segment in after.named:
        if after.segments[segment].size and key in job.requests:
            yield Ask(key, after.segments[segment].offset, job.requests[key])
    for i, of in enumerate(after.delegates):
        name = f"m/delegate {i} (B)"
        if of is not None and after.segments[of].size and name in job.requests:
            yield Ask(name, after.segments[of].offset, job.requests[name])
    for i, offset in enumerate(after.constants):
        for alignment in (job.requests.get(f"const{i}", 1), FORMAT_ALIGNMENT):
            yield Ask(f"const{i}", offset, alignment)
    for index, span in enumerate(after.segments):
        if span.size and job.segment_alignment:
            yield Ask(index, span.offset, job.segment_alignment)


def given_up(done: Done) -> set[tuple[str | int | None, int]]:
    return {
        (item.entry.name if item.entry else item.segment, item.request.alignment)
        for item in done.plan.unfixable
    }


def alignment(offset: int) -> int:
    """The power of two that an offset has, up to 64 KiB."""
    return max(power for power in POWERS if offset % power == 0)


@few(120)
@given(jobs())
def test_nothing_is_violated_but_what_is_given_up(job: Job) -> None:
    done = carry_out(job)
    violated = {(ask.name, ask.alignment) for ask in asks(done) if ask.offset % ask.alignment}
    inline = {item for item in given_up(done) if "delegate" in str(item[0])}
    assert violated <= given_up(done)
    assert given_up(done) <= violated | inline


@few(60)
@given(jobs(overlaps=False))
def test_without_overlaps_nothing_in_a_segment_is_given_up(job: Job) -> None:
    done = carry_out(job)
    reasons = {item.reason for item in done.plan.unfixable}
    # A constant segment that is something else as well keeps its constants where they are.
    other = {*dict(done.after.named).values(), *done.after.delegates}
    assert reasons <= {"inline", "too-large"} or job.constant_segment in other


def inside(file: Built | Peek, segment: int) -> list[int]:
    """Where the constants are in their segment."""
    return [offset - file.segments[segment].offset for offset in file.constants]


@few(100)
@given(jobs())
def test_every_segment_holds_the_bytes_that_it_held(job: Job) -> None:
    done = carry_out(job)
    assert len(done.after.segments) == len(done.before.segments)
    for index, (old, new) in enumerate(zip(done.before.segments, done.after.segments, strict=True)):
        if index != job.constant_segment or inside(done.before, index) == inside(done.after, index):
            assert old.size == new.size
            assert done.data[new.offset : new.offset + new.size] == payload(done.before, *old)


@few(100)
@given(jobs(constants=True))
def test_every_constant_holds_the_bytes_that_it_held(job: Job) -> None:
    done = carry_out(job)
    assert len(done.after.constants) == len(done.before.constants)
    segment = done.before.segments[job.constant_segment or 0]
    stops = sorted({*done.before.constants, segment.offset + segment.size})
    for old, new, size in zip(
        done.before.constants, done.after.constants, job.constant_sizes, strict=True
    ):
        # Of a constant of unknown size all that follows it may be part.
        length = size or stops[stops.index(old) + 1] - old
        assert done.data[new : new + length] == payload(done.before, old, length)


def payload(before: Built, offset: int, size: int) -> bytes:
    return before.data[offset : offset + size]


@few(100)
@given(jobs())
def test_no_segment_is_less_aligned_than_it_was(job: Job) -> None:
    done = carry_out(job)
    for old, new in zip(done.before.segments, done.after.segments, strict=True):
        assert alignment(new.offset) >= alignment(old.offset)


@few(100)
@given(jobs())
def test_nothing_moves_backwards(job: Job) -> None:
    done = carry_out(job)
    assert done.after.base >= done.before.base
    for old, new in zip(done.before.segments, done.after.segments, strict=True):
        assert new.offset >= old.offset
    for was, now in zip(done.before.constants, done.after.constants, strict=True):
        assert now >= was


@few(100)
@given(jobs())
def test_only_these_fields_of_the_metadata_differ(job: Job) -> None:
    done = carry_out(job)
    end = done.before.metadata_end
    places = set(fields(done))
    masked = [
        bytes(0 if place in places else data[place] for place in range(end))
        for data in (done.before.data, done.data)
    ]
    assert masked[0] == masked[1]


def fields(done: Done) -> Iterator[int]:
    """The bytes that a fix may change, as the format's description gives them."""
    before, job = done.before, done.job
    is_pte = isinstance(job.spec, Pte)
    starts = [24 if is_pte else 32, *before.offset_places]
    if not is_pte or (job.spec.header or 0) >= 32:
        starts.append(32 if is_pte else 40)
    segment = job.constant_segment
    if segment is not None and inside(before, segment) != inside(done.after, segment):
        starts += [before.size_places[segment], *before.constant_places]
    for start in starts:
        yield from range(start, start + 8) if start is not None else ()


@few(100)
@given(jobs())
def test_all_else_in_the_new_file_is_zero(job: Job) -> None:
    done = carry_out(job)
    data = [span for span in done.after.segments if span.size]
    start = done.before.metadata_end
    for offset, size in sorted(data):
        assert done.nonzero(start, offset) == 0
        start = max(start, offset + size)
    trailing = len(job.spec.trailing) if data else 0
    assert done.nonzero(start + trailing, len(done.data)) == 0 or not data


@few(60)
@given(jobs())
def test_bytes_after_the_last_segment_are_kept(job: Job) -> None:
    done = carry_out(job)
    ends = [span.offset + span.size for span in done.after.segments if span.size]
    start = max(ends, default=done.before.metadata_end)
    assert done.data[start : start + len(job.spec.trailing)] == job.spec.trailing


@few(60)
@given(jobs())
def test_the_file_covers_what_its_header_says(job: Job) -> None:
    done = carry_out(job)
    ends = [span.offset + span.size for span in done.after.segments if span.size]
    rest = max(ends, default=done.after.base) - done.after.base
    # Some writers do not fill the size in, and old headers have none.
    assert done.after.data_size in {None, 0 if job.spec.data_size == 0 else rest}
    assert max(ends, default=0) <= len(done.data) == done.plan.new_size


@few(60)
@given(jobs())
def test_a_second_fix_touches_nothing(job: Job) -> None:
    assert not carry_out(job).again


@few(100)
@given(jobs(overlaps=False, constants=False))
def test_each_segment_goes_to_the_first_place_that_will_do(job: Job) -> None:
    done = carry_out(job)
    assume(all(item.reason == "inline" for item in done.plan.unfixable))
    end = 0
    data = [(old, index) for index, old in enumerate(done.before.segments) if old.size]
    for old, index in sorted(data):
        target = math.lcm(alignment(old.offset), *wanted(done, index))
        place = -(-max(old.offset, end) // target) * target
        assert done.after.segments[index].offset == place
        end = place + old.size


def wanted(done: Done, index: int) -> list[int]:
    """What is asked of a segment: that of its named data, its delegates and its own."""
    place = done.after.segments[index].offset
    return [ask.alignment for ask in asks(done) if ask.offset == place]


Registration = tuple[str, bytes, int]


@st.composite
def registrations(draw: st.DrawFn) -> list[Registration]:
    """Keys with their data, of which some are equal, and the alignment that each asks for."""
    data = draw(st.lists(st.sampled_from([b"one", b"two", b"three" * 9]), min_size=1, max_size=6))
    return [(f"key{i}", item, draw(ALIGNMENTS)) for i, item in enumerate(data)]


def stored(order: list[Registration]) -> Job:
    """As the exporter does it: equal data are stored once, aligned to what the first key asks."""
    first: dict[bytes, int] = {}
    for _, data, alignment_asked in order:
        first.setdefault(data, alignment_asked)
    segments = [Segment(data, alignment=math.lcm(asked, 128)) for data, asked in first.items()]
    named = [Named(key, list(first).index(data)) for key, data, _ in order]
    return Job(spec=Ptd(segments=segments, named=named), requests={k: a for k, _, a in order})


@st.composite
def orders(draw: st.DrawFn) -> tuple[list[Registration], list[Registration]]:
    """The same registrations in two orders."""
    one = draw(registrations())
    return one, draw(st.permutations(one))


@few(60)
@given(orders())
def test_the_order_of_registration_does_not_decide_what_is_met(
    both: tuple[list[Registration], list[Registration]],
) -> None:
    for order in both:
        assume(all(lcm <= LARGEST for lcm in targets(order)))
        done = carry_out(stored(order))
        assert [ask for ask in asks(done) if ask.offset % ask.alignment] == []
        for key, data, _ in order:
            offset = done.after.offset_of(key)
            assert done.data[offset : offset + len(data)] == data


def targets(order: list[Registration]) -> list[int]:
    """What is asked of each of the data together, and what they may have to keep."""
    wanted: dict[bytes, int] = {}
    for _, data, alignment_asked in order:
        wanted[data] = math.lcm(wanted.get(data, KEPT), alignment_asked)
    return list(wanted.values())
