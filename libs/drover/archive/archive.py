"""An archive: a folder for each context, with segments and their index. Reading it, and looking whether it is whole."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from drover.archive.errors import ArchiveBusy, ArchiveMissing, ArchiveUnwritable, FileDamaged, ForeignArchive
from drover.archive.index import INDEX_NAME, Index, Segment, is_segment_name, last_of_name, load_index, save_index
from drover.archive.segment import TEMPORARY, read_segment
from drover.archive.text import Placed

Progress = Callable[[int, int], None]
"""(events done, events in all)."""


def quietly(done: int, of: int) -> None:
    """For those whom nobody watches."""


def archived_contexts(directory: Path) -> list[str]:
    """Raises ArchiveMissing where there is none at all."""
    try:
        found = sorted(folder.name for folder in directory.iterdir() if (folder / INDEX_NAME).exists())
    except OSError as error:
        raise ArchiveMissing(directory, error.strerror or str(error)) from None
    if not found:
        raise ArchiveMissing(directory, "none of its folders has an index.json")
    return found


class Archive:
    """Of one context. What `index` says is there is all that there is: other files are left-overs."""

    def __init__(self, directory: Path, context: str) -> None:
        self.folder: Final = directory / context
        self.context: Final = context
        self.index = load_index(self.folder)
        if self.index.context != context:
            raise FileDamaged(self.folder / INDEX_NAME, f"it is of {self.index.context}", "Check --archive.")

    def commits(self, after: int = 0) -> Iterator[Placed]:
        """In order, those after a position, each checked. Raises FileDamaged."""
        known: dict[str, int] = {}
        for segment in self.index.segments:
            if segment.last > after:
                for placed in self.commits_of(segment, known):
                    if placed.commit.seq > after:
                        yield placed
            known |= {name: last for name, (_, last) in segment.ordinals.items()}

    def commits_of(self, segment: Segment, known: dict[str, int] | None = None) -> Iterator[Placed]:
        return read_segment(self.folder, self.index, segment, known)

    def verify(self, progress: Progress = quietly) -> list[FileDamaged]:
        """Every byte of every segment against index and checksums; what is wrong, segment by segment."""
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
def written_by_us(directory: Path, context: str, partitions: list[str]) -> Iterator[tuple[Path, Index]]:
    """The folder and its index, held against other writers. What a crash left behind is for `sweep`."""
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
            index = Index(context, partitions)
            save_index(folder, index)  # before the first segment: so whoever finds one without an index knows
        yield folder, index
    finally:
        os.close(lock)


def replace_segments(folder: Path, index: Index, kept: int, made: Segment) -> None:
    """Put a new segment behind the first `kept` ones, in one step. Those that it replaces are removed afterwards."""
    replaced = index.segments[kept:]
    index.segments = [*index.segments[:kept], made]
    save_index(folder, index)
    for segment in replaced:
        (folder / segment.file).unlink(missing_ok=True)


def _refuse_a_lost_index(folder: Path) -> None:
    """An index that is gone is somebody's mistake, and what it knew of is not ours to throw away."""
    if any(is_segment_name(file.name) for file in folder.iterdir()):
        advice = "Restore it from a copy of the archive, or archive into another directory."
        raise FileDamaged(folder / INDEX_NAME, "it is missing, and there are segments", advice)


def sweep(folder: Path, index: Index, end: int) -> None:
    """Files of a writer that was killed: unfinished ones, and finished ones that the index never came to know.

    `end`: of the log, which has all that is in them. One that goes on beyond it is no left-over, but may be all that
    there is of its commits: somebody has put an older index in its place. Raises ForeignArchive.
    """
    listed = {segment.file for segment in index.segments}
    unlisted = [file for file in folder.iterdir() if is_segment_name(file.name) and file.name not in listed]
    for file in unlisted:
        if (last := last_of_name(file.name)) > end:
            reason = f"the log ends at {end}, and {file.name}, of which the index knows nothing, goes on"
            raise ForeignArchive(index.context, last, reason)
    for file in [*unlisted, *(one for one in folder.iterdir() if one.name.startswith((TEMPORARY, f".{INDEX_NAME}.")))]:
        file.unlink(missing_ok=True)
