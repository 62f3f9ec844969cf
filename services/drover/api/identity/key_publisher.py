"""Writes the bucket of keys in NATS, which every process that verifies keys reads: the public keys, and which API keys
are revoked or adopted.

Only the process that leads identity writes, from the state of its writer. It compares the whole bucket with the state
when it begins to lead and whenever somebody has written to the bucket. So it also corrects entries that are missing,
foreign or damaged.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final, Protocol

import structlog
from nats.aio.client import Client
from nats.errors import Error as NatsError

from drover.domain.errors import DroverError
from drover.domain.identity.state import ApiKey, Identity
from drover.eventlog.bucket import ensure_bucket
from drover.eventlog.follow import Follower
from drover.eventlog.log import EventLog, StoredCommit
from drover.service.tasks import in_background
from drover.web.key_bucket import (
    BUCKET,
    SIGNING,
    Adopted,
    BucketMissing,
    KeyBucket,
    PublicKey,
    encode_shards,
    encode_signing,
)

LOOK_S: Final = 1.0
"""How often the leader looks whether somebody else has written to the bucket."""
RETRY_S: Final = 0.5
ABOUT_KEYS: Final = (b'"ApiKey', b'"DevicesEnrolled"')
"""Only commits that contain one of these byte strings change API keys."""

log = structlog.get_logger("drover.keys")


class Leader(Protocol):
    """The parts of identity's writer that are used here."""

    leading: asyncio.Event

    @property
    def is_sole_leader(self) -> bool: ...

    @property
    def epoch(self) -> int: ...

    @property
    def state(self) -> Identity | None: ...


class KeyPublisher:
    def __init__(
        self,
        client: Client,
        writer: Leader,
        event_log: EventLog,
        *,
        public_keys: Sequence[PublicKey],
        replicas: int = 1,
    ) -> None:
        """`public_keys`: the keys that verify the tokens of this process. Empty: it signs no tokens."""
        self._client = client
        self._writer = writer
        self._public_keys = public_keys
        self._replicas = replicas
        self._bucket = KeyBucket(client)
        self._wanted: dict[str, bytes] | None = None
        """What should be in the bucket. None: keys have changed since this was computed, so compute it again."""
        self._wanted_in = 0
        """The term in which `_wanted` was computed. It is computed again in a later term, because another process may
        have led in between, and revoked keys."""
        self._changed = asyncio.Event()
        self._follower = Follower(event_log, self._note, name="the publisher of keys")
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self._follower.running(), in_background(self._run(), name="key-publisher") as self._task:
            yield

    async def wait_failed(self) -> None:
        assert self._task is not None
        await asyncio.gather(self._follower.wait_failed(), asyncio.shield(self._task))

    def _note(self, commit: StoredCommit) -> None:
        if any(mark in commit.payload for mark in ABOUT_KEYS):
            self._wanted = None
            self._changed.set()

    async def _run(self) -> None:
        while True:
            await self._writer.leading.wait()
            self._changed.clear()
            pause_s = LOOK_S if await self._published() else RETRY_S
            with suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await self._changed.wait()

    async def _published(self) -> bool:
        """Write the entries of the bucket that are missing or wrong. Return False if that failed."""
        try:
            await self._read()
            if not self._writer.is_sole_leader:  # this process was paused: its state may be old
                return False
            await asyncio.gather(*(self._bucket.put(name, data) for name, data in self._wrong()))
        except (NatsError, OSError, DroverError) as error:
            log.warning("keys_not_published", error=repr(error))
            return False
        return True

    async def _read(self) -> None:
        if self._bucket.entries:
            with suppress(BucketMissing):  # somebody has removed the bucket: make it again
                await self._bucket.refresh()
                return
        await ensure_bucket(self._client, BUCKET, replicas=self._replicas)
        await self._bucket.refresh()

    def _wrong(self) -> list[tuple[str, bytes]]:
        state, epoch = self._writer.state, self._writer.epoch
        if state is None:
            return []
        if self._wanted is None or self._wanted_in != epoch:
            self._wanted, self._wanted_in = wanted_entries(state), epoch
        wanted = dict(self._wanted)
        if self._public_keys or SIGNING not in self._bucket.entries:
            wanted[SIGNING] = encode_signing(self._public_keys)
        known = self._bucket.entries
        wrong = [(name, data) for name, data in wanted.items() if name not in known or known[name].data != data]
        if wrong:
            log.info("keys_published", entries=len(wrong), revoked=len(state.revoked), adopted=len(state.adopted))
        return wrong


def wanted_entries(state: Identity) -> dict[str, bytes]:
    """Make the entries of revoked and adopted keys from the state of identity."""
    adopted = [state.api_keys[key_id] for key_id in state.adopted.values()]
    revoked_digests = (key.digest for key in adopted if key.is_revoked and key.digest is not None)
    return encode_shards((*state.revoked, *revoked_digests), map(_adopted, adopted))


def _adopted(key: ApiKey) -> Adopted:
    assert key.digest is not None
    return Adopted(key.digest, key.role, key.expires_at.timestamp(), key.device_id, key.key_id)
