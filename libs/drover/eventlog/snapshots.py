"""Stores snapshots of a decider's state in a stream of their own. A snapshot is stored as chunks and a manifest, and
the last two are kept.

Each version of the state has its own snapshots, so two releases can run side by side.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Protocol, TypeVar

import msgspec
import nats.js.api as api
import structlog
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js.errors import APIError, NotFoundError
from uuid_utils import uuid4

from drover.domain.errors import DroverError
from drover.eventlog.log import LogUnreachable, Partition
from drover.service.reasons import reason_of

STREAM: Final = "SNAPSHOTS"
CHUNK_BYTES: Final = 512 * 1024
UNUSED_VERSION_KEPT_FOR: Final = timedelta(days=30)
"""How long snapshots of a version are kept after the last program that writes this version has stopped, so that a
release can be rolled back."""
REQUEST_S: Final = 10.0
TRY_S: Final = 2.0
RETRY_PAUSE_S: Final = 0.2
READ_S: Final = 15.0
"""Time-out for reading one part of a snapshot (the manifest or a chunk). A stream without a leader does not answer for
some seconds, but waiting is faster than folding the whole log."""
UNAVAILABLE: Final = 503
_AWAY: Final = (NatsError, OSError, LogUnreachable)

T = TypeVar("T")

log = structlog.get_logger("drover.eventlog")


class SnapshotDamaged(DroverError):
    """A snapshot does not match its manifest, or parts of it are missing."""


class SnapshotOutdated(DroverError):
    """A newer snapshot of the same version is stored, or was stored meanwhile, so this one was dropped."""


class SnapshotInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What the manifest says about one snapshot."""

    partition: Partition
    version: str
    id: str
    seq: int
    """The sequence of the last commit that is part of the snapshot. 0: unknown, because an earlier release saved it."""
    commit: str
    """The id of the commit at `seq`. Empty: unknown."""
    bytes: int
    saved_at: datetime
    chunks: int
    sha256: str


class SnapshotSource(Protocol):
    """Snapshots that can be read."""

    async def infos(self, partition: Partition) -> list[SnapshotInfo]:
        """Return the snapshots of all versions, the newest first."""

    def read(self, info: SnapshotInfo) -> AsyncIterator[bytes]:
        """Yield the snapshot in chunks. Raises SnapshotDamaged at a missing chunk, or after the last one if the
        checksum differs."""


class SnapshotStore(SnapshotSource, Protocol):
    async def save(
        self, partition: Partition, version: str, data: AsyncIterable[bytes], *, seq: int, commit: str
    ) -> int:
        """Store `data` as the latest snapshot of this version; return its size in bytes. `seq`, `commit`: position and
        id of the last commit that is part of it.

        All or nothing: if `data` raises before its end, the earlier snapshots stay. Raises SnapshotOutdated if a newer
        one is stored.
        """


class _Generation(msgspec.Struct, omit_defaults=True):
    """One snapshot in the manifest. Earlier releases wrote only the first four fields, and read only those."""

    id: str
    chunks: int
    bytes: int
    sha256: str
    seq: int = 0
    commit: str = ""
    saved_at: datetime | None = None


class _Manifest(_Generation, omit_defaults=True):
    """The last message on the manifest's subject: the newest snapshot of a version and the one before it."""

    previous: _Generation | None = None

    @property
    def generations(self) -> list[_Generation]:
        return [self] if self.previous is None else [self, self.previous]


class _Message(msgspec.Struct):
    seq: int
    time: datetime
    data: str = ""


class _GetAnswer(msgspec.Struct):
    message: _Message | None = None


_decode_get: Final = msgspec.json.Decoder(_GetAnswer).decode


