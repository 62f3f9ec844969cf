"""Daily states of the past in the archive. `drover.archive` stores them; this is what the history needs of it."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from drover.eventlog.log import Partition


class ArchivedImages(Protocol):
    async def put(self, partition: Partition, version: str, seq: int, at: datetime, image: bytes) -> None:
        """Store a state. Storing the same one again does no harm."""

    async def nearest_before(self, partition: Partition, version: str, at: datetime) -> bytes | None:
        """Return the latest state at or before this time, or None. Raises SnapshotDamaged or LogUnreachable."""
