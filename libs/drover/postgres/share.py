"""A share of a pool: some callers together use only a few of its connections, each for a short time."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from drover.domain.errors import DroverError
from drover.postgres.pool import ACQUIRE_TIMEOUT_S, Pool

WAITING_MAX: Final = 100
"""How many callers may wait for a connection of the share; further ones are refused at once."""


class ShareBusy(DroverError):
    """All connections of this share are in use."""

    def __init__(self) -> None:
        super().__init__("All connections for these callers are in use")


class StatementTooSlow(DroverError):
    """A statement took longer than callers of this share may take."""

    def __init__(self, statement_s: float) -> None:
        super().__init__(f"The statement took longer than {statement_s:g} s")
        self.statement_s = statement_s


class PoolShare:
    """The part of a pool that some callers may use. The other connections stay free for everybody else."""

    def __init__(
        self,
        pool: Pool,
        *,
        connections: int,
        statement_s: float,
        wait_s: float = ACQUIRE_TIMEOUT_S,
        waiting_max: int = WAITING_MAX,
    ) -> None:
        assert connections >= 1
        self._pool = pool
        self._turns = asyncio.Semaphore(connections)
        self._statement_s = statement_s
        self._wait_s = wait_s
        self._waiting_max = waiting_max
        self._waiting = 0

    async def fetchrow(self, query: str, *args: Any, timeout: float | None = None) -> Any:  # noqa: ASYNC109
        """Run a statement and return its first row. Raises ShareBusy or StatementTooSlow. A `timeout` longer than the
        share's own limit is shortened to it."""
        await self._turn()
        try:
            within_s = self._statement_s if timeout is None else min(timeout, self._statement_s)
            return await self._pool.fetchrow(query, *args, timeout=within_s)
        except TimeoutError as error:
            raise StatementTooSlow(self._statement_s) from error
        finally:
            self._turns.release()

    async def _turn(self) -> None:
        if self._waiting >= self._waiting_max:
            raise ShareBusy
        self._waiting += 1
        try:
            async with asyncio.timeout(self._wait_s):
                await self._turns.acquire()
        except TimeoutError as error:
            raise ShareBusy from error
        finally:
            self._waiting -= 1
