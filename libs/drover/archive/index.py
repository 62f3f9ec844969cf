"""The index of a context's archive: JSON files that list its segments in order, each with its range and checksum, and
its snapshots.

`index.json` is rewritten with each segment, so it must stay small: it lists only the newest segments. The earlier ones
are listed in volumes, files that are never written again. `index.json` has the range and the checksum of each volume.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Final

import msgspec

from drover.archive.errors import ArchiveMissing, FileDamaged
from drover.archive.store import ArchiveStore, FileMissing
from drover.archive.text import is_valid_log

FORM: Final = 2
FORMS_READ: Final = (1, 2)
"""The versions of the file format that can be read. Form 1 has no volumes. An index of form 1 becomes form 2 when it is
next written."""
INDEX_NAME: Final = "index.json"
SEGMENT_TEXT_BYTES: Final = 32 * 1024 * 1024
"""A segment with this much text, in bytes, is full and never written again."""
VOLUME_SEGMENTS: Final = 500
"""How many segments a volume of the index lists."""
INDEX_BYTES_MAX: Final = 64 * 1024 * 1024
SNAPSHOTS: Final = "snapshots"
"""The folder of a context's snapshots."""
COPY_ADVICE: Final = "Restore it from a copy of the archive."
_NAME: Final = re.compile(r"[a-z0-9_]+\.(\d{12,19})-(\d{12,19})(\.g\d+)?\.jsonl\.zst")
_VOLUME_NAME: Final = re.compile(r"index-(\d{5,})(\.g\d+)?\.json")
_SNAPSHOT_NAME: Final = re.compile(rf"{SNAPSHOTS}/[a-z0-9_]+-[A-Za-z0-9_.-]{{1,100}}-\d+(\.g\d+)?\.msgpack\.zst")


class Segment(msgspec.Struct, frozen=True):
    """One file of the archive: all commits of the context from `first` to `last`."""

    file: str
    first: int
    last: int
    first_at: datetime
    last_at: datetime
    """When the last event of the segment was decided; `first_at` is when the first one was."""
    commits: int
    events: int
    ordinals: dict[str, tuple[int, int]]
    """By partition, the numbers of the first and the last event in the segment."""
    last_commit: str
    """The id of the last commit. The next run checks with it whether the log is still the same."""
    text_bytes: int
    bytes: int
    sha256: str
    """Checksum of the compressed file. `bytes` is the size of that file, `text_bytes` its size when decompressed."""
    lasts: dict[str, int] = {}
    """By partition, the sequence of its last commit in the segment. Empty in an index of an earlier version."""

    @property
    def is_full(self) -> bool:
        return self.text_bytes >= SEGMENT_TEXT_BYTES


class Volume(msgspec.Struct, frozen=True, kw_only=True):
    """The entry of a volume in `index.json`. A volume is a file that lists consecutive segments. The entry has the
    totals over these segments."""

    file: str
    size: int
    sha256: str
    """The checksum of the volume's file; `size` is the size of that file."""
    segments: int
    first: int
    last: int
    first_at: datetime
    last_at: datetime
    commits: int
    events: int
    bytes: int
    """The total size of the segments' files."""
    ordinals: dict[str, tuple[int, int]]
    lasts: dict[str, int]
    """As in `Segment`. Empty if that of one of its segments is empty."""


class ArchivedSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot of a partition's state, in a file of the archive."""

    partition: str
    version: str
    """The version of the state's type and rules (`writer.snapshots.snapshot_version`)."""
    seq: int
    commit: str
    """The id of the last commit that is part of the state; `seq` is its sequence."""
    saved_at: datetime
    file: str
    bytes: int
    sha256: str
    """The checksum of the compressed file; `bytes` is its size."""
    image_bytes: int = 0
    """Size of the state, decompressed. 0 in an index of an earlier version."""


class Index(msgspec.Struct):
    """The content of index.json: what belongs to the archive of a context."""

    context: str
    partitions: list[str]
    segments: list[Segment] = []
    """The segments that are in no volume: the newest ones. Empty only if there are no volumes either."""
    form: int = FORM
    bottom: dict[str, int] = {}
    """By partition, its bottom: the sequence of its first commit that NATS still had after the last purge."""
    snapshots: list[ArchivedSnapshot] = []
    generation: int = 0
    """How many writers the archive has had, if it is in a bucket. Names of new files contain this number. 0 in a
    folder."""
    volumes: list[Volume] = []

    @property
    def parts(self) -> list[Volume | Segment]:
        """All volumes, then the segments after them."""
        return [*self.volumes, *self.segments]

    @property
    def bottom_seq(self) -> int:
        """The lowest bottom of all partitions; 1 if one of them was never purged. A restore writes everything from here
        on, because the partitions of a context share one stream, which must not have gaps."""
        if not self.bottom:
            return 1
        return min(self.bottom.get(name, 1) for name in self.partitions)

    @property
    def last(self) -> int:
        """The sequence of the last archived commit; 0 if there is none."""
        return self.segments[-1].last if self.segments else 0

    @property
    def sealed(self) -> int:
        """How many segments the volumes list."""
        return sum(volume.segments for volume in self.volumes)

    @property
    def count(self) -> int:
        """How many segments the archive has."""
        return self.sealed + len(self.segments)

    @property
    def commits(self) -> int:
        return sum(part.commits for part in self.parts)

    @property
    def events(self) -> int:
        return sum(part.events for part in self.parts)

    @property
    def bytes(self) -> int:
        return sum(part.bytes for part in self.parts)

    def ordinals(self, kept: int | None = None) -> dict[str, int]:
        """Return the number of the last archived event, by partition. `kept`: count only the volumes and the first
        `kept` segments after them. None: count all."""
        return last_ordinals([*self.volumes, *self.segments[:kept]])

    def last_before(self, kept: int) -> int:
        """Return the sequence of the last commit in the volumes and the first `kept` segments after them."""
        before: list[Volume | Segment] = [*self.volumes, *self.segments[:kept]]
        return before[-1].last if before else 0


