"""Knows which read models this process may read: those whose tables have caught up with the log.

A projector may still be building the tables of this release (its form of the read model). Until it has caught up, they
have only a part of the rows, so nothing is read from them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, Final, Protocol

import msgspec
import structlog

from drover.domain.contexts import CONTEXTS
from drover.domain.errors import DroverError
from drover.eventlog.log import Partition
from drover.postgres.errors import POSTGRES_AWAY
from drover.projection.read_model import UNUSED_S, note_use
from drover.readmodel.form import schema_of
from drover.service.tasks import in_background

LOOK_S: Final = 1.0
"""How often to look, in seconds, while a read model cannot be read."""
LOOK_AT_MOST_S: Final = 0.1
"""A request that needs such a read model looks again, too, unless the last look was less than this many seconds ago."""
NOTE_S: Final = 60.0
"""How often, in seconds, to note in Postgres that this process uses its forms, so that nobody drops them, and to check
that they are still there."""
QUERY_S: Final = 5.0
START_S: Final = 10.0
"""How many seconds a process that serves agents stays unready at its start because of read models. Most are complete
by then."""

_STANDS: Final = """
SELECT c.schema, c.partition, c.seq, m.created_at,
       c.caught_up_at IS NOT NULL AS is_caught_up, m.used_at > now() - make_interval(secs => $2) AS is_in_use
