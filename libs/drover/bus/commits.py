"""Announcements of commits: writers send them, and all processes that serve reads receive them.

A writer announces a commit before it answers, on the same connection. So when a client has the answer, the NATS server
has already queued the announcement for every process.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Final, Protocol

import structlog
from nats.aio.client import Client
from nats.errors import Error as NatsError

from drover.bus.live import COMMITTED, announcing, following_progress
from drover.domain.partitions import MAIN

SYNC_S: Final = 1.0
"""How many seconds a read tries to learn what was committed before it. After that, its answer may lack writes."""
PONG_S: Final = 10
"""How many seconds to wait for a pong. It is longer than nats-py keeps the connection to a silent server, because
nats-py fails on a pong that nobody awaits any more."""
GIVEN_UP_S: Final = 1.0
"""For how many seconds no read tries again, after one could not learn what was committed."""

log = structlog.get_logger("drover.bus")

End = Callable[[str], Awaitable[int]]
"""Returns the sequence of the last commit of a context."""


class Observer(Protocol):
    """The part of `drover.projection.newest.Newest` that is needed here."""

    def observe(self, place: str, seq: int) -> None: ...

    def forget(self, context: str) -> None: ...


def announcing_commits(client: Client, context: str, partition: str) -> Callable[[int], None]:
    """Make the function that a writer calls with the sequence of each commit, before it answers the callers."""
    # The task that sends an announcement starts before the tasks that send the answers. Without a connection the
    # announcement is lost, but then no answer is sent either.
    return partial(announcing(client, COMMITTED), context, partition)


class CommitFeed:
    """Passes announced commits on to an observer, and notices when announcements may have been missed."""

    def __init__(self, client: Client, end_of: End) -> None:
        self._client = client
        self._end_of = end_of
        self._observer: Observer | None = None
        self._connection = -1
        """The number of reconnects when `sync` last looked. If it has grown since, announcements may have been lost."""
        self._learned: set[str] = set()
        """Contexts whose last position was read since the last reconnect. No announcement about them was missed
        since."""
        self._learning: dict[str, asyncio.Task[bool]] = {}
        self._ping: asyncio.Task[bool] | None = None
        self._given_up_at = float("-inf")

    @asynccontextmanager
    async def running(self, observer: Observer) -> AsyncIterator[None]:
        def observe(context: str, partition: str, seq: int) -> None:
            observer.observe(context if partition == MAIN else f"{context}.{partition}", seq)

        async with following_progress(self._client, observe, topic=COMMITTED):
            self._observer = observer
            try:
                yield
            finally:
                self._observer = None

    async def sync(self, contexts: tuple[str, ...]) -> bool:
        """Wait until the observer knows every commit of these contexts that was answered before this call.

        Returns False if NATS does not answer in time. Then calls within the next second return False at once.
        """
        now = asyncio.get_running_loop().time
        if self._observer is None or not self._client.is_connected or now() < self._given_up_at + GIVEN_UP_S:
            return False
        if self._connection != self._client.stats["reconnects"]:
            self._connection = self._client.stats["reconnects"]
            self._learned.clear()
            self._learning.clear()
        waits = [self._learn(context) for context in contexts if context not in self._learned]
        try:
            async with asyncio.timeout(SYNC_S):
                done = all([await wait for wait in (*waits, self._pinged())])
        except TimeoutError:
            done = False
        if not done:
            self._given_up_at = now()
            log.info("commits_not_known", contexts=contexts)
        return done

    def _pinged(self) -> asyncio.Future[bool]:
        """Send a ping, and return a future that is done when its pong arrives. By then every announcement that the
        server had queued for this process has arrived, too. All reads of one iteration of the event loop share a
        ping."""

        async def ping() -> bool:
            self._ping = None
            try:
                await self._client.flush(timeout=PONG_S)
            except (NatsError, OSError):
                return False
            return True

        if self._ping is None:
            self._ping = asyncio.get_running_loop().create_task(ping())
        return asyncio.shield(self._ping)

    def _learn(self, context: str) -> asyncio.Future[bool]:
        """Read the position of the context's last commit, once after each reconnect. Later commits are announced."""

        async def learn() -> bool:
            connection, observer = self._connection, self._observer
            assert observer is not None
            observer.forget(context)
            try:
                observer.observe(context, await self._end_of(context))
            except (NatsError, OSError) as error:
                log.info("log_end_not_read", context=context, error=repr(error))
                return False
            finally:
                if connection == self._connection:
                    self._learning.pop(context, None)
            if connection == self._connection:
                self._learned.add(context)
            return True

        if context not in self._learning:
            self._learning[context] = asyncio.get_running_loop().create_task(learn())
        return asyncio.shield(self._learning[context])
