"""Signs of life: coalesced by device, sent in batches over plain NATS, never stored in the log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import Any, Final

import msgspec
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from drover.service.tasks import end

FLUSH_EVERY_S: Final = 0.1
IDLE_BATCH_EVERY_S: Final = 1.0
"""An empty batch is sent this often, so that a silent farm can be told from a silent gateway."""
BATCH_BEATS_MAX: Final = 2_000

log = structlog.get_logger("drover.bus")
_encoder = msgspec.json.Encoder()


class Beat(msgspec.Struct, array_like=True):
    """The latest sign of life of one device."""

    device_id: str
    seen_at: datetime
    reported: dict[str, Any] | None = None
    """What the agent claims of itself; kept for people, decides nothing."""


class TelemetryBatch(msgspec.Struct):
    source: str
    """The gateway's instance."""
    number: int
    """Counts the batches of a source: a jump means that some were lost."""
    beats: list[Beat]


_decode_batch = msgspec.json.Decoder(TelemetryBatch).decode


class TelemetryOut:
    """What a gateway has heard since the last batch; a device that beats twice counts once."""

    def __init__(self, client: Client, context: str, source: str) -> None:
        self._client = client
        self._subject = f"tel.{context}"
        self._source = source
        self._number = 0
        self._beats: dict[str, Beat] = {}

    def beat(self, device_id: str, seen_at: datetime, reported: dict[str, Any] | None) -> None:
        if reported is None and (before := self._beats.get(device_id)) is not None:
            reported = before.reported  # a beat that claims nothing takes nothing back
        self._beats[device_id] = Beat(device_id, seen_at, reported)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self._run(), name="telemetry-out")
        try:
            yield
        finally:
            await end(task)
            await self._flush()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        sent_at = loop.time()
        while True:
            await asyncio.sleep(FLUSH_EVERY_S)
            if self._beats or loop.time() - sent_at >= IDLE_BATCH_EVERY_S:
                sent_at = loop.time()
                await self._flush()

    async def _flush(self) -> None:
        beats, self._beats = list(self._beats.values()), {}
        for start in range(0, max(len(beats), 1), BATCH_BEATS_MAX):
            self._number += 1
            batch = TelemetryBatch(self._source, self._number, beats[start : start + BATCH_BEATS_MAX])
            try:
                await self._client.publish(self._subject, _encoder.encode(batch))
            except (NatsError, OSError) as error:
                # Lost on purpose: the next heartbeat says the same, and the number tells the receiver of the gap.
                log.info("telemetry_lost", beats=len(batch.beats), error=repr(error))


@asynccontextmanager
async def listening(
    client: Client, context: str, handle: Callable[[TelemetryBatch], Awaitable[None] | None]
) -> AsyncIterator[None]:
    """Call `handle` with every batch of a context."""

    async def on_message(message: Msg) -> None:
        try:
            batch = _decode_batch(message.data)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            log.warning("telemetry_unreadable", error=str(error))
            return
        result = handle(batch)
        if result is not None:
            await result

    subscription = await client.subscribe(f"tel.{context}", cb=on_message)
    try:
        yield
    finally:
        with suppress(NatsError, OSError):
            await subscription.unsubscribe()
