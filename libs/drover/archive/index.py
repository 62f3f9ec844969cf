"""The index of a context's archive: a JSON file that lists its segments in order, each with its range and checksum."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from drover.archive.errors import ArchiveMissing, ArchiveUnwritable, FileDamaged
from drover.archive.text import is_valid_log
from drover.embedded.private_file import write_private

FORM: Final = 1
INDEX_NAME: Final = "index.json"
SEGMENT_TEXT_BYTES: Final = 32 * 1024 * 1024
"""A segment with this much text, in bytes, is full and never written again."""
INDEX_BYTES_MAX: Final = 64 * 1024 * 1024
_NAME: Final = re.compile(r"[a-z0-9_]+\.\d{12,19}-\d{12,19}\.jsonl\.zst")


class Segment(msgspec.Struct, frozen=True):
    """One file of the archive: all commits of the context from `first` to `last`."""

    file: str
    first: int
    last: int
    first_at: datetime
    last_at: datetime
    """When the first event of the segment was decided (`first_at`), and when the last one was."""
    commits: int
    events: int
    ordinals: dict[str, tuple[int, int]]
    """By partition, the numbers of the first and the last event in the segment."""
    last_commit: str
    """The id of the last commit. The next run uses it to check whether the log is still the same."""
    text_bytes: int
    bytes: int
    sha256: str
    """Checksum of the compressed file. `bytes` is the size of that file, `text_bytes` its size when decompressed."""
    lasts: dict[str, int] = {}
    """By partition, the sequence of its last commit in the segment. Empty in an index of an earlier version."""

    @property
    def is_full(self) -> bool:
        return self.text_bytes >= SEGMENT_TEXT_BYTES


class ArchivedSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """One snapshot of a partition's state, in a file of its own."""

    file: str
    partition: str
    version: str
    seq: int
    """The last commit in it."""
    saved_at: datetime
    bytes: int
    sha256: str
    """Checksum of the snapshot before it was compressed. `bytes` is its size then."""


class Index(msgspec.Struct):
    context: str
    partitions: list[str]
    segments: list[Segment] = []
    form: int = FORM
    bottom: dict[str, int] = {}
    """By partition, the lowest sequence that its log still had after it was last purged."""
    snapshots: list[ArchivedSnapshot] = []

    @property
    def bottom_seq(self) -> int:
        """The lowest sequence that the log still had; 1 if it was never purged. The log of a context has one sequence
        for all partitions, so a restore writes everything from here on."""
        if not self.bottom:
            return 1
        return min(self.bottom.get(name, 1) for name in self.partitions)

    @property
    def last(self) -> int:
        """The sequence of the last archived commit; 0 if there is none."""
        return self.segments[-1].last if self.segments else 0

    @property
    def commits(self) -> int:
        return sum(segment.commits for segment in self.segments)

    @property
    def events(self) -> int:
        return sum(segment.events for segment in self.segments)

    def ordinals(self) -> dict[str, int]:
        """By partition, the number of the last archived event."""
        return {name: last for segment in self.segments for name, (_, last) in segment.ordinals.items()}


def segment_name(context: str, first: int, last: int) -> str:
    return f"{context}.{first:012d}-{last:012d}.jsonl.zst"


def is_segment_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def last_of_name(name: str) -> int:
    """Return the sequence of the last commit of a segment, from its file name."""
    return int(name.removesuffix(".jsonl.zst").rpartition("-")[2])


def load_index(folder: Path) -> Index:
    """Read the index of an archive. Raises ArchiveMissing if there is none, FileDamaged if it cannot be used."""
    path = folder / INDEX_NAME
    try:
        if path.stat().st_size > INDEX_BYTES_MAX:
            raise FileDamaged(path, "it is too large to be an index", "Restore it from a copy of the archive.")
        index = msgspec.json.decode(path.read_bytes(), type=Index)
    except (FileNotFoundError, NotADirectoryError):
        raise ArchiveMissing(folder, "no index.json") from None
    except OSError as error:
        raise FileDamaged(path, error.strerror or str(error), "Run this as the user who made the archive.") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise FileDamaged(path, f"it is malformed ({error})", "Restore it from a copy of the archive.") from None
    _check(path, index)
    return index


def _check(path: Path, index: Index) -> None:
    """Refuse an index in which commits are missing, or with file names that lead out of its folder."""
    advice = "Restore it from a copy of the archive."
    if index.form != FORM:
        raise FileDamaged(path, f"it has format {index.form}", f"This program reads format {FORM}: use a newer one.")
    if not is_valid_log(index.context, index.partitions):
        reason = f"{index.context!r} with the partitions {index.partitions} is not a log of Drover"
        raise FileDamaged(path, reason, advice)
    if not all(name in index.partitions and 1 <= seq <= index.last + 1 for name, seq in index.bottom.items()):
        raise FileDamaged(path, f"the log cannot begin at {index.bottom}", advice)
    after, ordinals = 0, dict.fromkeys(index.partitions, 0)
    for segment in index.segments:
        if not is_segment_name(segment.file):
            raise FileDamaged(path, f"{segment.file!r} is not the name of a segment", advice)
        if segment.first != after + 1 or segment.commits != segment.last - after:
            raise FileDamaged(path, f"{segment.file} does not follow commit {after}", advice)
        for name, (first, last) in segment.ordinals.items():
            if name not in ordinals or first != ordinals[name] + 1 or last < first:
                raise FileDamaged(path, f"events of {name} are missing before {segment.file}", advice)
            ordinals[name] = last
        after = segment.last


def save_index(folder: Path, index: Index) -> None:
    """Replace the index in one step, so that a crash of the machine leaves the old or the new one."""
    path = folder / INDEX_NAME
    try:
        write_private(path, msgspec.json.format(msgspec.json.encode(index), indent=1) + b"\n")
    except OSError as error:
        raise ArchiveUnwritable(path, error.strerror or str(error)) from error
