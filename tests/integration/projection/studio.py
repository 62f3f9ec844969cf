"""A render queue whose history is written straight into a log, projected, and asked about as a client would."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg

from drover.domain.event import Event
from drover.domain.render.events import QueueEvent, RenderCompleted, RenderFailed
from drover.eventlog.codec import Codec
from drover.eventlog.log import Commit, Partition
from drover.eventlog.memory import MemoryLog
from drover.projection.checkpoint import Checkpoint
from drover.projection.memory import MemoryTables
from drover.projection.runtime import Limits, Runner
from drover.projector.render import RENDER_PROJECTION
from drover.readmodel.form import placed
from drover.testing.waiting import eventually
from tests.integration.projection.conftest import plain
from tests.unit.domain.render.world import PATH, SHA, Hand, requested

CODEC = Codec(QueueEvent)


class Studio:
    """Times are in seconds before now: views compare with the clock of the database."""

    def __init__(self, dsn: str, connection: asyncpg.Connection) -> None:
        self.log = MemoryLog(Partition("render"))
        self.head = Checkpoint()
        self.now = datetime.now(UTC)
        self._dsn = dsn
        self.connection = connection
        self._renders = 0

    def ago(self, seconds: float) -> datetime:
        return self.now - timedelta(seconds=seconds)

    async def commit(self, *events: Event, ago: float = 0, stamped: bool = False) -> None:
        """`stamped`: they say themselves when they happened."""
        for n, event in enumerate(events, start=self.head.n + 1):
            event.n, event.by, event.cause = n, event.by or "service_role", f"command-{n}"
            if not stamped:
                event.at = self.ago(ago)
        seq = await self.log.append(Commit(str(self.head.seq), 1, CODEC.encode(events)), self.head.seq)
        self.head = Checkpoint(seq, self.head.n + len(events), str(self.head.seq))

    async def render(self, ago: float = 0) -> Hand:
        """A new render, as the hand of the worker that may take it."""
        self._renders += 1
        await self.commit(requested(self._renders), ago=ago)
        return Hand(self._renders, 1, f"worker-{self._renders}")

    async def completed(self, ago: float, *, took: float = 60.0) -> None:
        """One that ended so long ago."""
        hand = await self.render(ago + took + 2)
        await self.commit(hand.claimed(), ago=ago + took + 1)
        await self.commit(hand.submitted(), ago=ago + took)
        await self.commit(RenderCompleted(*hand.of, PATH, 200_000, SHA, took, "h264", 1920, 1080), ago=ago)

    async def failed(self, ago: float) -> None:
        hand = await self.render(ago + 2)
        await self.commit(hand.claimed(), ago=ago + 1)
        await self.commit(RenderFailed(hand.render_id, 1, "RENDER_ERROR", "oh", None), ago=ago)

    async def project(self, limits: Limits | None = None) -> Studio:
        async with Runner(RENDER_PROJECTION, self.log, self._dsn, limits=limits) as runner:
            await eventually(lambda: runner.stopped or (runner.active and runner.checkpoint == self.head))
            assert runner.stopped is None
        return self

    async def rows(self, view: str, where: str = "TRUE") -> list[dict[str, Any]]:
        rows = await self.connection.fetch(placed(f"SELECT * FROM rm_render.{view} WHERE {where}"))
        return [dict(row) for row in rows]

    async def row(self, view: str, where: str = "TRUE") -> dict[str, Any]:
        (row,) = await self.rows(view, where)
        return row

    async def stored(self) -> dict[str, set[tuple[Any, ...]]]:
        """All tables, as they are."""
        found = {}
        for table in RENDER_PROJECTION.tables:
            columns = ", ".join(f'"{column}"' for column in table.columns)
            records = await self.connection.fetch(placed(f"SELECT {columns} FROM rm_render.{table.name}"))
            found[table.name] = {tuple(map(plain, record)) for record in records}
            assert len(found[table.name]) == len(records)
        return found

    async def expected(self) -> dict[str, set[tuple[Any, ...]]]:
        """All tables, as the log says they should be."""
        tables = MemoryTables(RENDER_PROJECTION)
        for seq in range(1, self.head.seq + 1):
            commit = await self.log.get(seq)
            assert commit is not None
            tables.fold(commit)
        return {t.name: {tuple(map(plain, row)) for row in tables.rows(t)} for t in RENDER_PROJECTION.tables}
