"""Watches the disk of the NATS server that `drover up` runs.

Before the disk is full, it stops the logs from growing, so that commands get a definite LOG_FULL while leases and
snapshots, which share the disk, still work. If the disk becomes full nevertheless, nats-server writes nothing until it
is restarted: so it is restarted, once there is room again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic
from typing import Final, Protocol

import structlog
from nats.errors import Error as NatsError

from drover.bus.connection import NatsUnreachable, connected
from drover.domain.backoff import Backoff, Retries
from drover.domain.contexts import CONTEXTS
from drover.eventlog.quotas import QuotaRefused, limit_log, stop_growth
from drover.service.disk_room import Room
from drover.service.tasks import in_background

LOOK_EVERY_S: Final = 1.0
SPARE_BYTES: Final[Mapping[str, int]] = {"identity": 8 * 1024 * 1024}
"""How much a log may still grow when the others have stopped: people must be able to sign in to make room."""
EMPTY_BYTES: Final = 1024 * 1024
"""With less than this free, a write of NATS has probably failed; limits cannot be changed any more."""
NO_SPACE: Final = "no space left on device"
RESTART: Final = Backoff(first_s=15.0, max_s=600.0)
"""The least time between two restarts of NATS, if the disk becomes full again and again."""
CALM_S: Final = 3600.0
"""After this long without a restart, the pauses are short again."""

log = structlog.get_logger("drover.up")


class Server(Protocol):
    """The part of the embedded NATS server that is needed here."""

    @property
    def pid(self) -> int:
        """The id of its process, which changes with each start; 0 while it is down."""

    async def kill(self) -> None:
        """End the server; its supervision starts it again."""

    def said(self, text: str) -> bool:
        """Whether the server's log has this text since its last start."""


Limit = Callable[[bool], Awaitable[None]]
"""Called with True to stop the logs from growing, with False to let them grow again. Raises if NATS does not answer."""


class DiskGuard:
    def __init__(
        self, server: Server, limit: Limit, room: Callable[[], Room], clock_s: Callable[[], float] = monotonic
    ) -> None:
        self._server = server
        self._limit = limit
        self._room = room
        self._clock_s = clock_s
        self._stopped: bool | None = None
        """Whether the logs have been stopped from growing; None: not known, because nothing was asked yet."""
        self._was_empty = False
        """Whether the disk was full since the last start of NATS, so that NATS must be restarted."""
        self._killed_pid = 0
        self._restarts = Retries(RESTART)
        self._restarted_at_s = float("-inf")
        self._not_before_s = float("-inf")

    async def look(self) -> None:
        room = self._room()
        running = self._server.pid not in (0, self._killed_pid)
        if running and not self._was_empty and (room.free < EMPTY_BYTES or self._server.said(NO_SPACE)):
            self._was_empty = True
            log.error("disk_full", free_bytes=room.free, alert=True)
        if running and self._was_empty and room.is_ample and self._clock_s() >= self._not_before_s:
            await self._restart(room)
        if room.is_short and room.free >= EMPTY_BYTES and self._stopped is not True:
            await self._change(stopped=True, room=room)
        elif room.is_ample and self._stopped is not False and not self._was_empty:
            await self._change(stopped=False, room=room)

    async def _restart(self, room: Room) -> None:
        now_s = self._clock_s()
        if now_s - self._restarted_at_s > CALM_S:
            self._restarts.succeeded()
        self._restarted_at_s = now_s
        self._not_before_s = now_s + self._restarts.failed()
        log.warning("nats_restarted_after_a_full_disk", free_bytes=room.free)
        self._killed_pid = self._server.pid
        await self._server.kill()
        self._was_empty = False

    async def _change(self, *, stopped: bool, room: Room) -> None:
        try:
            await self._limit(stopped)
        except (NatsError, OSError, QuotaRefused, NatsUnreachable) as error:
            log.warning("log_limits_not_changed", stopped=stopped, error=repr(error))  # the next look tries again
            return
        if stopped:
            log.error("logs_stopped", free_bytes=room.free, reserve_bytes=room.reserve, alert=True)
        elif self._stopped:
            log.info("logs_released", free_bytes=room.free, reserve_bytes=room.reserve)
        self._stopped = stopped

    async def watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            try:
                await self.look()
            except Exception:  # a guard that has died would be missed only when the disk is full
                log.exception("disk_guard_failed", alert=True)


@asynccontextmanager
async def guarding_disk(server: Server, folder: Path, *, nats_url: str, log_max: int | None) -> AsyncIterator[None]:
    """Guard the disk while the block runs. `log_max`: the limit of every log while there is room; None: no limit."""
    async with connected(nats_url, "disk-guard") as client:

        async def limit(stopped: bool) -> None:
            for context in CONTEXTS:
                if stopped:
                    await stop_growth(client, context, spare=SPARE_BYTES.get(context, 0))
                else:
                    await limit_log(client, context, log_max)

        guard = DiskGuard(server, limit, lambda: Room.of(folder))
        async with in_background(guard.watch(), name="disk guard"):
            yield
