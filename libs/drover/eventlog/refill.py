"""Putting commits that were back into a stream that is empty, each at the position and with the time that it had.

For restoring alone: a writer appends with `jetstream`. One at a time: a server that syncs every write is not quicker
with many under way, and behind one that is refused, because somebody else has written, others could still land.
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
"""Of the stream, not of the subject: a commit gets the position that it had, or none."""


class NotTaken(DroverError):
    """The server did not take a commit, or did not say so. Only reading tells what is there."""


class _Ack(msgspec.Struct):
    seq: int = 0
    error: dict[str, object] | None = None


_decode: Final = msgspec.json.Decoder(_Ack).decode


class Refill:
    """One context's stream, which has been made."""

    def __init__(self, client: Client, context: str) -> None:
        self.context = context
        self._client = client
        self._whole = JetStreamLog(client, Partition(context, ALL))

    async def last(self) -> StoredCommit | None:
        """Raises LogUnreachable."""
        return await self._whole.last()

    def read(self) -> AbstractAsyncContextManager[Reader]:
        """All of it, from the first commit on."""
        return self._whole.read(0)

    async def put(self, partition: str, commit: StoredCommit) -> None:
        """Returns when it is on disk. Raises NotTaken, which leaves open whether it is or will be."""
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
            raise NotTaken(f"commit {commit.seq}: {refused or f'it was given position {ack.seq}'}")
