"""Reads from the log which sessions of people have ended. Their access tokens are refused even before they expire.

While the log cannot be read, a person who was signed out can go on until their token expires, at most 15 minutes.
Nothing else depends on this list.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Final

import msgspec

from drover.eventlog.codec import lines
from drover.eventlog.follow import Follower, last_before
from drover.eventlog.log import EventLog, StoredCommit
from drover.service.access_tokens import LIFETIME_S_MAX

KEPT_S: Final = LIFETIME_S_MAX + 60.0
"""How long an ended session is remembered. By then every access token of the session has expired."""
REMEMBERED_MAX: Final = 200_000


class _Line(msgspec.Struct):
    """The fields of a `SessionEnded` event that are needed here. Events of other types are skipped."""

    type: str
    session_id: str = ""
    reason: str = ""


_decode: Final = msgspec.json.Decoder(_Line).decode


class EndedSessions:
    """The sessions that have ended. It follows the log of the context `identity`, starting at the moment one token
    lifetime ago."""

    def __init__(
        self,
        event_log: EventLog,
        *,
        told: Callable[[str], None] = lambda reason: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`told`: a function that is called for each session that ends from now on, with the reason why it ended."""
        self._log = event_log
        self._told = told
        self._clock = clock
        self._ended: OrderedDict[str, float] = OrderedDict()  # in the order in which they ended
        self._follower = Follower(event_log, self._note, name="the list of ended sessions", begin=self._begin)
        self.wait_failed = self._follower.wait_failed
        self.why_not_ready = self._follower.why_not_ready

    def __contains__(self, session_id: object) -> bool:
        return session_id in self._ended

    def __len__(self) -> int:
        return len(self._ended)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self._follower.running():
            yield

    async def _begin(self, last: StoredCommit | None) -> int:
        if last is None:
            return 0
        return await last_before(self._log, datetime.fromtimestamp(self._clock() - KEPT_S, UTC), last.seq)

    def _note(self, commit: StoredCommit) -> None:
        now, at = self._clock(), commit.stored_at.timestamp()
        for raw in lines(commit.payload):
            if b"SessionEnded" not in raw:
                continue
            line = _decode(raw)
            if line.type == "SessionEnded" and at > now - KEPT_S:
                self._ended[line.session_id] = at
                if self._follower.is_caught_up:  # do not report ends from before the start
                    self._told(line.reason)
        self._forget(now)

    def _forget(self, now: float) -> None:
        while self._ended:
            session_id, at = next(iter(self._ended.items()))
            if at > now - KEPT_S and len(self._ended) <= REMEMBERED_MAX:
                return
            del self._ended[session_id]
