"""The log on NATS JetStream. It appends only at the expected sequence, and finds out whether an append without an
acknowledgement was stored."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, Final

import msgspec
import structlog
from nats.aio.client import Client
from nats.errors import Error as NatsError

from drover.eventlog.log import (
    ALL,
    AppendConflict,
    AppendUnsettled,
    BelowBottom,
    Commit,
    LogFull,
    LogUnreachable,
    Partition,
    StoredCommit,
    Unsettled,
)
from drover.eventlog.reader import JetStreamReader
from drover.eventlog.stored import COMMIT_HEADER, EPOCH_HEADER, EXPECTED_HEADER, stored_commit
from drover.service.reasons import reason_of

APPEND_TRY_S: Final = 3.0
"""How long one try to append waits for its acknowledgement. After that, we read the log to see whether it was
stored."""
APPEND_SETTLE_S: Final = 30.0
"""How many seconds it may take to find out whether an append was stored. It is longer than any election of NATS
servers. After that the process ends, and reads the log when it starts again."""
RETRY_PAUSE_S: Final = 0.1
READ_TIMEOUT_S: Final = 5.0
SETTLE_READ_S: Final = 1.0
"""The time-out for reading whether an append was stored. It is short, because no server answers while the stream has no
leader, and the next try finds the new leader."""

NO_MESSAGE_FOUND: Final = 10037
FULL: Final = {
    10077: ("maximum bytes exceeded", "maximum messages exceeded"),
    10023: ("insufficient resources",),
    10002: ("resource limits exceeded for account",),
}
"""By error code, the texts with which a server says that a limit is reached and that it has stored nothing. The limit
is one of the stream, of the server or of the account. 10077 stands for any failure to store, so the text must match,
too."""

log = structlog.get_logger("drover.eventlog")


class _ApiError(msgspec.Struct):
    code: int = 0
    err_code: int = 0
    description: str = ""


class _PubAck(msgspec.Struct):
    seq: int = 0
    error: _ApiError | None = None


class _Failed(msgspec.Struct):
    """A try to append that was not acknowledged."""

    reason: str
    """Why there was no acknowledgement, as a text for people."""
    full: bool = False
    """Whether the server refused it because a limit is reached: this publish will never be stored."""


class _StoredMessage(msgspec.Struct):
    seq: int
    time: datetime
    data: str = ""
    hdrs: str = ""


class _GetAnswer(msgspec.Struct):
    message: _StoredMessage | None = None
    error: _ApiError | None = None


_decode_ack = msgspec.json.Decoder(_PubAck).decode
_decode_get = msgspec.json.Decoder(_GetAnswer).decode


class JetStreamLog:
    """The log of one partition. Connect its client with `pending_size=-1`: otherwise nats-py may keep a publish and
    send it much later, after a reconnect."""

    def __init__(self, client: Client, partition: Partition, *, append_try_s: float = APPEND_TRY_S) -> None:
        self.partition = partition
        self._client = client
        self._append_try_s = append_try_s
        self.unsettled: Unsettled | None = None

    async def append(self, commit: Commit, expected: int) -> int:
        self.unsettled = unsettled = Unsettled(time.monotonic())
        try:
            return await self._append(commit, expected, unsettled)
        finally:
            self.unsettled = None

    async def _append(self, commit: Commit, expected: int, unsettled: Unsettled) -> int:
        headers = {
            COMMIT_HEADER: commit.id,
            EPOCH_HEADER: str(commit.epoch),
            EXPECTED_HEADER: str(expected),
        }
        started = asyncio.get_running_loop().time()
        tries = 0
        in_doubt = False
        # A time-out, "no responders" or an error code does not prove that the message was not stored: with three
        # replicas we have seen it appear later. Only three things settle an append: an acknowledgement, the next
        # message on the subject, or a limit that refuses the first try. Until then we send the identical bytes again.
        while True:
            tries += 1
            answer = await self._publish(commit, headers)
            if isinstance(answer, int):
                return answer
            if answer.full and not in_doubt:
                raise LogFull(answer.reason)
            in_doubt = True  # from here on, even after "full" an earlier try may still be stored
            unsettled.last_result = answer.reason
            if tries == 1:
                log.warning("append_unsettled", subject=self.partition.subject, commit=commit.id, why=answer.reason)
            settled = await self._next_after(expected)
            elapsed_s = asyncio.get_running_loop().time() - started
            if settled is not None:
                ours = settled.id == commit.id
                log.info("append_settled", commit=commit.id, ours=ours, tries=tries, elapsed_s=round(elapsed_s, 3))
                if ours:
                    return settled.seq
                raise AppendConflict
            if elapsed_s > APPEND_SETTLE_S:
                raise AppendUnsettled
            await asyncio.sleep(RETRY_PAUSE_S)

    async def _publish(self, commit: Commit, headers: dict[str, str]) -> int | _Failed:
        """Publish once. Return the sequence if the commit was acknowledged, else the reason why not. Without an
        acknowledgement the commit may still be in the log, unless a limit was the reason."""
        try:
            reply = await self._client.request(
                self.partition.subject, commit.payload, timeout=self._append_try_s, headers=headers
            )
            ack = _decode_ack(reply.data)
        except (NatsError, OSError, msgspec.DecodeError) as error:
            return _Failed(reason_of(error))
        if ack.error is not None:
            code, text = ack.error.err_code, ack.error.description
            return _Failed(f"{code} {text}", full=text in FULL.get(code, ()))
        return ack.seq or _Failed("an answer without a sequence")

    async def _next_after(self, seq: int) -> StoredCommit | None:
        try:
            return await self._ask({"seq": seq + 1, "next_by_subj": self.partition.subject}, SETTLE_READ_S)
        except LogUnreachable:
            return None

    async def last(self) -> StoredCommit | None:
        return await self._ask({"last_by_subj": self.partition.subject})

    async def context_end(self) -> int:
        last = await self._ask({"last_by_subj": Partition(self.partition.context, ALL).subject})
        return last.seq if last else 0

    async def get(self, seq: int) -> StoredCommit | None:
        if seq < 1:
            return None  # sequences begin at 1, and NATS refuses to look for any other
        found = await self._ask({"seq": seq})
        if found is None and await self._has_more(seq):
            raise BelowBottom(self.partition, seq - 1)
        return found

    async def next_after(self, seq: int) -> StoredCommit | None:
        """Return the first commit after a position that the stream still has of this partition; None if there is none.
        Commits in between may have been purged."""
        return await self._ask({"seq": seq + 1, "next_by_subj": self.partition.subject})

    async def _has_more(self, seq: int) -> bool:
        """Whether the context has commits after a position."""
        whole = Partition(self.partition.context, ALL).subject
        return await self._ask({"seq": seq + 1, "next_by_subj": whole}) is not None

    async def _ask(self, question: dict[str, Any], within_s: float = READ_TIMEOUT_S) -> StoredCommit | None:
        """Read one message from the stream's leader. Direct Get is never used, because a replica that lags behind may
        answer it."""
        subject = f"$JS.API.STREAM.MSG.GET.{self.partition.stream}"
        try:
            reply = await self._client.request(subject, msgspec.json.encode(question), timeout=within_s)
            answer = _decode_get(reply.data)
        except (NatsError, OSError, msgspec.DecodeError) as error:
            raise LogUnreachable(reason_of(error)) from error
        if answer.message is not None:
            return _stored(self.partition.stream, answer.message)
        if answer.error is not None and answer.error.err_code == NO_MESSAGE_FOUND:
            return None
        raise LogUnreachable(answer.error.description if answer.error else "empty answer")

    @asynccontextmanager
    async def read(self, after: int) -> AsyncIterator[JetStreamReader]:
        reader = JetStreamReader(self._client, self.partition, after)
        try:
            yield reader
        finally:
            await reader.close()


def _stored(stream: str, message: _StoredMessage) -> StoredCommit:
    headers = _parse_headers(base64.b64decode(message.hdrs))
    return stored_commit(stream, message.seq, headers, message.time, base64.b64decode(message.data))


def _parse_headers(raw: bytes) -> dict[str, str]:
    pairs = (line.partition(":") for line in raw.decode().split("\r\n")[1:] if line)
    return {name: value.strip() for name, _, value in pairs}
