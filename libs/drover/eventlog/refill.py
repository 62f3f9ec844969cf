"""Writes archived commits back into an empty stream, each at its old position and with its old time.

Only for restoring; writers append with `jetstream`. It writes one commit at a time: a server that syncs every write is
no faster with several at once. And if one of several were refused because another program wrote at its position, those
after it could still be stored.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Final

import msgspec
from nats.aio.client import Client
from nats.errors import Error as NatsError

from drover.domain.errors import DroverError
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import ALL, Partition, Reader, StoredCommit
from drover.eventlog.stamp import STORED_HEADER
from drover.eventlog.stored import COMMIT_HEADER, EPOCH_HEADER
from drover.service.reasons import reason_of

ANSWER_S: Final = 3.0
POSITION_HEADER: Final = "Nats-Expected-Last-Sequence"
"""The header with the expected position in the stream (not in the subject): a commit gets its old position or is
refused."""


class NotTaken(DroverError):
    """The server refused a commit, or did not acknowledge it. Only reading the stream shows whether it was stored."""


class _Ack(msgspec.Struct):
    seq: int = 0
    error: dict[str, object] | None = None


_decode: Final = msgspec.json.Decoder(_Ack).decode


class Refill:
    """Writes to the stream of one context, and reads it. The stream must exist."""

    def __init__(self, client: Client, context: str) -> None:
        self.context = context
        self._client = client
        self._whole = JetStreamLog(client, Partition(context, ALL))

    async def last(self) -> StoredCommit | None:
        """Return the last commit of the stream, or None. Raises LogUnreachable."""
        return await self._whole.last()

    def read(self) -> AbstractAsyncContextManager[Reader]:
        """Read the whole stream, from the first commit on."""
        return self._whole.read(0)

    async def put(self, partition: str, commit: StoredCommit) -> None:
        """Store a commit; return when it is on disk. If this raises NotTaken, the commit may still be stored, now or
        later."""
        headers = {
            COMMIT_HEADER: commit.id,
            EPOCH_HEADER: str(commit.epoch),
            STORED_HEADER: commit.stored_at.isoformat(),
            POSITION_HEADER: str(commit.seq - 1),
        }
        subject = Partition(self.context, partition).subject
        try:
            reply = await self._client.request(subject, commit.payload, timeout=ANSWER_S, headers=headers)
            ack = _decode(reply.data)
        except (NatsError, OSError, msgspec.DecodeError) as error:
            raise NotTaken(f"commit {commit.seq}: {reason_of(error)}") from error
        if ack.error is not None or ack.seq != commit.seq:
            refused = ack.error and ack.error.get("description", "the server refused it")
            raise NotTaken(f"commit {commit.seq}: {refused or f'it landed at position {ack.seq}'}")
