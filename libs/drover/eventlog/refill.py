"""Writes archived commits back into an empty stream, each at its old position and with its old time.

Only for restoring; writers append with `jetstream`. It writes atomic batches: the server stores all commits of a batch
or none, and syncs once for all of them. Only one batch is in flight: if one of several were refused because another
program wrote at its position, those after it could still be stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final

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


class _Ack(msgspec.Struct):
    seq: int = 0
    error: dict[str, object] | None = None


_decode: Final = msgspec.json.Decoder(_Ack).decode


class Refill:
    """Writes to the stream of one context, and reads it. The stream must exist."""

    def __init__(self, client: Client, context: str) -> None:
        self.context = context
        self.batch_commits = 1
        """How many commits `put` takes at once. `prepare` raises it if the stream takes batches."""
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

    async def put(self, batch: Sequence[Returning]) -> None:
        """Store consecutive commits, all or none; return when they are on disk. If this raises NotTaken, they may still
        be stored, now or later."""
        client, last = self._client, batch[-1]
        id_ = uuid4().hex if len(batch) > 1 else ""
        headers = _headers(last, id_, len(batch))
        if id_:
            headers[COMMIT_BATCH_HEADER] = "1"
        try:
            if id_ and client.is_connected:
                # In one piece, because `publish` needs more time for a message than the server does.
                await client._send_command(b"".join(self._encoded(batch[:-1], id_)))
            reply = await client.request(self._subject(last), last.commit.payload, timeout=ANSWER_S, headers=headers)
            ack = _decode(reply.data)
        except (NatsError, OSError, msgspec.DecodeError) as error:
            raise NotTaken(f"{_named(batch)}: {reason_of(error)}") from error
        if ack.error is not None or ack.seq != last.commit.seq:
            refused = ack.error and ack.error.get("description", "the server refused it")
            raise NotTaken(f"{_named(batch)}: {refused or f'it landed at position {ack.seq}'}")

    def _subject(self, returning: Returning) -> str:
        return Partition(self.context, returning.partition).subject

    def _encoded(self, batch: Sequence[Returning], id_: str) -> Iterator[bytes]:
        """Encode the messages as the commands of the NATS protocol that `publish` would send."""
        subjects = {returning.partition: self._subject(returning) for returning in batch}
        for number, returning in enumerate(batch, 1):
            payload = returning.commit.payload
            pairs = "\r\n".join(map(": ".join, _headers(returning, id_, number).items()))
            headers = f"NATS/1.0\r\n{pairs}\r\n\r\n".encode()
            sizes = f"{len(headers)} {len(headers) + len(payload)}"
            yield b"%b%b%b\r\n" % (f"HPUB {subjects[returning.partition]}  {sizes}\r\n".encode(), headers, payload)


def _headers(returning: Returning, id_: str, number: int) -> dict[str, str]:
    commit = returning.commit
    assert commit.id.isprintable(), "a line break would end the header"
    headers = {
        COMMIT_HEADER: commit.id,
        EPOCH_HEADER: str(commit.epoch),
        STORED_HEADER: commit.stored_at.isoformat(),
        PREVIOUS_HEADER: str(returning.previous),
    }
    if number == 1:
        headers[POSITION_HEADER] = str(commit.seq - 1)
    if id_:
        headers[BATCH_HEADER] = id_
        headers[NUMBER_HEADER] = str(number)
    return headers


def _named(batch: Sequence[Returning]) -> str:
    first, last = batch[0].commit.seq, batch[-1].commit.seq
    return f"commit {first}" if first == last else f"commits {first} to {last}"
