"""Writing a file anew as planned: the only place that writes a model.

The new file is made beside the old one, read again, audited and compared, and only then takes the
old one's name. Whatever fails before that leaves the old file as it was, and no new one.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass

from aligncheck.audit import as_askers, audit_source
from aligncheck.errors import BadFile, FixError
from aligncheck.formats.source import Source
from aligncheck.model import Audit
from aligncheck.plan import Copy, Plan, plan
from aligncheck.requests import Asker
from aligncheck.rewrite import following
from aligncheck.rewrite.copying import Progress, Range, copy_range, is_zero, write_at
from aligncheck.rewrite.temporary import Temporary, keep_attributes, lock, remove_leftovers
from aligncheck.rewrite.verify import verify


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """What became of a file: the audits of the old and the new one, and the plan between them.

    `applied` is True if a file was written. Otherwise `after` is `before`. `removed` are the paths
    of unfinished files that a killed run had left beside it.
    """

    plan: Plan
    before: Audit
    after: Audit
    applied: bool
    removed: tuple[str, ...] = ()


def fix(
    path: str | os.PathLike[str],
    requests: Mapping[str, int] | Iterable[Asker] = (),
    *,
    segment_alignment: int | None = None,
    sidecar: bool = True,
    backends: bool = True,
    output: str | os.PathLike[str] | None = None,
    on_progress: Progress | None = None,
) -> Fix:
    """Rewrite one .pte or .ptd file so that every request is met that can be met.

    The arguments are those of `audit`. With `output` the new file is written there, in any case,
    and the old one is left alone; without, the file is replaced, unless nothing has to move.
    `on_progress` is called with bytes done and bytes in all. Raises what `audit` raises, and
    FixError if the new file cannot be written or does not hold what the old one holds.
    """
    askers = as_askers(
        path, requests, segment_alignment=segment_alignment, sidecar=sidecar, backends=backends
    )
    name = os.fspath(path)
    shown = name if output is None else os.fspath(output)
    target = os.path.realpath(shown)
    with closing(Source(name)) as source:
        before = audit_source(source, askers)
        planned = plan(before)
        if not lock(source.fd):
            raise FixError(shown, "is being fixed by somebody else just now")
        removed = tuple(remove_leftovers(target))
        if output is None and not planned.changes:
            return Fix(plan=planned, before=before, after=before, applied=False, removed=removed)
        _check_target(source, target, shown, in_place=output is None)
        _check_padding(source, planned)
        job = _Job(source, planned, before, askers, on_progress)
        after = job.run(target, shown)
    return Fix(plan=planned, before=before, after=after, applied=True, removed=removed)


def _check_target(source: Source, target: str, shown: str, *, in_place: bool) -> None:
    """Raises FixError where the new file must not be written."""
    try:
        status = os.stat(target)
    except FileNotFoundError:
        return
    except OSError as error:
        raise FixError(shown, f"cannot be written: {error.strerror}") from error
    if not in_place and os.path.samestat(status, source.status):
        raise FixError(shown, f"is {source.path} itself", hint="fix it in place, or name another")
    if not stat.S_ISREG(status.st_mode):
        raise FixError(shown, "cannot be written: it is not a regular file")
    if not os.access(target, os.W_OK):
        raise FixError(shown, "cannot be written: permission denied")


def _check_padding(source: Source, planned: Plan) -> None:
    for start, end in planned.padding:
        if not is_zero(source, start, end):
            found = f"bytes {start} to {end} belong to no segment and are not zero"
            raise FixError(source.path, f"cannot be fixed without losing data: {found}")


class _Job:
    """One rewriting, from the open old file to the new one under its name."""

    def __init__(
        self,
        source: Source,
        planned: Plan,
        before: Audit,
        askers: Sequence[Asker],
        on_progress: Progress | None,
    ) -> None:
        self.source = source
        self.plan = planned
        self.before = before
        self.askers = askers
        self.on_progress = on_progress
        self.size = sum(copy.size for copy in planned.copies)
        self.copied = self.compared = 0

    def run(self, target: str, shown: str) -> Audit:
        """Makes the new file and returns its audit. Raises FixError."""
        temporary = Temporary(target)
        try:
            temporary.create()
            equal = self._fill(temporary, shown)
            temporary.flush()
            after = self._verified(temporary.path, shown, equal)
            keep_attributes(self.source.status, self.source.fd, temporary.fd)
            temporary.close()
            self._check_unchanged()
            self.source.close()
            temporary.rename(target)
        except OSError as error:
            raise FixError(shown, f"cannot be written: {error.strerror or error}") from error
        finally:
            temporary.discard()
        return after

    def _fill(self, temporary: Temporary, shown: str) -> list[Range]:
        """Writes the new file. Returns what has been compared already, of a large one.

        The numbers that change come first, so that nothing is written any more into what has been
        compared.
        """
        os.ftruncate(temporary.fd, self.plan.new_size)
        metadata, *data = _apart(self.plan)
        for _ in self._copy(temporary.fd, [metadata]):
            self._report()
        for patch in self.plan.patches:
            write_at(temporary.fd, patch.place, patch.new.to_bytes(8, "little"))
        parts = self._copy(temporary.fd, data)
        if following.POSSIBLE and self.size >= following.WORTHWHILE:
            return self._followed(parts, temporary, shown)
        for _ in parts:
            self._report()
        return []

    def _copy(self, fd: int, copies: Iterable[Copy]) -> Iterator[Range]:
        for copy in copies:
            for part in copy_range(self.source, copy.old, fd, copy.new, copy.size):
                self.copied += part[2]
                yield part

    def _followed(self, parts: Iterator[Range], temporary: Temporary, shown: str) -> list[Range]:
        """Compares what is copied, and brings it to the disk, while the rest is being copied."""
        with _suspecting(shown):
            new = Source(temporary.path, name=shown)
        with closing(new), closing(following.Follower(self.source, new)) as follower:
            for part in parts:
                with _suspecting(shown):
                    follower.compare(part)
                temporary.flush()
                self.compared = follower.done
                self._report()
            with _suspecting(shown):
                equal = follower.finish()
        self.compared = follower.done
        return equal

    def _verified(self, path: str, shown: str, equal: Sequence[Range]) -> Audit:
        """The new file's audit. Raises FixError if it is not what the plan promised."""
        already, missing = self.compared, self.size - self.compared
        with _suspecting(shown), closing(Source(path, name=shown)) as new:
            after = audit_source(new, self.askers)
            for done, total in verify(self.plan, self.before, after, self.source, new, equal=equal):
                self.compared = already + missing * done // max(total, 1)
                self._report()
        return after

    def _report(self) -> None:
        """Copying is one half of the work, comparing the other."""
        if self.on_progress is not None:
            self.on_progress(self.copied + self.compared, 2 * self.size)

    def _check_unchanged(self) -> None:
        """Raises FixError if the file is not any more what was read."""
        then, now = self.source.status, os.stat(self.source.opened)
        if not os.path.samestat(then, now) or _version(then) != _version(now):
            raise FixError(self.source.path, "was changed by somebody else during the fix")


def _apart(planned: Plan) -> Iterator[Copy]:
    """The copies, of which the first is that of the metadata alone."""
    end = planned.container.metadata_end
    first, *others = planned.copies
    yield Copy(old=0, new=0, size=end)
    yield Copy(old=end, new=end, size=first.size - end)
    yield from others


@contextmanager
def _suspecting(shown: str) -> Iterator[None]:
    """Makes a FixError of whatever is wrong with the new file."""
    try:
        yield
    except BadFile as error:
        raise FixError(shown, f"the new file would not do: {error.reason}") from error


def _version(status: os.stat_result) -> tuple[int, int]:
    return status.st_size, status.st_mtime_ns