class JetStreamSnapshots:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def ensure(self, *, replicas: int = 1) -> None:
        """Create the stream if it is missing. Streams of earlier releases removed snapshots after 30 days; if this user
        may change the stream, that limit is removed."""
        jetstream = self._client.jetstream()
        try:
            config = (await jetstream.stream_info(STREAM)).config
        except NotFoundError:
            await jetstream.add_stream(
                api.StreamConfig(
                    name=STREAM, subjects=["snap.>"], storage=api.StorageType.FILE, max_age=0, num_replicas=replicas
                )
            )
            return
        if config.max_age:
            await self._keep_for_ever(config)

    async def _keep_for_ever(self, config: api.StreamConfig) -> None:
        try:
            await self._client.jetstream(timeout=TRY_S).update_stream(config, max_age=0)
        except _AWAY as error:
            # This does no harm at first: writers save at least once a day, so the newest snapshot does not reach that
            # age while a writer leads.
            log.warning("snapshots_age", error=repr(error), what_to_do=f"nats stream edit {STREAM} --max-age=0")

    async def save(
        self, partition: Partition, version: str, data: AsyncIterable[bytes], *, seq: int, commit: str
    ) -> int:
        subject = _subject(partition, version)
        before, revision = await self._manifest(subject)
        if before is not None and before.seq > seq:
            raise SnapshotOutdated(f"{seq}, and {before.seq} is stored")
        made = _Generation(uuid4().hex, 0, 0, "", seq, commit, datetime.now(UTC))
        try:
            await self._upload(subject, made, data)
            # List the chunks before the manifest changes. If another process is uploading some of them, it will fail to
            # store its own manifest, because the revision has changed. So no chunk that a manifest names is ever
            # removed.
            listed = await self._chunk_ids(subject)
        except BaseException:
            with suppress(*_AWAY):
                await self._drop_chunks(subject, made.id)  # no manifest names them
            raise
        after = _manifest_after(before, made)
        await self._publish_manifest(subject, after, revision)
        with suppress(*_AWAY):  # the snapshot is stored; the next one cleans up what this fails to remove
            for id_ in listed - {one.id for one in after.generations}:
                await self._drop_chunks(subject, id_)
            await self._purge(f"{subject}.manifest", keep=1)
            await self._drop_unused_versions(partition, seq)
        return made.bytes

    async def _upload(self, subject: str, made: _Generation, data: AsyncIterable[bytes]) -> None:
        jetstream = self._client.jetstream(timeout=REQUEST_S)
        digest = hashlib.sha256()
        async for chunk in data:
            await jetstream.publish(f"{subject}.chunk.{made.id}.{made.chunks}", chunk, stream=STREAM)
            digest.update(chunk)
            made.bytes += len(chunk)
            made.chunks += 1
        made.sha256 = digest.hexdigest()

    async def _publish_manifest(self, subject: str, manifest: _Manifest, revision: int) -> None:
        expected = {"Nats-Expected-Last-Subject-Sequence": str(revision)}
        try:
            await self._client.jetstream(timeout=REQUEST_S).publish(
                f"{subject}.manifest", msgspec.json.encode(manifest), stream=STREAM, headers=expected
            )
        except APIError as error:
            # Any other error leaves open whether the manifest was stored, so the chunks must stay.
            found, _ = await self._manifest(subject)
            if found is None or found.id != manifest.id:
                await self._drop_chunks(subject, manifest.id)
                raise SnapshotOutdated(f"another process saved one meanwhile ({error.description})") from error

    async def _drop_unused_versions(self, partition: Partition, seq: int) -> None:
        """Remove the snapshots of versions that no program has written for `UNUSED_VERSION_KEPT_FOR`. The newest
        snapshot of the partition always stays."""
        newest: dict[str, SnapshotInfo] = {}
        for info in await self.infos(partition):
            newest.setdefault(info.version, info)
        for info in newest.values():
            if info.seq < seq and datetime.now(UTC) - info.saved_at > UNUSED_VERSION_KEPT_FOR:
                await self._purge(f"{_subject(partition, info.version)}.>")

    async def _drop_chunks(self, subject: str, id_: str) -> None:
        await self._purge(f"{subject}.chunk.{id_}.*")

    async def _purge(self, subject: str, keep: int | None = None) -> None:
        await self._client.jetstream(timeout=REQUEST_S).purge_stream(STREAM, subject=subject, keep=keep)

    async def _chunk_ids(self, subject: str) -> set[str]:
        chunks = await self._subjects(f"{subject}.chunk.*.*")
        return {chunk.split(".")[-2] for chunk in chunks}

    async def infos(self, partition: Partition) -> list[SnapshotInfo]:
        found: list[SnapshotInfo] = []
        for subject in await self._subjects(_subject(partition, "*") + ".manifest"):
            version = subject.split(".")[-2]
            try:
                manifest, _ = await self._manifest(_subject(partition, version))
            except msgspec.DecodeError as error:
                log.warning("manifest_ignored", subject=subject, error=repr(error))
                continue
            found += [_info(partition, version, one) for one in (manifest.generations if manifest else ())]
        return sorted(found, key=lambda info: (info.seq, info.saved_at), reverse=True)

    async def read(self, info: SnapshotInfo) -> AsyncIterator[bytes]:
        digest = hashlib.sha256()
        subject = f"{_subject(info.partition, info.version)}.chunk.{info.id}"
        for number in range(info.chunks):
            message = await self._last(f"{subject}.{number}")
            if message is None:
                raise SnapshotDamaged(f"chunk {number} of {info.chunks} is missing")
            chunk = base64.b64decode(message.data)
            digest.update(chunk)
            yield chunk
        if digest.hexdigest() != info.sha256:
            raise SnapshotDamaged("checksum differs")

    async def forget(self, context: str) -> None:
        """Remove all snapshots of a context, because its log was replaced."""
        with suppress(NotFoundError):
            await self._purge(f"snap.{context}.>")

    async def _manifest(self, subject: str) -> tuple[_Manifest | None, int]:
        """Return the manifest and its revision; None and 0 if there is none."""
        message = await self._last(f"{subject}.manifest")
        if message is None:
            return None, 0
        manifest = msgspec.json.decode(base64.b64decode(message.data), type=_Manifest)
        manifest.saved_at = manifest.saved_at or message.time
        return manifest, message.seq

    async def _subjects(self, pattern: str) -> list[str]:
        """Return the subjects that match the pattern and have messages."""
        jetstream = self._client.jetstream(timeout=TRY_S)
        try:
            info = await _waiting(lambda: jetstream.stream_info(STREAM, subjects_filter=pattern))
        except NotFoundError:
            return []
        return sorted(info.state.subjects or ())

    async def _last(self, subject: str) -> _Message | None:
        # The raw request has a time-out; nats-py's object store has none on reads.
        question = msgspec.json.encode({"last_by_subj": subject})
        reply = await _waiting(
            lambda: self._client.request(f"$JS.API.STREAM.MSG.GET.{STREAM}", question, timeout=TRY_S)
        )
        return _decode_get(reply.data).message


