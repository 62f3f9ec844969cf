"""Signs of life and detailed progress of devices: sent in batches over plain NATS, never stored in the log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, Final

import msgspec
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from drover.bus import metrics
from drover.bus.subscription import subscribed
from drover.service.tasks import end

FLUSH_EVERY_S: Final = 0.1
IDLE_BATCH_EVERY_S: Final = 1.0
"""How often a batch is sent even if it is empty, in seconds. So receivers can tell a silent sender from a sender whose
devices are silent."""
BATCH_BEATS_MAX: Final = 2_000

log = structlog.get_logger("drover.bus")
_encoder = msgspec.json.Encoder()


class Work(msgspec.Struct, array_like=True):
    """The progress of one attempt, as its agent reports it."""

    assignment_id: str
    run: int
    progress_pct: int
    ad_playing: bool = False
    popup_closed: bool = False

    def after(self, earlier: Work) -> Work:
        """Return one report made of two in the same batch: the later one counts. But if the earlier one, about the same
        attempt, says that a pop-up was closed, the result says so, too."""
        same_attempt = (earlier.assignment_id, earlier.run) == (self.assignment_id, self.run)
        if earlier.popup_closed and same_attempt and not self.popup_closed:
            return msgspec.structs.replace(self, popup_closed=True)
        return self


class Beat(msgspec.Struct, array_like=True):
    """The latest sign of life of one device (a heartbeat, poll or report), and what it reported."""

    device_id: str
    seen_at: datetime
    reported: dict[str, Any] | None = None
    """What the agent reports about itself, for people to see. Rules use it only to notice that a condition such as a
    low battery is over."""
    work: Work | None = None

    def after(self, earlier: Beat) -> Beat:
        """Return one sign of life made of two in the same batch: fields that the later one lacks come from the earlier
        one."""
        reported, work = self.reported, self.work
        if reported is None:
            reported = earlier.reported
        elif earlier.reported is not None:
            reported = earlier.reported | reported  # a copy, because callers pass the same dict for several devices
        if work is None:
            work = earlier.work
        elif earlier.work is not None:
            work = work.after(earlier.work)
        return Beat(self.device_id, self.seen_at, reported, work)


class TelemetryBatch(msgspec.Struct):
    source: str
    """The instance name of the process that sends the batch."""
    number: int
    """The number of the batch among those of its source. A jump means that batches were lost."""
    beats: list[Beat]


_decode_batch = msgspec.json.Decoder(TelemetryBatch).decode


class TelemetryOut:
    """Collects signs of life and sends them in batches. All signs of life of one device are merged into one."""

    def __init__(self, client: Client, context: str, source: str) -> None:
        self._client = client
        self._subject = f"tel.{context}"
        self._source = source
        self._number = 0
        self._beats: dict[str, Beat] = {}
        self._passed_on = metrics.BEATS.labels(context)

    def beat(self, device_id: str, seen_at: datetime, reported: dict[str, Any] | None) -> None:
        self._note(Beat(device_id, seen_at, reported))

    def progress(self, device_id: str, seen_at: datetime, work: Work) -> None:
        """Add a report of progress, which is also a sign of life."""
        self._note(Beat(device_id, seen_at, None, work))

    def _note(self, beat: Beat) -> None:
        earlier = self._beats.get(beat.device_id)
        self._beats[beat.device_id] = beat if earlier is None else beat.after(earlier)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self._run(), name="telemetry-out")
        try:
            yield
        finally:
            await end(task)
            await self.flush()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        sent_at = loop.time()
        while True:
            await asyncio.sleep(FLUSH_EVERY_S)
            if self._beats or loop.time() - sent_at >= IDLE_BATCH_EVERY_S:
                sent_at = loop.time()
                await self.flush()

    async def flush(self) -> None:
        """Send the collected signs of life as one batch, which may be empty."""
        beats, self._beats = list(self._beats.values()), {}
        for start in range(0, max(len(beats), 1), BATCH_BEATS_MAX):
            self._number += 1
            batch = TelemetryBatch(self._source, self._number, beats[start : start + BATCH_BEATS_MAX])
            try:
                await self._client.publish(self._subject, _encoder.encode(batch))
                self._passed_on.inc(len(batch.beats))
            except (NatsError, OSError) as error:
                # The batch is not sent again: the next heartbeats repeat its content, and the batch number shows the
                # receiver the gap.
                log.info("telemetry_lost", beats=len(batch.beats), error=repr(error))


@asynccontextmanager
async def listening(
    client: Client, context: str, handle: Callable[[TelemetryBatch], Awaitable[None] | None]
) -> AsyncIterator[None]:
    """Call `handle` with every batch of a context while the block runs."""

    async def on_message(message: Msg) -> None:
        try:
            batch = _decode_batch(message.data)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            log.warning("telemetry_unreadable", error=str(error))
            return
        result = handle(batch)
        if result is not None:
            await result

    async with subscribed(client, f"tel.{context}", on_message):
        yield