def last_ordinals(parts: Iterable[Volume | Segment]) -> dict[str, int]:
    """By partition, the number of the last event in these consecutive volumes and segments."""
    return {name: last for part in parts for name, (_, last) in part.ordinals.items()}


def segment_name(context: str, first: int, last: int, generation: int) -> str:
    return f"{context}.{first:012d}-{last:012d}{_mark(generation)}.jsonl.zst"


def is_segment_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def last_of_name(name: str) -> int:
    """Return the sequence of the last commit of a segment, from its file name."""
    return _number_in(name, _NAME, 2)


def first_of_name(name: str) -> int:
    """Return the sequence of the first commit of a segment, from its file name."""
    return _number_in(name, _NAME, 1)


def volume_name(number: int, generation: int) -> str:
    return f"index-{number:05d}{_mark(generation)}.json"


def is_volume_name(name: str) -> bool:
    return _VOLUME_NAME.fullmatch(name) is not None


def volume_number(name: str) -> int:
    """Return the number of a volume, from its file name. The first one is 1."""
    return _number_in(name, _VOLUME_NAME, 1)


def _number_in(name: str, pattern: re.Pattern[str], group: int) -> int:
    found = pattern.fullmatch(name)
    assert found is not None
    return int(found[group])


def snapshot_name(partition: str, version: str, seq: int, generation: int) -> str:
    """Return the file name of a snapshot. Raises ValueError if the version cannot be a part of a file name."""
    name = f"{SNAPSHOTS}/{partition}-{version}-{seq}{_mark(generation)}.msgpack.zst"
    if not is_snapshot_name(name):
        raise ValueError(f"{version!r} cannot be a part of a file name")
    return name


def is_snapshot_name(name: str) -> bool:
    return _SNAPSHOT_NAME.fullmatch(name) is not None


def _mark(generation: int) -> str:
    return f".g{generation}" if generation else ""


async def load_index(store: ArchiveStore, context: str) -> tuple[Index, str]:
    """Read the index of an archive. Return it with the version of its file, for `ArchiveStore.replace`. Raises
    ArchiveMissing if there is none, FileDamaged if it cannot be used."""
    name = f"{context}/{INDEX_NAME}"
    place = store.place(name)
    try:
        found = await store.read(name, INDEX_BYTES_MAX)
        index = msgspec.json.decode(found.data, type=Index)
    except FileMissing:
        raise ArchiveMissing(store.place(context), "no index.json") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise FileDamaged(place, f"it is malformed ({error})", COPY_ADVICE) from None
    if index.context != context:
        raise FileDamaged(place, f"it belongs to {index.context}", "Check the address of the archive.")
    _check(place, index)
    return index, found.version


def encode_index(index: Index) -> bytes:
    return msgspec.json.format(msgspec.json.encode(index), indent=1) + b"\n"


def _check(path: str, index: Index) -> None:
    """Refuse an index in which commits are missing, or with file names that lead out of its folder."""
    if index.form not in FORMS_READ:
        raise FileDamaged(path, f"it has format {index.form}", f"This program reads format {FORM}: use a newer one.")
    if not is_valid_log(index.context, index.partitions):
        reason = f"{index.context!r} with the partitions {index.partitions} is not a log of Drover"
        raise FileDamaged(path, reason, COPY_ADVICE)
    if not all(name in index.partitions and 1 <= seq <= index.last + 1 for name, seq in index.bottom.items()):
        raise FileDamaged(path, f"the bottom {index.bottom} is not within the archive", COPY_ADVICE)
    for info in index.snapshots:
        if not is_snapshot_name(info.file):
            raise FileDamaged(path, f"{info.file!r} is not the name of a snapshot", COPY_ADVICE)
    if index.volumes and not index.segments:
        raise FileDamaged(path, "the segments after its volumes are missing", COPY_ADVICE)
    for volume in index.volumes:
        if not is_volume_name(volume.file):
            raise FileDamaged(path, f"{volume.file!r} is not the name of a volume", COPY_ADVICE)
    check_segments(path, index.segments)
    check_order(path, index.parts, 0, dict.fromkeys(index.partitions, 0))


def check_segments(path: str, segments: Iterable[Segment]) -> None:
    """Raise FileDamaged if a name could lead out of the folder."""
    for segment in segments:
        if not is_segment_name(segment.file):
            raise FileDamaged(path, f"{segment.file!r} is not the name of a segment", COPY_ADVICE)


def check_order(path: str, parts: Iterable[Volume | Segment], after: int, ordinals: dict[str, int]) -> None:
    """Raise FileDamaged if commits or events are missing between volumes or segments. `after`: the sequence of the last
    commit before them. `ordinals`: the number of the last event before them, by partition; it is updated."""
    for part in parts:
        if part.first != after + 1 or part.commits != part.last - after:
            raise FileDamaged(path, f"{part.file} does not follow commit {after}", COPY_ADVICE)
        for name, (first, last) in part.ordinals.items():
            if name not in ordinals or first != ordinals[name] + 1 or last < first:
                raise FileDamaged(path, f"events of {name} are missing before {part.file}", COPY_ADVICE)
            ordinals[name] = last
        after = part.last
