"""The volumes of an archive's index: files that list segments and are never changed. Each volume is read when it is
needed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

import msgspec

from drover.archive.errors import FileDamaged
from drover.archive.index import (
    COPY_ADVICE,
    INDEX_BYTES_MAX,
    Segment,
    Volume,
    check_order,
    check_segments,
    last_ordinals,
    volume_name,
)
from drover.archive.store import ArchiveStore, FileMissing

KEPT_MAX: Final = 4
"""How many volumes stay in memory; one has about 1 MB."""


class VolumeFile(msgspec.Struct, frozen=True):
    """The content of a volume."""

    context: str
    segments: list[Segment]


def make_volume(context: str, number: int, generation: int, segments: Sequence[Segment]) -> tuple[Volume, bytes]:
    """Make a volume of consecutive segments; return its entry in the index and the content of its file."""
    data = msgspec.json.format(msgspec.json.encode(VolumeFile(context, list(segments))), indent=1) + b"\n"
    firsts = {name: first for one in reversed(segments) for name, (first, _) in one.ordinals.items()}
    lasts = last_ordinals(segments)
    known = all(one.lasts for one in segments)
    stamped = [one for one in segments if one.events] or segments
    made = Volume(
        file=volume_name(number, generation),
        size=len(data),
        sha256=sha256(data).hexdigest(),
        segments=len(segments),
        first=segments[0].first,
        last=segments[-1].last,
        first_at=stamped[0].first_at,
        last_at=stamped[-1].last_at,
        commits=sum(one.commits for one in segments),
        events=sum(one.events for one in segments),
        bytes=sum(one.bytes for one in segments),
        ordinals={name: (first, lasts[name]) for name, first in firsts.items()},
        lasts={name: seq for one in segments for name, seq in one.lasts.items()} if known else {},
    )
    return made, data


class Volumes:
    """Reads volumes, and keeps those that were used last."""

    def __init__(self, store: ArchiveStore, context: str) -> None:
        self._store = store
        self._context = context
        self._kept: OrderedDict[str, list[Segment]] = OrderedDict()

    async def segments(self, volume: Volume) -> list[Segment]:
        """Return the segments that a volume lists. Raises FileDamaged."""
        found = self._kept.get(volume.sha256)
        if found is None:
            found = self._kept[volume.sha256] = await self._load(volume)
            if len(self._kept) > KEPT_MAX:
                self._kept.popitem(last=False)
        self._kept.move_to_end(volume.sha256)
        return found

    async def _load(self, volume: Volume) -> list[Segment]:
        name = f"{self._context}/{volume.file}"
        place = self._store.place(name)
        try:
            data = (await self._store.read(name, INDEX_BYTES_MAX)).data
        except FileMissing:
            raise FileDamaged(place, "it is missing", COPY_ADVICE) from None
        if (len(data), sha256(data).hexdigest()) != (volume.size, volume.sha256):
            reason = "its checksum does not match the index: its bytes were changed"
            raise FileDamaged(place, reason, COPY_ADVICE)
        try:
            found = msgspec.json.decode(data, type=VolumeFile)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise FileDamaged(place, f"it is malformed ({error})", COPY_ADVICE) from None
        segments = found.segments
        check_segments(place, segments)
        ordinals = {name: first - 1 for name, (first, _) in volume.ordinals.items()}
        check_order(place, segments, volume.first - 1, ordinals)
        if (found.context, len(segments), segments[-1].last) != (self._context, volume.segments, volume.last):
            raise FileDamaged(place, "its content does not match the index", COPY_ADVICE)
        return segments