FROM drover.checkpoints c JOIN drover.read_models m USING (schema)
WHERE c.schema = ANY ($1::text[])
"""

_BEING_BUILT: Final = """
SELECT DISTINCT schema FROM drover.checkpoints WHERE schema = ANY ($1::text[]) AND caught_up_at IS NULL
"""

End = Callable[[str], Awaitable[int]]
"""Returns the sequence of the last commit of a context."""

log = structlog.get_logger("drover.projection")


class Pool(Protocol):
    """The methods of an asyncpg pool that are called here."""

    async def fetch(self, query: str, *args: Any, timeout: float | None = None) -> list[Any]: ...  # noqa: ASYNC109

    async def execute(self, query: str, *args: Any, timeout: float | None = None) -> str: ...  # noqa: ASYNC109


class Rebuilding(msgspec.Struct, frozen=True):
    """How far a read model is that cannot be read yet."""

    context: str
    position: int
    """The sequence of the last commit whose rows it has. In a context with several partitions, that of the slowest
    one."""
    end: int
    """The last commit of the log."""


class ReadModelRebuilding(DroverError):
    """A read model is being built, so it cannot be read."""

    def __init__(self, rebuilding: Rebuilding) -> None:
        self.rebuilding = rebuilding
        super().__init__(
            f"The read model of {rebuilding.context} is being built: {rebuilding.position} of {rebuilding.end} commits"
        )


async def contexts_being_built(pool: Pool) -> frozenset[str]:
    """Return the contexts whose read model has not caught up with the log, so that its tables lack rows."""
    schemas = {schema_of(context): context for context in CONTEXTS}
    rows = await pool.fetch(_BEING_BUILT, [*schemas], timeout=QUERY_S)
    return frozenset(schemas[row["schema"]] for row in rows)


async def end_unknown(context: str) -> int:
    return 0


class ReadableForms:
    """Knows which of the read models can be read, and notes in Postgres that this process uses them."""

    def __init__(self, pool: Pool, partitions: Mapping[str, Sequence[Partition]], end: End = end_unknown) -> None:
        """`partitions`: the partitions of the contexts that this process reads."""
        self._pool = pool
        self._end = end
        self._partitions = {
            context: frozenset(partition.name for partition in several) for context, several in partitions.items()
        }
        self._schemas = {schema_of(context): context for context in partitions}
        self._waiting: dict[str, Rebuilding | None] = dict.fromkeys(partitions)
        """The contexts whose read models could not be read at the last look, each with how far its read model is. None:
        PostgreSQL has not answered yet."""
        self._has_looked = False
        self._served: dict[str, datetime] = {}
        """By context, the creation time of the tables that this process has read. It goes on reading them after an
        outage, when they are behind: answers say so (`Drover-Behind`). With another creation time they are new tables,
        which must catch up first."""
        self._turn = asyncio.Lock()
        self._looked_at = float("-inf")
        self._patient_until = time.monotonic() + START_S

    def waiting(self) -> list[str]:
        """Return the contexts whose read models cannot be read yet."""
        return [*self._waiting]

    def why_not_ready(self) -> str | None:
        """Return a sentence that names the read models that are being built; None if none is. While PostgreSQL is away
        this is unknown, which is no reason to be unready: the farm works without it."""
        if not self._has_looked:
            return "It is not known yet whether the read models can be read."
        building = ", ".join(context for context, how_far in self._waiting.items() if how_far is not None)
        return f"Read models are being built: {building}." if building else None

    def why_not_started(self) -> str | None:
        """Return the same as `why_not_ready` for the first START_S seconds, then None. For a process that must serve
        agents even if building takes hours."""
        return self.why_not_ready() if time.monotonic() < self._patient_until else None

    async def demand(self, contexts: Iterable[str]) -> None:
        """Raise ReadModelRebuilding if one of the read models cannot be read yet. If PostgreSQL does not answer, do
        nothing: the read itself fails."""
        wanted = self._waiting.keys() & contexts
        if not wanted:
            return
        async with self._turn:  # those who wait here share one look
            if time.monotonic() - self._looked_at > LOOK_AT_MOST_S:
                await self._look_safely()
        for context in wanted:
            if (rebuilding := self._waiting.get(context)) is not None:
                raise ReadModelRebuilding(rebuilding)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep looking which read models can be read, in the background, for the length of the `with` block."""
        async with in_background(self._keep_looking(), name="readable forms"):
            yield

    async def _keep_looking(self) -> None:
        while True:
            async with self._turn:
                await self._look_safely()
            await asyncio.sleep(LOOK_S if self._waiting else NOTE_S)

    async def _look_safely(self) -> None:
        self._looked_at = time.monotonic()
        try:
            await self.look()
        except POSTGRES_AWAY as error:
            log.warning("forms_unknown", why=repr(error))
        self._has_looked = True

    async def look(self) -> None:
        """Find out which read models can be read, and note that this process uses those."""
        stands: dict[str, dict[str, Any]] = {context: {} for context in self._partitions}
        for row in await self._pool.fetch(_STANDS, [*self._schemas], UNUSED_S, timeout=QUERY_S):
            stands[self._schemas[row["schema"]]][row["partition"]] = row
        waiting: dict[str, Rebuilding | None] = {}
        for context, names in self._partitions.items():
            there = stands[context]
            created_at = next((row["created_at"] for row in there.values()), None)
            is_served = created_at is not None and self._served.get(context) == created_at
            if all(name in there and _is_readable(there[name], is_served) for name in names):
                self._served[context] = there[next(iter(names))]["created_at"]
            else:
                position = min((there[name]["seq"] if name in there else 0 for name in names), default=0)
                waiting[context] = Rebuilding(context, position, await self._end(context))
        self._tell(waiting)
        self._waiting = waiting
        if used := [schema for schema, context in self._schemas.items() if context not in waiting]:
            await note_use(self._pool, used)

    def _tell(self, waiting: Mapping[str, Rebuilding | None]) -> None:
        for context in self._partitions:
            if context in waiting and self._waiting.get(context) is None:
                log.info("read_model_not_readable_yet", context=context)
            elif context not in waiting and context in self._waiting:
                log.info("read_model_readable", context=context)


def _is_readable(row: Mapping[str, Any], is_served: bool) -> bool:
    """Whether clients may read the tables of a partition: they have caught up with the log, and a program has used them
    lately. Otherwise they may lack the newest rows; only a process that reads them already (`is_served`) goes on."""
    return row["is_caught_up"] and (is_served or row["is_in_use"])
