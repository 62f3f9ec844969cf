"""Queries the read models, with time-outs. Answers 503 while Postgres is unavailable, and no rows before a read model
exists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import asyncpg
import structlog

from drover.postgres.errors import POSTGRES_AWAY
from drover.readmodel.form import placed, schema_of
from drover.web.errors import ApiError, invalid, unavailable

READ_S: Final = 5.0

_SCHEMAS: Final = "SELECT nspname AS schema FROM pg_namespace WHERE nspname = ANY ($1::text[])"
_NOT_NOW: Final = (*POSTGRES_AWAY, asyncpg.InternalClientError)

log = structlog.stdlib.get_logger(__name__)


class Pool(Protocol):
    """The methods of an asyncpg pool that `ReadModels` calls."""

    async def fetch(self, query: str, *args: Any, timeout: float | None = None) -> list[Any]: ...  # noqa: ASYNC109


class ReadModels:
    """Queries the read models of all contexts. A missing schema gives no rows; an incomplete schema raises an error."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._known: set[str] = set()
        """The contexts whose read model existed at the last query."""

    async def fetch(self, context: str, sql: str, *values: Any) -> list[Any]:
        try:
            return await self._fetch(sql, values)
        except asyncpg.UndefinedTableError as error:
            self._known.discard(context)
            if await self.existing([context]):
                raise _not_now(error) from error
            return []

    async def fetch_united(
        self, contexts: Sequence[str], statement: Callable[[Sequence[str]], tuple[str, Sequence[Any]]]
    ) -> list[Any]:
        """Fetch rows in one statement, from those of the contexts that have a read model."""
        for _ in range(2):
            there = await self.existing(contexts)
            if not there:
                return []
            sql, values = statement(there)
            try:
                return await self._fetch(sql, values)
            except asyncpg.UndefinedTableError as error:  # one of them is being rebuilt
                self._known.clear()
                failure = error
        raise _not_now(failure) from failure

    async def ask(self, sql: str, *values: Any) -> list[Any]:
        """Query the platform's own tables, which belong to no context."""
        try:
            return await self._fetch(sql, values)
        except asyncpg.UndefinedTableError as error:
            raise _not_now(error) from error

    async def fetch_one(self, context: str, sql: str, *values: Any) -> Any | None:
        rows = await self.fetch(context, sql, *values)
        return rows[0] if rows else None

    async def existing(self, contexts: Sequence[str]) -> tuple[str, ...]:
        """Return which of the contexts have a read model, in the given order."""
        unknown = {schema_of(context): context for context in contexts if context not in self._known}
        if unknown:
            self._known |= {unknown[row["schema"]] for row in await self._fetch(_SCHEMAS, ([*unknown],))}
        return tuple(context for context in contexts if context in self._known)

    async def _fetch(self, sql: str, values: Sequence[Any]) -> list[Any]:
        try:
            return await self._pool.fetch(placed(sql), *values, timeout=READ_S)
        except asyncpg.UndefinedTableError:
            raise
        except asyncpg.DataError as error:
            raise invalid(str(error)) from error
        except _NOT_NOW as error:
            raise _not_now(error) from error


def _not_now(error: BaseException) -> ApiError:
    log.warning("read_failed", error=repr(error))
    return unavailable("The read model is unavailable at the moment")
