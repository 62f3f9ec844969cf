"""Opens event streams for callers. Each stream ends when the caller's key expires or is revoked."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field

from aiohttp import web

from drover.web.auth import Authenticator, Principal
from drover.web.limits import Limits
from drover.web.sse import Chunk, EventStream, Streams, StreamSession


@dataclass(frozen=True, kw_only=True)
class CallerSessions:
    auth: Authenticator
    heartbeat_s: float
    send_s: float
    clock: Callable[[], float]
    limits: Limits = field(default_factory=Limits)

    def check_room(self, streams: Streams, caller: Principal) -> None:
        """Raise 503 if the process can open no more streams, 429 if the caller has too many."""
        streams.check_room()
        self.limits.check_room(caller)

    def open(
        self, streams: Streams, chunks: AsyncGenerator[Chunk, None], request: web.Request, caller: Principal
    ) -> EventStream:
        session = StreamSession(
            chunks,
            request.transport,
            lasts_s=caller.expires_at - self.clock(),
            holds=lambda: self.auth.holds(caller),
            knows=lambda: self.auth.is_current,
            heartbeat_s=self.heartbeat_s,
            send_s=self.send_s,
        )
        return EventStream(streams, session, self.limits.holding(caller))
