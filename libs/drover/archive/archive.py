"""Reads, verifies and locks an archive: a folder for each context, with segments (files of commits) and an index."""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from drover.archive.errors import (
    ArchiveBusy,
    ArchiveIncomplete,
    ArchiveMissing,
    ArchiveUnwritable,
    FileDamaged,
    ForeignArchive,
)
from drover.archive.in_thread import in_thread
from drover.archive.index import INDEX_NAME, Index, Segment, is_segment_name, last_of_name, load_index, save_index
from drover.archive.segment import TEMPORARY, read_segment
from drover.archive.text import Placed

Progress = Callable[[int, int], None]
"""Called with (done, total)."""


def no_progress(done: int, of: int) -> None:
    """Report no progress; the default."""


def archived_contexts(directory: Path) -> list[str]:
    """List the contexts that have an archive in this folder. Raises ArchiveMissing if there is none."""
    try:
        found = sorted(folder.name for folder in directory.iterdir() if (folder / INDEX_NAME).exists())
    except OSError as error:
        raise ArchiveMissing(directory, error.strerror or str(error)) from None
    if not found:
        raise ArchiveMissing(directory, "none of its folders has an index.json")
    return found


class Archive:
    """The archive of one context. Files that are not in `index` are ignored: an interrupted run left them behind."""

    def __init__(self, directory: Path, context: str) -> None:
        self.folder: Final = directory / context
        self.context: Final = context
        self.index = load_index(self.folder)
        if self.index.context != context:
            raise FileDamaged(self.folder / INDEX_NAME, f"it belongs to {self.index.context}", "Check --archive.")

    @property
    def first(self) -> int:
        """The sequence of the first commit that a restore writes: the lowest one that the log had when it was last
        purged."""
        return self.index.bottom_seq

    @property
    def last(self) -> int:
        """The sequence of the last archived commit; 0 if there is none."""
        return self.index.last

    def commits(self, after: int = 0) -> AsyncGenerator[Placed, None]:
        """Read the commits after a position, in order, and verify them. Raises FileDamaged."""
        return in_thread(self._commits(after))

    async def previous(self, seq: int) -> Mapping[str, int]:
        """Return, by partition, the sequence of its last commit up to `seq`."""
        return await asyncio.to_thread(self._previous, seq)

    def _previous(self, seq: int) -> dict[str, int]:
        found: dict[str, int] = {}
        for segment in reversed(self.index.segments):
            if len(found) == len(self.index.partitions):
                break
            if segment.first <= seq:
                found = {**self._lasts(segment, seq), **found}
        return found

    def _lasts(self, segment: Segment, seq: int) -> dict[str, int]:
        if segment.last <= seq and segment.lasts:
            return segment.lasts
        return {placed.partition: placed.commit.seq for placed in self.commits_of(segment) if placed.commit.seq <= seq}

    def _commits(self, after: int) -> Generator[Placed, None, None]:
        known: dict[str, int] = {}
        for segment in self.index.segments:
            if segment.last > after:
                for placed in self.commits_of(segment, known):
                    if placed.commit.seq > after:
                        yield placed
            known |= {name: last for name, (_, last) in segment.ordinals.items()}

    def commits_of(self, segment: Segment, known: dict[str, int] | None = None) -> Iterator[Placed]:
        return read_segment(self.folder, self.index, segment, known)

    def verify(self, progress: Progress = no_progress) -> list[FileDamaged]:
        """Check every byte of every segment against index and checksums; return the damage of each segment."""
        found: list[FileDamaged] = []
        done = 0
        known: dict[str, int] = {}
        for segment in self.index.segments:
            try:
                for _ in self.commits_of(segment, known):
                    pass
            except FileDamaged as damage:
                found.append(damage)
            known |= {name: last for name, (_, last) in segment.ordinals.items()}
            done += segment.events
            progress(done, self.index.events)
        return found


@contextmanager
def opened_for_writing(directory: Path, context: str, partitions: list[str] | None) -> Iterator[tuple[Path, Index]]:
    """Open the archive of a context and lock it against other writers. The caller then removes what a crash left
    behind, with `sweep`.

    `partitions`: of the log, to begin a new archive. None: raise ArchiveMissing instead.
    """
    folder = directory / context
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ArchiveUnwritable(folder, error.strerror or str(error)) from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ArchiveBusy(folder) from None
        except OSError as error:
            raise ArchiveUnwritable(folder, f"it cannot be locked ({error.strerror})") from error
        try:
            index = load_index(folder)
        except ArchiveMissing:
            _refuse_a_lost_index(folder)
            if partitions is None:
                raise
            index = Index(context, partitions)
            save_index(folder, index)  # before the first segment: segments without an index then mean a lost index
        yield folder, index
    finally:
        os.close(lock)


def record_bottom(directory: Path, context: str, bottom: Mapping[str, int]) -> None:
    """Record, by partition, the lowest sequence that its log will still have. Call it before the log is purged: a
    restore then writes nothing below the lowest of them.

    Raises ArchiveIncomplete if the archive does not have all commits below it.
    """
    with opened_for_writing(directory, context, None) as (folder, index):
        if (missing := max(bottom.values(), default=0) - 1) > index.last:
            raise ArchiveIncomplete(context, index.last, missing)
        index.bottom = {**index.bottom, **bottom}
        save_index(folder, index)


def replace_segments(folder: Path, index: Index, kept: int, made: Segment) -> None:
    """Replace all segments after the first `kept` ones by a new one, in one step, then delete the replaced files."""
    replaced = index.segments[kept:]
    index.segments = [*index.segments[:kept], made]
    save_index(folder, index)
    for segment in replaced:
        (folder / segment.file).unlink(missing_ok=True)


def _refuse_a_lost_index(folder: Path) -> None:
    """Refuse a folder that has segments but no index, instead of starting a new index: its segments may be the only
    copy."""
    if any(is_segment_name(file.name) for file in folder.iterdir()):
        advice = "Restore it from a copy of the archive, or archive into another directory."
        raise FileDamaged(folder / INDEX_NAME, "it is missing, but there are segments", advice)


def sweep(folder: Path, index: Index, end: int) -> None:
    """Delete the files of a writer that was killed: unfinished ones, and finished ones that it did not add to the
    index.

    `end` is the last commit of the log. If a file has commits beyond it, raise ForeignArchive: somebody has restored an
    older index, and the file may be the only copy of these commits.
    """
    listed = {segment.file for segment in index.segments}
    unlisted = [file for file in folder.iterdir() if is_segment_name(file.name) and file.name not in listed]
    for file in unlisted:
        if (last := last_of_name(file.name)) > end:
            reason = f"the log ends at {end}, but {file.name}, which is not in the index, goes on"
            raise ForeignArchive(index.context, last, reason)
    for file in [*unlisted, *(one for one in folder.iterdir() if one.name.startswith((TEMPORARY, f".{INDEX_NAME}.")))]:
        file.unlink(missing_ok=True)
