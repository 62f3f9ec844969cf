"""Opens event streams for callers. Each stream ends when the caller's key expires or is revoked."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

from aiohttp import web

from drover.web.auth import Authenticator, Principal
from drover.web.sse import Chunk, StreamSession


@dataclass(frozen=True, kw_only=True)
class CallerSessions:
    auth: Authenticator
    heartbeat_s: float
    send_s: float
    clock: Callable[[], float]

    def open(self, chunks: AsyncGenerator[Chunk, None], request: web.Request, caller: Principal) -> StreamSession:
        return StreamSession(
            chunks,
            request.transport,
            lasts_s=caller.expires_at - self.clock(),
            holds=lambda: self.auth.holds(caller),
            heartbeat_s=self.heartbeat_s,
            send_s=self.send_s,
        )
