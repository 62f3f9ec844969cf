"""The collection of pictures: adds, reads, erases and expires them. They are in a folder or a bucket that several
processes share."""

from __future__ import annotations

import asyncio
import errno
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Final

import prometheus_client
import structlog

from drover.archive.errors import ArchiveMissing, ArchiveUnreachable, ArchiveUnwritable, FileDamaged
from drover.archive.opening import S3, BucketKey, open_store
from drover.archive.store import ArchiveStore, FileMissing
from drover.domain.errors import DroverError
from drover.evidence.pictures import PICTURE_BYTES_MAX
from drover.evidence.reference import Reference, day_of, folder_of
from drover.evidence.settings import EvidenceSettings
from drover.service.disk_room import Room
from drover.service.tasks import in_background

SWEEP_EVERY_S: Final = 3600.0
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})

SWEPT: Final = prometheus_client.Counter(
    "drover_evidence_expired_folders_total",
    "Folders, one for each day, that were deleted because their pictures had been kept long enough",
)
SWEEPS_FAILED: Final = prometheus_client.Counter(
    "drover_evidence_failed_sweeps_total", "Searches for expired pictures that failed; the next one tries again"
)

log = structlog.get_logger("drover.evidence")


class EvidenceFull(DroverError):
    """There is no room for another picture."""

    def __init__(self, place: str) -> None:
        super().__init__(f"There is no room for pictures in {place}.")
        self.place = place


class EvidenceUnreachable(DroverError):
    """The folder or bucket of the pictures cannot be used at the moment."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"The pictures in {place} cannot be used: {reason}.")
        self.place = place
        self.reason = reason


class TooManyPictures(DroverError):
    """A device has uploaded all the pictures that it may in a day."""

    def __init__(self, per_day: int, again_at: datetime) -> None:
        super().__init__(f"The device has uploaded {per_day} pictures today.")
        self.per_day = per_day
        self.again_at = again_at


class Evidence:
    """The pictures that phones have sent. Errors of the store are raised as EvidenceFull or EvidenceUnreachable."""

    def __init__(
        self,
        store: ArchiveStore,
        *,
        keep_days: int,
        per_day: int,
        room: Callable[[], Room] | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`room`: looks at the disk of the store. None, for a bucket: its provider limits it."""
        self._store = store
        self.keep_days = keep_days
        self._per_day = per_day
        self._room = room
        self._clock = clock
        self._adding: Counter[str] = Counter()
        """How many pictures of each device are being added by this process."""

    @classmethod
    def of(cls, settings: EvidenceSettings) -> Evidence | None:
        """Open the collection that the settings name; None if they name none."""
        if (place := settings.evidence) is None:
            return None
        key_id, secret = settings.evidence_s3_key_id, settings.evidence_s3_secret
        store = open_store(place, key=BucketKey(key_id, secret) if key_id and secret else None)
        room = None if place.startswith(S3) else lambda: _room_of(Path(place))
        return cls(store, keep_days=settings.evidence_keep_days, per_day=settings.evidence_per_day, room=room)

    def today(self) -> date:
        return self._clock().date()

    async def add(self, picture: Reference, data: bytes) -> None:
        """Keep a picture. It is there when this returns. Adding the same one again changes nothing. Raises
        TooManyPictures."""
        self._adding[picture.device_id] += 1
        try:
            with _faults(self._store.place()):
                there = await self._store.names(picture.folder)
                if picture.file in there:
                    return
                if len(there) + self._adding[picture.device_id] > self._per_day:
                    raise TooManyPictures(self._per_day, _midnight_after(picture.day))
                if self._room is not None and not (await asyncio.to_thread(self._room)).is_ample:
                    raise EvidenceFull(self._store.place())
                await self._store.write(picture.name, data)
        finally:
            self._adding[picture.device_id] -= 1
            if not self._adding[picture.device_id]:
                del self._adding[picture.device_id]

    async def read(self, picture: Reference) -> bytes | None:
        """Return the bytes of a picture. None: it was deleted, or never existed."""
        if picture.day < self._first_day():
            return None  # do not wait for the sweep
        with _faults(self._store.place()):
            try:
                return (await self._store.read(picture.name, PICTURE_BYTES_MAX)).data
            except FileMissing:
                return None

    async def erase(self, device_id: str, assignment_id: str | None = None) -> int:
        """Delete the pictures of a device, or only those of one assignment. Returns how many there were."""
        erased = 0
        with _faults(self._store.place()):
            for day in await self._days():
                place = folder_of(day, device_id)
                names = await self._store.names(place)
                if assignment_id is None:
                    erased += len(names)
                    if names:
                        await self._store.remove(place)
                    continue
                for name in names:
                    # With a dot in front of it, it is a part of a picture that a crash left behind.
                    if name.removeprefix(".").startswith(f"{assignment_id}."):
                        await self._store.delete(f"{place}/{name}")
                        erased += 1
        return erased

    async def sweep(self) -> int:
        """Delete the pictures of every day that is over. Returns how many days these were."""
        first, swept = self._first_day(), 0
        with _faults(self._store.place()):
            for day in await self._days():
                if day < first:
                    await self._store.remove(str(day))
                    swept += 1
        return swept

    @asynccontextmanager
    async def sweeping(self, every_s: float = SWEEP_EVERY_S) -> AsyncIterator[None]:
        """Delete expired pictures while the block runs. Several processes may do so at the same time."""
        async with in_background(self._sweep_again(every_s), name="evidence sweep"):
            yield

    async def _sweep_again(self, every_s: float) -> None:
        while True:
            try:
                if swept := await self.sweep():
                    SWEPT.inc(swept)
                    log.info("evidence_expired", days=swept, keep_days=self.keep_days)
            except Exception as error:  # the pictures stay until the next sweep
                SWEEPS_FAILED.inc()
                log.warning("evidence_not_swept", error=str(error))
            await asyncio.sleep(every_s)

    def _first_day(self) -> date:
        """Return the first day whose pictures are kept."""
        return self.today() - timedelta(days=self.keep_days)

    async def _days(self) -> list[date]:
        try:
            return [day for folder in await self._store.folders() if (day := day_of(folder)) is not None]
        except ArchiveMissing:
            return []  # no picture was added yet


@contextmanager
def _faults(place: str) -> Iterator[None]:
    """Turn the errors of the store into ours, whose messages are about pictures."""
    try:
        yield
    except ArchiveUnwritable as error:
        cause = error.__cause__
        if isinstance(cause, OSError) and cause.errno in _FULL:
            raise EvidenceFull(place) from error
        raise EvidenceUnreachable(place, error.reason) from error
    except (ArchiveUnreachable, FileDamaged, OSError) as error:
        raise EvidenceUnreachable(place, str(error)) from error


def _room_of(place: Path) -> Room:
    """Return the room on the disk of a folder, which may not exist yet."""
    while not place.exists() and place != place.parent:
        place = place.parent
    return Room.of(place)


def _midnight_after(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=1)
