"""Writes archived commits back into an empty stream, each at its old position and with its old time. Only for
restoring; writers append with `jetstream`.

It writes atomic batches: the server stores all commits of a batch or none, and syncs once for all of them. It sends a
batch only after the one before is stored. With several under way, the server could refuse one, because another program
wrote at its position, and still store those after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, cast

import msgspec
import structlog
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js.errors import APIError
from uuid_utils import uuid4

from drover.domain.errors import DroverError
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import ALL, Partition, Reader, StoredCommit
from drover.eventlog.stamp import STORED_HEADER
from drover.eventlog.stored import COMMIT_HEADER, EPOCH_HEADER, PREVIOUS_HEADER
from drover.service.reasons import reason_of

ANSWER_S: Final = 10.0
BATCH_COMMITS: Final = 1000
"""The maximum number of commits in a batch. It is the default limit of nats-server."""
BATCH_BYTES: Final = 8 * 1024 * 1024
"""A batch with this many bytes gets no more commits: the server keeps a batch in memory until it is complete."""
POSITION_HEADER: Final = "Nats-Expected-Last-Sequence"
"""The header with the expected position in the stream (not in the subject): a commit gets its old position or is
refused."""
BATCH_HEADER: Final = "Nats-Batch-Id"
NUMBER_HEADER: Final = "Nats-Batch-Sequence"
COMMIT_BATCH_HEADER: Final = "Nats-Batch-Commit"

log = structlog.get_logger("drover.eventlog")


class NotTaken(DroverError):
    """The server refused commits, or did not acknowledge them. Only reading the stream shows whether they were
    stored."""


class Returning(msgspec.Struct, frozen=True):
    """A commit to be written back."""

    partition: str
    commit: StoredCommit
    previous: int
    """The sequence of the commit before it in its partition; 0 if there is none."""


class Packed(msgspec.Struct, frozen=True, kw_only=True):
    """Consecutive commits, encoded."""

    first: int
    last: int
    commands: bytes
    """All commits but the last one, as commands of the NATS protocol."""
    subject: str
    headers: dict[str, str]
    payload: bytes
    """The message of the last commit. The server answers only to this one."""


class _Ack(msgspec.Struct):
    seq: int = 0
    error: dict[str, object] | None = None


_decode: Final = msgspec.json.Decoder(_Ack).decode


class Refill:
    """Writes to the stream of one context, and reads it. The stream must exist."""

    def __init__(self, client: Client, context: str) -> None:
        self.context = context
        self.batch_commits = 1
        """How many commits a batch may have. `prepare` raises it if the stream accepts batches."""
        self._client = client
        self._whole = JetStreamLog(client, Partition(context, ALL))

    async def prepare(self) -> None:
        """Allow atomic batches in the stream. If this user may not change it, commits are written one by one."""
        jetstream = self._client.jetstream()
        try:
            config = (await jetstream.stream_info(self.context.upper())).config
            if not config.allow_atomic:
                await jetstream.update_stream(config.evolve(allow_atomic=True))
        except (APIError, NatsError) as error:
            advice = "use a NATS user that may update streams, and nats-server 2.12 or newer"
            log.warning("writing_commits_one_by_one", context=self.context, why=reason_of(error), what_to_do=advice)
        else:
            self.batch_commits = BATCH_COMMITS

    async def last(self) -> StoredCommit | None:
        """Return the last commit of the stream, or None. Raises LogUnreachable."""
        return await self._whole.last()

    def read(self, after: int) -> AbstractAsyncContextManager[Reader]:
        """Read the stream after a position."""
        return self._whole.read(after)

    def pack(self, batch: Sequence[Returning]) -> Packed:
        """Encode consecutive commits for `put`. This can be done while the batch before is being stored."""
        last = batch[-1]
        assert all(one.commit.id.isprintable() for one in batch), "a line break would end the header"
        id_ = uuid4().hex.encode() if len(batch) > 1 else b""
        headers = {
            COMMIT_HEADER: last.commit.id,
            EPOCH_HEADER: str(last.commit.epoch),
            STORED_HEADER: last.commit.stored_at.isoformat(),
            PREVIOUS_HEADER: str(last.previous),
        }
        if id_:
            number = str(len(batch))
            headers |= {BATCH_HEADER: id_.decode(), NUMBER_HEADER: number, COMMIT_BATCH_HEADER: "1"}
        else:
            headers[POSITION_HEADER] = str(last.commit.seq - 1)
        return Packed(
            first=batch[0].commit.seq,
            last=last.commit.seq,
            commands=b"".join(self._commands(batch[:-1], id_)),
            subject=self._subject(last.partition),
            headers=headers,
            payload=last.commit.payload,
        )

    async def put(self, packed: Packed) -> None:
        """Store the commits, all or none; return when they are on disk. If this raises NotTaken, they may still be
        stored, now or later. Call it only after the preceding batch was stored."""
        client = self._client
        try:
            if packed.commands and client.is_connected:
                # Send all in one piece: `publish` takes longer for one message than the server does.
                await client._send_command(packed.commands)
            reply = await client.request(
                packed.subject, packed.payload, timeout=ANSWER_S, headers=cast(dict[str, Any], packed.headers)
            )
            ack = _decode(reply.data)
        except (NatsError, OSError, msgspec.DecodeError) as error:
            raise NotTaken(f"{_named(packed)}: {reason_of(error)}") from error
        if ack.error is not None or ack.seq != packed.last:
            refused = ack.error and ack.error.get("description", "the server refused it")
            raise NotTaken(f"{_named(packed)}: {refused or f'it landed at position {ack.seq}'}")

    def _subject(self, partition: str) -> str:
        return Partition(self.context, partition).subject

    def _commands(self, batch: Sequence[Returning], id_: bytes) -> Iterator[bytes]:
        """Encode the messages as the commands of the NATS protocol that `publish` would send."""
        subjects = {name: self._subject(name).encode() for name in {returning.partition for returning in batch}}
        first = b"\r\n%b: %d" % (POSITION_HEADER.encode(), batch[0].commit.seq - 1) if batch else b""
        for number, returning in enumerate(batch, 1):
            commit = returning.commit
            headers = _HEADERS % (
                commit.id.encode(),
                commit.epoch,
                commit.stored_at.isoformat().encode(),
                returning.previous,
                id_,
                number,
                first if number == 1 else b"",
            )
            size, payload = len(headers), commit.payload
            yield _COMMAND % (subjects[returning.partition], size, size + len(payload), headers, payload)


_COMMAND: Final = b"HPUB %b  %d %d\r\n%b%b\r\n"
"""The template of a NATS command: subject, size of the headers, size of headers and payload together, headers,
payload."""
_HEADERS: Final = (
    "NATS/1.0\r\n"
    f"{COMMIT_HEADER}: %b\r\n{EPOCH_HEADER}: %d\r\n{STORED_HEADER}: %b\r\n{PREVIOUS_HEADER}: %d\r\n"
    f"{BATCH_HEADER}: %b\r\n{NUMBER_HEADER}: %d%b\r\n\r\n"
).encode()


def _named(packed: Packed) -> str:
    return f"commit {packed.first}" if packed.first == packed.last else f"commits {packed.first} to {packed.last}"
