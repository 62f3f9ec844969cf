"""Reports once a minute which API keys this process has accepted. The projector writes this into a table.

It costs authentication nothing: the order of the cache of verified callers shows who came since the last report. If
NATS or Postgres is unavailable, some uses are not recorded; nothing else depends on them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Final, Protocol

from drover.service.tasks import in_background

CONTEXT: Final = "identity"
TELL_EVERY_S: Final = 60.0


class Uses(Protocol):
    def take_used_keys(self) -> set[str]: ...


class Out(Protocol):
    """The methods of `drover.bus.telemetry.TelemetryOut` that are called here."""

    def beat(self, device_id: str, seen_at: datetime, reported: None) -> None: ...

    async def flush(self) -> None: ...


class KeyUses:
    def __init__(
        self,
        uses: Uses,
        out: Out,
        *,
        every_s: float = TELL_EVERY_S,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._uses = uses
        self._out = out
        self._every_s = every_s
        self._clock = clock

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with in_background(self._run(), name="key-uses"):
            yield
        await self.tell()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._every_s)
            await self.tell()

    async def tell(self) -> None:
        used = self._uses.take_used_keys()
        now = self._clock()
        for key_id in used:
            self._out.beat(key_id, now, None)
        if used:
            await self._out.flush()
