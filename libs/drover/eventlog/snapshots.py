"""Stores snapshots of a decider's state in a stream of their own: as chunks and a manifest. A lost snapshot costs only
time."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import AsyncIterable
from contextlib import suppress
from typing import Any, Final, Protocol

import msgspec
import nats.js.api as api
import structlog
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js.errors import Error as JetStreamError
from nats.js.errors import NotFoundError
from uuid_utils import uuid4

from drover.domain.errors import DroverError
from drover.eventlog.log import Partition

STREAM: Final = "SNAPSHOTS"
CHUNK_BYTES: Final = 512 * 1024
SNAPSHOT_BYTES_MAX: Final = 4 * 1024 * 1024 * 1024
KEPT_FOR_S: Final = 30 * 24 * 3600
REQUEST_S: Final = 10.0
TRY_S: Final = 2.0
RETRY_PAUSE_S: Final = 0.2
READ_S: Final = 15.0
"""Time-out for reading one part of a snapshot (the manifest or a chunk). A stream without a leader does not answer for
some seconds, but waiting is faster than folding the whole log."""

log = structlog.get_logger("drover.eventlog")


class SnapshotDamaged(DroverError):
    """A snapshot does not match its manifest. It is ignored, and the log is read from the start."""


class SnapshotStore(Protocol):
    async def save(self, partition: Partition, version: str, data: AsyncIterable[bytes]) -> int:
        """Store `data` as the latest snapshot of this version; return its size.

        All or nothing: if `data` raises before its end, the earlier snapshot stays the latest.
        """

    async def load(self, partition: Partition, version: str) -> bytes | None:
        """Return the latest complete snapshot of exactly this version, or None."""


class _Manifest(msgspec.Struct):
    id: str
    chunks: int
    bytes: int
    sha256: str


class JetStreamSnapshots:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def ensure(self, *, replicas: int = 1) -> None:
        jetstream = self._client.jetstream()
        try:
            await jetstream.stream_info(STREAM)
        except NotFoundError:
            await jetstream.add_stream(
                api.StreamConfig(
                    name=STREAM,
                    subjects=["snap.>"],
                    storage=api.StorageType.FILE,
                    max_age=KEPT_FOR_S,
                    num_replicas=replicas,
                )
            )

    async def save(self, partition: Partition, version: str, data: AsyncIterable[bytes]) -> int:
        jetstream = self._client.jetstream(timeout=REQUEST_S)
        subject = _subject(partition, version)
        before = await self._manifest(subject)
        id_ = uuid4().hex
        digest, size, count = hashlib.sha256(), 0, 0
        try:
            async for chunk in data:
                await jetstream.publish(f"{subject}.chunk.{id_}.{count}", chunk, stream=STREAM)
                digest.update(chunk)
                size += len(chunk)
                count += 1
        except BaseException:
            with suppress(NatsError, JetStreamError, OSError):
                await self._drop_chunks(subject, id_)  # no manifest names them
            raise
        manifest = _Manifest(id_, count, size, digest.hexdigest())
        await jetstream.publish(f"{subject}.manifest", msgspec.json.encode(manifest), stream=STREAM)
        if before is not None:
            await self._drop_chunks(subject, before.id)
        return size

    async def _drop_chunks(self, subject: str, id_: str) -> None:
        await self._client.jetstream(timeout=REQUEST_S).purge_stream(STREAM, subject=f"{subject}.chunk.{id_}.*")

    async def load(self, partition: Partition, version: str) -> bytes | None:
        subject = _subject(partition, version)
        try:
            manifest = await self._manifest(subject)
            return None if manifest is None else await self._gather(subject, manifest)
        except (NatsError, JetStreamError, OSError, msgspec.DecodeError, SnapshotDamaged) as error:
            log.warning("snapshot_ignored", subject=subject, error=repr(error))
            return None

    async def forget(self, context: str) -> None:
        """Remove all snapshots of a context, because its log was replaced."""
        with suppress(NotFoundError):
            await self._client.jetstream(timeout=REQUEST_S).purge_stream(STREAM, subject=f"snap.{context}.>")

    async def _gather(self, subject: str, manifest: _Manifest) -> bytes:
        if manifest.bytes > SNAPSHOT_BYTES_MAX:
            raise SnapshotDamaged(f"{manifest.bytes} bytes")
        data = bytearray()
        for number in range(manifest.chunks):
            chunk = await self._last(f"{subject}.chunk.{manifest.id}.{number}")
            if chunk is None:
                raise SnapshotDamaged(f"chunk {number} of {manifest.chunks} is missing")
            data += chunk
        if hashlib.sha256(data).hexdigest() != manifest.sha256:
            raise SnapshotDamaged("checksum differs")
        return bytes(data)

    async def _manifest(self, subject: str) -> _Manifest | None:
        data = await self._last(f"{subject}.manifest")
        return None if data is None else msgspec.json.decode(data, type=_Manifest)

    async def _last(self, subject: str) -> bytes | None:
        # The raw request has a time-out; nats-py's object store has none on reads.
        question = msgspec.json.encode({"last_by_subj": subject})
        give_up_at = asyncio.get_running_loop().time() + READ_S
        while True:
            try:
                reply = await self._client.request(f"$JS.API.STREAM.MSG.GET.{STREAM}", question, timeout=TRY_S)
                break
            except (NatsError, OSError):
                if asyncio.get_running_loop().time() > give_up_at:
                    raise
                await asyncio.sleep(RETRY_PAUSE_S)
        message = msgspec.json.decode(reply.data, type=dict[str, Any]).get("message")
        return None if message is None else base64.b64decode(message.get("data", ""))


class MemorySnapshots:
    """Keeps snapshots in memory, for tests and simulation."""

    def __init__(self) -> None:
        self.kept: dict[tuple[Partition, str], bytes] = {}

    async def save(self, partition: Partition, version: str, data: AsyncIterable[bytes]) -> int:
        kept = self.kept[partition, version] = b"".join([chunk async for chunk in data])
        return len(kept)

    async def load(self, partition: Partition, version: str) -> bytes | None:
        return self.kept.get((partition, version))


def _subject(partition: Partition, version: str) -> str:
    return f"snap.{partition.context}.{partition.name}.{version}"
