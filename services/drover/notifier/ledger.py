"""The ledger of notices, in a NATS bucket: which receiver got which notice, and how far each log has been read.

A record is written before and after a notice is sent. Each write names the revision that it replaces, so if two
processes both believe that they lead, one of them gets a conflict.
"""

from __future__ import annotations

import base64
from datetime import datetime
from typing import Any, Final, Literal, Protocol

import msgspec
from nats.aio.client import Client
from nats.errors import Error as NatsError

from drover.domain.errors import DroverError
from drover.eventlog.bucket import NO_MESSAGE_FOUND, NOTIFIER_BUCKET, WRONG_LAST_SEQUENCE, position_key
from drover.service.reasons import reason_of

BUCKET: Final = NOTIFIER_BUCKET
REQUEST_S: Final = 2.0
RECORD_TTL_S: Final = 90 * 24 * 3600
"""How many seconds records are kept. The resolution of an alert that lasts longer is not sent."""

State = Literal["begun", "failed", "sent", "dropped"]


class LedgerTrouble(DroverError):
    """The bucket of the ledger did not answer as expected."""


class Taken(DroverError):
    """Another process has written the record in the meantime."""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """The state of one notice for one receiver."""

    state: State
    attempt: int
    by: str
    """The token of the process that wrote the record."""
    until: datetime | None = None
    """For a send in progress: after this time, its process knows the outcome or is dead."""
    at: datetime | None = None
    """For a notice that was sent: when the alert was raised or resolved. The notice of a resolution reads here when the
    alert was raised."""
    message: str = ""
    why: str = ""
    sent_as: str = ""
    """For a send in progress: the key of the message, if it has several notices."""


class Position(msgspec.Struct, frozen=True):
    """The position in a log up to which a context's notices are settled."""

    seq: int
    commit: str = ""
    """The id of the commit at `seq`, which tells a log of another history apart. Empty: unknown."""


class Ledger(Protocol):
    async def position(self, context: str) -> Position | None:
        """Return the settled position. None: the context's log was never read."""

    async def set_position(self, context: str, position: Position) -> None: ...

    async def get(self, receiver: str, key: str) -> tuple[Record | None, int]:
        """Return the record and its revision; revision 0 if there is no record."""

    async def put(self, receiver: str, key: str, record: Record, revision: int) -> int:
        """Write the record if the stored one still has this revision. Returns the new revision. Raises Taken if the
        stored one has another."""


class NatsLedger:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._revisions: dict[str, int] = {}
        """The revisions of the stored positions and their commits, by key, as this process last saw them."""

    async def position(self, context: str) -> Position | None:
        data = await self._read_own(position_key(context))
        if not data:
            return None
        seq = msgspec.json.decode(data, type=int)
        # The commit has a key of its own: other programs, and older ones, read the position as a number.
        named = await self._read_own(f"commit.{context}")
        known = msgspec.json.decode(named, type=Position) if named else None
        return known if known is not None and known.seq == seq else Position(seq)

    async def set_position(self, context: str, position: Position) -> None:
        await self._write_own(position_key(context), msgspec.json.encode(position.seq))
        await self._write_own(f"commit.{context}", msgspec.json.encode(position))

    async def _read_own(self, key: str) -> bytes:
        data, self._revisions[key] = await self._read(key)
        return data

    async def _write_own(self, key: str, body: bytes) -> None:
        if key not in self._revisions:
            await self._read_own(key)
        self._revisions[key] = await self._write(key, body, self._revisions[key], None)

    async def get(self, receiver: str, key: str) -> tuple[Record | None, int]:
        data, revision = await self._read(f"told.{receiver}.{key}")
        return (msgspec.json.decode(data, type=Record) if data else None), revision

    async def put(self, receiver: str, key: str, record: Record, revision: int) -> int:
        return await self._write(f"told.{receiver}.{key}", msgspec.json.encode(record), revision, RECORD_TTL_S)

    async def _read(self, key: str) -> tuple[bytes, int]:
        """Return the value and its revision; empty and 0 if there is none. Reads from the leader of the bucket's
        stream, because a replica may lag."""
        answer = await self._request(
            f"$JS.API.STREAM.MSG.GET.KV_{BUCKET}", msgspec.json.encode({"last_by_subj": f"$KV.{BUCKET}.{key}"})
        )
        if (error := answer.get("error")) is not None:
            if error.get("err_code") == NO_MESSAGE_FOUND:
                return b"", 0
            raise LedgerTrouble(str(error.get("description")))
        message = answer["message"]
        return base64.b64decode(message.get("data", "")), int(message["seq"])

    async def _write(self, key: str, body: bytes, revision: int, ttl_s: int | None) -> int:
        headers = {"Nats-Expected-Last-Subject-Sequence": str(revision)}
        if ttl_s is not None:
            headers["Nats-TTL"] = f"{ttl_s}s"
        answer = await self._request(f"$KV.{BUCKET}.{key}", body, headers)
        if (error := answer.get("error")) is not None:
            if error.get("err_code") == WRONG_LAST_SEQUENCE:
                return await self._landed_unseen(key, body)
            raise LedgerTrouble(str(error.get("description")))
        return int(answer["seq"])

    async def _landed_unseen(self, key: str, body: bytes) -> int:
        """Return the stored revision if the stored body equals ours: then an earlier write of this process was stored,
        and only its acknowledgement was lost. Raises Taken if the body is another."""
        data, revision = await self._read(key)
        if data != body:
            raise Taken(key)
        return revision

    async def _request(self, subject: str, body: bytes, headers: dict[str, str] | None = None) -> dict[str, Any]:
        try:
            reply = await self._client.request(subject, body, timeout=REQUEST_S, headers=headers)
            return msgspec.json.decode(reply.data, type=dict[str, Any])
        except (NatsError, OSError, msgspec.DecodeError) as error:
            raise LedgerTrouble(reason_of(error)) from error
