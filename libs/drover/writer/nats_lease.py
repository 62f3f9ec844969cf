"""A lease on NATS: a key in a bucket, which NATS removes unless its holder renews it in time."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from drover.bus.subscription import subscribed
from drover.domain.errors import DroverError
from drover.eventlog.bucket import NO_MESSAGE_FOUND, WRONG_LAST_SEQUENCE
from drover.eventlog.log import Partition
from drover.service.reasons import reason_of
from drover.service.tasks import in_background
from drover.writer.clock import Clock

BUCKET: Final = "drover_leases"
RETRY_S: Final = 0.5
REQUEST_S: Final = 2.0
SKEW_MAX: Final = timedelta(seconds=2)
TTL_HEADER: Final = "Nats-TTL"
_STREAM: Final = f"KV_{BUCKET}"
_TTL: Final = re.compile(rf"^{TTL_HEADER}: (\d+)s\r$", re.MULTILINE)

log = structlog.get_logger("drover.writer")


class LeaseTimes(msgspec.Struct, frozen=True):
    """The times of a lease. With shorter ones, another process takes over sooner, but delays are tolerated less."""

    ttl_s: float = 10.0
    renew_every_s: float = 3.0
    safety_s: float = 2.0
    """How many seconds before the key can expire the holder stops to answer from its memory. It still answers commands
    whose commit is stored."""
    poll_every_s: float = 2.0
    """How often a standby checks whether the key has expired, in seconds. If the holder deletes the key to hand it
    over, the standby learns that at once."""


class LeaseTrouble(DroverError):
    """The bucket of leases did not answer as expected."""


class ClockSkewed(DroverError):
    """This machine's clock differs too much from the NATS server's to write events: correct it (NTP)."""

    def __init__(self, skew_s: float) -> None:
        self.skew_s = skew_s
        super().__init__(f"{skew_s:+.1f} s from the NATS server; at most {SKEW_MAX.total_seconds():.0f} s is allowed")


class Holder(msgspec.Struct):
    """The value of a lease's key in the bucket while a process holds the lease."""

    instance: str
    token: str
    since: datetime


class KnownLease(msgspec.Struct, frozen=True):
    """The lease of a partition, as it is in the bucket."""

    holder: Holder
    left_s: float
    """Seconds until the lease expires. Below 0: it has expired, but the server has not removed it yet."""

    @property
    def is_current(self) -> bool:
        return self.left_s > 0


class _Entry(msgspec.Struct):
    revision: int
    holder: Holder | None = None
    stored_at: datetime | None = None
    ttl_s: float = float("inf")


