"""Records the progress of a rebuild for the dashboard. The rebuild continues if the record cannot be written."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any, Final, Literal

import msgspec
import structlog

from drover.domain.contexts import context_named
from drover.postgres.errors import POSTGRES_AWAY
from drover.postgres.pool import Connection, connect
from drover.projection.difference import Difference, TableReport
from drover.service.tasks import end

WRITE_EVERY_S: Final = 1.0
REBUILDS_KEPT: Final = 100
EXAMPLES_KEPT: Final = 20
"""How many differences of a table are recorded. `TableReport.different` counts all."""
HIDDEN: Final = "•••"
_UNTOLD: Final = frozenset({"data", "gfx_data"})
"""Columns whose values are never shown, in any table: events as stored, and sealed data."""

Stage = Literal["folding", "comparing", "swapping", "swapped", "dropped", "failed"]
ENDED: Final[tuple[Stage, ...]] = ("swapped", "dropped", "failed")

_OPEN: Final = "INSERT INTO drover.rebuilds (projection, by, dry_run) VALUES ($1, $2, $3) RETURNING id"
_FORGET: Final = "DELETE FROM drover.rebuilds WHERE id <= $1"
_WRITE: Final = """
UPDATE drover.rebuilds
SET stage = $2, folded = $3, events = $4, positions = $5, tables = $6, error = $7, updated_at = now(),
    ended_at = CASE WHEN $8 THEN now() END
WHERE id = $1
"""

log = structlog.stdlib.get_logger(__name__)


class RebuildProgress:
    """The record of one rebuild for the dashboard. If the record cannot be written, all methods do nothing."""

    def __init__(self, connection: Connection | None, id_: int | None, projection: str = "") -> None:
        self._projection = projection
        self._connection = connection
        self._id = id_
        self._stage: Stage = "folding"
        self._folded = 0
        self._events: int | None = None
        self._positions: Mapping[str, int] | None = None
        self._tables: list[TableReport] | None = None
        self._error: str | None = None
        self._turn = asyncio.Lock()

    def folded(self, done: int, of: int) -> None:
        """Note how many events are applied. It is called often; the number is written once a second."""
        self._folded, self._events = done, of

    async def comparing(self) -> None:
        self._stage = "comparing"
        await self.write()

    async def compared(self, tables: Sequence[TableReport]) -> None:
        self._tables = [
            msgspec.structs.replace(report, examples=[self._told(one) for one in report.examples[:EXAMPLES_KEPT]])
            for report in tables
        ]
        await self.write()

    def _told(self, difference: Difference) -> Difference:
        """Hide private values in a difference, and keep the names of the columns: all users of the dashboard see it."""
        known = context_named(self._projection)
        private, untold = known.is_private, _UNTOLD | known.hidden_fields
        columns = {
            name: (HIDDEN, HIDDEN) if private or name in untold else values
            for name, values in difference.columns.items()
        }
        return msgspec.structs.replace(difference, columns=columns)

    async def swapping(self) -> None:
        self._stage = "swapping"
        await self.write()

    async def ended(self, positions: Mapping[str, int], *, is_swapped: bool) -> None:
        self._stage, self._positions = ("swapped" if is_swapped else "dropped"), positions
        await self.write()

    async def failed(self, error: BaseException) -> None:
        # Only the first line: PostgreSQL puts values of the row into the others.
        self._stage, self._error = "failed", str(error).partition("\n")[0] or type(error).__name__
        await self.write()

    async def write(self) -> None:
        if self._connection is None:
            return
        async with self._turn:
            positions, tables = _json(self._positions), _json(self._tables)
            values = (self._stage, self._folded, self._events, positions, tables, self._error, self._stage in ENDED)
            try:
                await self._connection.execute(_WRITE, self._id, *values)
            except POSTGRES_AWAY as error:
                log.warning("rebuild_not_recorded", error=repr(error))

    async def keep_writing(self) -> None:
        while True:
            await asyncio.sleep(WRITE_EVERY_S)
            await self.write()


@asynccontextmanager
async def on_record(dsn: str, projection: str, *, dry_run: bool) -> AsyncIterator[RebuildProgress]:
    """Open the record of a rebuild while the block runs. An exception in the block is recorded as the failure of the
    rebuild."""
    async with AsyncExitStack() as stack:
        book = await _open(stack, dsn, projection, dry_run=dry_run)
        writing = asyncio.create_task(book.keep_writing(), name="rebuild-book")
        try:
            yield book
        except BaseException as error:
            await end(writing)
            with suppress(asyncio.CancelledError):
                await book.failed(error)
            raise
        finally:
            await end(writing)


async def _open(stack: AsyncExitStack, dsn: str, projection: str, *, dry_run: bool) -> RebuildProgress:
    try:
        connection = await stack.enter_async_context(connect(dsn, f"drover-rebuild-book {projection}"))
        id_ = await connection.fetchval(_OPEN, projection, socket.gethostname(), dry_run)
        await connection.execute(_FORGET, id_ - REBUILDS_KEPT)
    except POSTGRES_AWAY as error:
        log.warning("rebuild_not_recorded", error=repr(error))
        return RebuildProgress(None, None)
    return RebuildProgress(connection, id_, projection)


def _json(value: Any) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()
