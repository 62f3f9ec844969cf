"""Which sessions of people have ended, as the log tells it: their access tokens hold no longer, though they say so.

Without it whoever was signed out would go on for the rest of a quarter of an hour. Where the log cannot be read, that
is what happens; nothing else depends on it.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Final

import msgspec

from drover.eventlog.codec import lines
from drover.eventlog.log import EventLog, LogUnreachable, StoredCommit
from drover.service.access_tokens import LIFETIME_S_MAX
from drover.service.tasks import end

KEPT_S: Final = LIFETIME_S_MAX + 60.0
"""After that every access token of the session has run out by itself."""
REMEMBERED_MAX: Final = 200_000
RETRY_PAUSE_S: Final = 0.5


class _Line(msgspec.Struct):
    """Of an event, what is needed here. Types that this program does not know are passed over."""

    type: str
    session_id: str = ""
    reason: str = ""


_decode: Final = msgspec.json.Decoder(_Line).decode


class EndedSessions:
    """Follows identity's log, from as far back as an access token can live."""

    def __init__(
        self,
        event_log: EventLog,
        *,
        told: Callable[[str], None] = lambda reason: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`told`: of each end that happens from now on, why."""
        self._log = event_log
        self._told = told
        self._clock = clock
        self._ended: OrderedDict[str, float] = OrderedDict()  # in the order of their ends
        self._aim: int | None = None
        self._seq = 0
        self._task: asyncio.Task[None] | None = None

    def __contains__(self, session_id: object) -> bool:
        return session_id in self._ended

    def __len__(self) -> int:
        return len(self._ended)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        self._task = asyncio.create_task(self._run(), name="ended-sessions")
        try:
            yield
        finally:
            await end(self._task)

    async def wait_failed(self) -> None:
        assert self._task is not None
        await asyncio.shield(self._task)

    def why_not_ready(self) -> str | None:
        if self._aim is None:
            return "The log of identity has not answered yet."
        return None if self._seq >= self._aim else f"Ended sessions are known up to {self._seq} of {self._aim}."

    async def _run(self) -> None:
        last, begin = await self._begin()
        self._seq = begin
        self._aim = last
        async with self._log.read(begin) as reader:
            while True:
                for commit in await reader.next():
                    self._note(commit)
                    await asyncio.sleep(0)  # the loop is shared with others who must be answered

    async def _begin(self) -> tuple[int, int]:
        while True:
            try:
                last = await self._log.last()
                if last is None:
                    return 0, 0
                return last.seq, await self._before(self._clock() - KEPT_S, last.seq)
            except LogUnreachable:
                await asyncio.sleep(RETRY_PAUSE_S)

    async def _before(self, moment_s: float, last: int) -> int:
        """The last sequence before that moment, by halves. One that is missing counts as older."""
        low, high = 0, last
        while low < high:
            middle = (low + high + 1) // 2
            commit = await self._log.get(middle)
            if commit is None or _seconds(commit.stored_at) < moment_s:
                low = middle
            else:
                high = middle - 1
        return low

    def _note(self, commit: StoredCommit) -> None:
        now, at = self._clock(), _seconds(commit.stored_at)
        for raw in lines(commit.payload):
            if b"SessionEnded" not in raw:
                continue
            line = _decode(raw)
            if line.type == "SessionEnded" and at > now - KEPT_S:
                self._ended[line.session_id] = at
                if self._aim is not None and commit.seq > self._aim:
                    self._told(line.reason)
        self._forget(now)
        self._seq = commit.seq

    def _forget(self, now: float) -> None:
        while self._ended:
            session_id, at = next(iter(self._ended.items()))
            if at > now - KEPT_S and len(self._ended) <= REMEMBERED_MAX:
                return
            del self._ended[session_id]


def _seconds(moment: datetime) -> float:
    return moment.timestamp()
