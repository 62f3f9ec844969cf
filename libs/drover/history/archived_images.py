"""The interface to states of the past in the archive, one of each day. `drover.archive.snapshots` implements it. An
image is an encoded state."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from drover.eventlog.log import Partition


class ArchivedImages(Protocol):
    async def put(self, partition: Partition, version: str, seq: int, at: datetime, image: bytes) -> None:
        """Store the state after the commit `seq`, whose last event is of the time `at`. Storing the same one again does
        no harm."""

    async def nearest_before(self, partition: Partition, version: str, at: datetime) -> bytes | None:
        """Return the latest state at or before this time, or None. Raises SnapshotDamaged or LogUnreachable."""