class NatsLease:
    """The lease of one partition. Use `acquire`, then do the work within `renewing`, then `release`."""

    def __init__(
        self,
        client: Client,
        partition: Partition,
        *,
        instance: str,
        token: str,
        clock: Clock,
        times: LeaseTimes | None = None,
    ) -> None:
        self._client = client
        self._times = times or LeaseTimes()
        self._subject = _subject_of(partition)
        self._holder = Holder(instance, token, clock.now())
        self._clock = clock
        self._revision = 0
        self._valid_until = float("-inf")
        self.trouble: str | None = None

    def is_valid(self) -> bool:
        """Whether it is certain that no other process holds the lease now, even if the network is down."""
        return self._clock.elapsed_s() < self._valid_until

    async def acquire(self) -> None:
        """Wait until the key is free and take it. Raises ClockSkewed if our clock is too wrong to write events."""
        freed = asyncio.Event()

        async def watch(message: Msg) -> None:
            if (message.headers or {}).get("KV-Operation") in ("DEL", "PURGE"):
                freed.set()

        # The subscription shows a hand-over at once. An expired key is found by polling.
        async with subscribed(self._client, self._subject, watch):
            while (look_again_s := await self._try_to_take()) is not None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(look_again_s):
                        await freed.wait()
                freed.clear()

    async def _try_to_take(self) -> float | None:
        """Try to take the key once. Return None if we hold it now, otherwise the time to wait before the next try."""
        try:
            entry = await self._read()
            if entry.holder is not None and entry.holder.token != self._holder.token:
                self.trouble = None  # the bucket answers, and somebody else leads
                return self._times.poll_every_s
            self._holder.since = self._clock.now()
            if not await self._put(entry.revision):
                return self._times.poll_every_s
            await self._refuse_a_wrong_clock()
        except (NatsError, OSError, LeaseTrouble) as error:
            self.trouble = reason_of(error)
            log.warning("lease_unreachable", key=self._subject, error=repr(error))
            return RETRY_S
        return None

    async def _refuse_a_wrong_clock(self) -> None:
        before = self._clock.now()
        stored_at = (await self._read()).stored_at
        assert stored_at is not None
        # `since` was taken just before the server stored the key with its own time.
        skew = min(self._holder.since - stored_at, before - stored_at, key=abs)
        if abs(skew) > SKEW_MAX:
            await self.release()
            raise ClockSkewed(skew.total_seconds())

    async def _put(self, revision: int) -> bool:
        """Write the key if it still has this revision. Return False if another process has changed it."""
        sent_at = self._clock.elapsed_s()
        # A raw publish, because `kv.update` of nats-py drops the TTL, and the lease would never expire.
        answer = await self._request(
            self._subject,
            msgspec.json.encode(self._holder),
            {TTL_HEADER: f"{self._times.ttl_s:.0f}s", "Nats-Expected-Last-Subject-Sequence": str(revision)},
        )
        if (error := answer.get("error")) is not None:
            if error.get("err_code") == WRONG_LAST_SEQUENCE:
                return False
            raise LeaseTrouble(error.get("description"))
        self._revision = int(answer["seq"])
        self._valid_until = sent_at + self._times.ttl_s - self._times.safety_s
        self.trouble = None
        return True

    async def _read(self) -> _Entry:
        return await _read_entry(self._client, self._subject)

    async def _request(self, subject: str, body: bytes, headers: dict[str, str] | None = None) -> dict[str, Any]:
        return await _request(self._client, subject, body, headers)

    @asynccontextmanager
    async def renewing(self) -> AsyncIterator[asyncio.Event]:
        """Renew the lease while the block runs. The event is set when the lease is lost."""
        lost = asyncio.Event()
        async with in_background(self._renew(lost)):
            yield lost

    async def _renew(self, lost: asyncio.Event) -> None:
        pause = self._times.renew_every_s
        try:
            while True:
                await asyncio.sleep(pause)
                try:
                    if not await self._put(self._revision) and not await self._renewal_landed_unseen():
                        log.warning("lease_taken_by_another", key=self._subject)
                        return
                    pause = self._times.renew_every_s
                except (NatsError, OSError, LeaseTrouble) as error:
                    self.trouble = reason_of(error)
                    if not self.is_valid():
                        log.warning("lease_lapsed", key=self._subject, error=repr(error))
                        return
                    pause = RETRY_S
        finally:
            self._valid_until = float("-inf")
            lost.set()

    async def _renewal_landed_unseen(self) -> bool:
        """Whether an earlier renewal of ours has changed the key's revision, and only its acknowledgement was lost. If
        so, the key is still ours, and it is renewed again."""
        entry = await self._read()
        if entry.holder is None or entry.holder.token != self._holder.token:
            return False
        return await self._put(entry.revision)

    async def release(self) -> None:
        """Delete the key, so that the next holder need not wait for the TTL. Harmless if we no longer hold it."""
        self._valid_until = float("-inf")
        try:
            if not await self._delete(self._revision):
                # Either a renewal of ours has just changed the revision, or the key belongs to another process.
                entry = await self._read()
                if entry.holder is not None and entry.holder.token == self._holder.token:
                    await self._delete(entry.revision)
        except (NatsError, OSError, LeaseTrouble) as error:
            log.info("lease_not_released", key=self._subject, error=repr(error))

    async def _delete(self, revision: int) -> bool:
        headers = {"KV-Operation": "DEL", "Nats-Expected-Last-Subject-Sequence": str(revision)}
        return "error" not in await self._request(self._subject, b"", headers)


async def read_holder(client: Client, partition: Partition) -> Holder | None:
    """Return who holds the lease of a partition now, or None."""
    lease = await read_lease(client, partition)
    return lease.holder if lease is not None and lease.is_current else None


async def read_lease(client: Client, partition: Partition) -> KnownLease | None:
    """Return the lease of a partition, or None if nobody holds it. A server that cannot write does not remove expired
    keys. So whether the lease has expired is computed here, with the server's clock."""
    try:
        entry, info = await asyncio.gather(
            _read_entry(client, _subject_of(partition)), _request(client, f"$JS.API.STREAM.INFO.{_STREAM}", b"")
        )
    except LeaseTrouble:  # there is no bucket yet
        return None
    if entry.holder is None or entry.stored_at is None or "ts" not in info:
        return None
    now = msgspec.convert(info["ts"], datetime)
    return KnownLease(entry.holder, entry.ttl_s - (now - entry.stored_at).total_seconds())


def _subject_of(partition: Partition) -> str:
    return f"$KV.{BUCKET}.{partition.context}.{partition.name}"


async def _read_entry(client: Client, subject: str) -> _Entry:
    answer = await _request(client, f"$JS.API.STREAM.MSG.GET.{_STREAM}", msgspec.json.encode({"last_by_subj": subject}))
    if (error := answer.get("error")) is not None:
        if error.get("err_code") == NO_MESSAGE_FOUND:
            return _Entry(0)
        raise LeaseTrouble(error.get("description"))
    message = answer["message"]
    data = base64.b64decode(message.get("data", ""))
    ttl = _TTL.search(base64.b64decode(message.get("hdrs", "")).decode())
    return _Entry(
        message["seq"],
        # A deleted or expired key is a marker without a body.
        msgspec.json.decode(data, type=Holder) if data else None,
        msgspec.convert(message["time"], datetime),
        float(ttl[1]) if ttl else float("inf"),
    )


async def _request(client: Client, subject: str, body: bytes, headers: dict[str, str] | None = None) -> dict[str, Any]:
    reply = await client.request(subject, body, timeout=REQUEST_S, headers=headers)
    return msgspec.json.decode(reply.data, type=dict[str, Any])