class MemorySnapshots:
    """Keeps snapshots in memory, in two generations, for tests and simulation."""

    def __init__(self) -> None:
        self.kept: dict[SnapshotInfo, bytes] = {}

    async def save(
        self, partition: Partition, version: str, data: AsyncIterable[bytes], *, seq: int, commit: str
    ) -> int:
        content = b"".join([chunk async for chunk in data])
        of_version = [info for info in await self.infos(partition) if info.version == version]
        if of_version and of_version[0].seq > seq:
            raise SnapshotOutdated(f"{seq}, and {of_version[0].seq} is stored")
        for info in of_version[1:]:
            del self.kept[info]
        made = _Generation(uuid4().hex, 1, len(content), "", seq, commit, datetime.now(UTC))
        self.kept[_info(partition, version, made)] = content
        return len(content)

    async def infos(self, partition: Partition) -> list[SnapshotInfo]:
        found = [info for info in self.kept if info.partition == partition]
        return sorted(found, key=lambda info: (info.seq, info.saved_at), reverse=True)

    async def read(self, info: SnapshotInfo) -> AsyncIterator[bytes]:
        if info not in self.kept:
            raise SnapshotDamaged("it is gone")
        yield self.kept[info]


def _manifest_after(before: _Manifest | None, made: _Generation) -> _Manifest:
    fields: dict[str, Any] = msgspec.structs.asdict(made)
    if before is None:
        return _Manifest(**fields)
    kept = {name: getattr(before, name) for name in _Generation.__struct_fields__}
    return _Manifest(**fields, previous=_Generation(**kept))


def _info(partition: Partition, version: str, one: _Generation) -> SnapshotInfo:
    return SnapshotInfo(
        partition=partition,
        version=version,
        id=one.id,
        seq=one.seq,
        commit=one.commit,
        bytes=one.bytes,
        saved_at=one.saved_at or datetime.min.replace(tzinfo=UTC),
        chunks=one.chunks,
        sha256=one.sha256,
    )


async def _waiting(ask: Callable[[], Awaitable[T]]) -> T:
    """Call `ask` again and again until it gets an answer, for READ_S at most."""
    give_up_at = asyncio.get_running_loop().time() + READ_S
    while True:
        try:
            return await ask()
        except (NatsError, OSError) as error:
            if isinstance(error, APIError) and error.code != UNAVAILABLE:
                raise
            if asyncio.get_running_loop().time() > give_up_at:
                raise LogUnreachable(reason_of(error)) from error
        await asyncio.sleep(RETRY_PAUSE_S)


def _subject(partition: Partition, version: str) -> str:
    return f"snap.{partition.context}.{partition.name}.{version}"
