"""Stores the current run of an agent, so that it survives crashes and network failures."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

import msgspec

from drover.agent.clock import Clock
from drover.agent.protocol import Offer, Report
from drover.service.private_file import write_private


class Kept(msgspec.Struct, frozen=True):
    """A stored run."""

    offer: Offer
    begun: bool
    """Whether the platform has acknowledged the start."""
    started_at: float
    worked_s: float
    """For how many seconds the work had gone on, without pauses."""
    progress_pct: int
    final: Report | None = None
    """The final report of a run that has ended, until the platform has accepted it."""
    checkpoint: dict[str, Any] | None = None
    """What the work itself stored, to continue from there."""


class Store(Protocol):
    """The durable memory of one agent. It holds one run at a time."""

    def keep(self, kept: Kept) -> None:
        """Store a run. After this returns, `recall` returns the same run, whatever happens to the agent."""
        ...

    def recall(self) -> Kept | None: ...

    def forget(self) -> None: ...


class MemoryStore:
    """A store in memory, for thousands of phones in one process. It survives crashes of agents, but not of the
    process."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: Kept | None = None

    def keep(self, kept: Kept) -> None:
        self._kept = kept

    def recall(self) -> Kept | None:
        return self._kept

    def forget(self) -> None:
        self._kept = None


class Filed(msgspec.Struct, frozen=True):
    """A stored run, as it is written to a file. Its times are dates, because the next process has another clock."""

    kept: Kept
    started_at: datetime
    completed_at: datetime | None

    @classmethod
    def of(cls, kept: Kept, clock: Clock) -> Filed:
        ended_at = None if kept.final is None else kept.final.completed_at
        return cls(kept, clock.wall(kept.started_at), None if ended_at is None else clock.wall(ended_at))

    def restored(self, clock: Clock) -> Kept:
        final = self.kept.final
        if final is not None and self.completed_at is not None:
            final = msgspec.structs.replace(final, completed_at=clock.at(self.completed_at))
        return msgspec.structs.replace(self.kept, started_at=clock.at(self.started_at), final=final)


class FileStore:
    """A store in one small file, replaced atomically and synced. Only for a few agents, because it blocks the event
    loop."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock

    def keep(self, kept: Kept) -> None:
        write_private(self._path, msgspec.json.encode(Filed.of(kept, self._clock)))

    def recall(self) -> Kept | None:
        """Return the stored run. None if there is none or the file is invalid: the agent then asks for work like a new
        one."""
        try:
            filed = msgspec.json.decode(self._path.read_bytes(), type=Filed)
        except (OSError, msgspec.DecodeError):
            return None
        return filed.restored(self._clock)

    def forget(self) -> None:
        self._path.unlink(missing_ok=True)
