"""Messages about changed rows of the read models, on the subjects `changed.<context>.<schema>.<relation>`, over plain
NATS.

Each form of a read model has its own schema, so readers get only the rows of the form that they read. Messages are
neither stored nor repeated. Each message names the position of the message before it, and a heartbeat names the last
position of every relation. So a reader notices a lost message, and then reads the relation again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from typing import Any, Final, Protocol

import msgspec
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg

from drover.bus.subscription import subscribed

HEARTBEAT: Final = "heartbeat"
"""The last part of the subject of heartbeats, in place of a relation's name. So one subscription gets the heartbeats
and the rows of a context in order."""
PENDING_MESSAGES_MAX: Final = 10_000
PENDING_BYTES_MAX: Final = 16 * 1024 * 1024
"""How many bytes of messages may wait for a reader. Beyond it messages are dropped, and the reader notices the gap at
the next message."""

log = structlog.get_logger("drover.bus")
_encode: Final = msgspec.json.Encoder().encode


class RowsChanged(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The rows of one relation that changed between two positions of a partition."""

    epoch: str
    """Identifies the term of the projector. If it differs from the last one that a reader saw, the reader may have
    missed messages."""
    partition: str
    after: int = msgspec.field(name="from")
    """The `to` of the previous message of the same relation, partition and epoch.

    If it equals this message's own `to`, only telemetry has changed the rows, and no commit. Losing such a message
    leaves no gap.
    """
    to: int
    rows: list[msgspec.Raw] = []
    """The changed rows, as the relation shows them now."""
    new: list[Any] = []
    """The keys of rows that did not exist before, in the form of `gone`."""
    gone: list[Any] = []
    """Keys of deleted rows, each as an array in the order of the relation's key columns."""
    reset: bool = False
    """Too many rows have changed to send them: the reader must read the relation again."""
    at: datetime | None = None
    """When the rows were committed. None: the message is from an older projector."""
    more: bool = False
    """Whether the next message is about the same commits. If so, a reader can wait for it and apply both at once."""


class RowsHeartbeat(msgspec.Struct, frozen=True, kw_only=True):
    """The current position of a partition, and the last `to` that was sent for each of its relations."""

    epoch: str
    partition: str
    seq: int
    last: dict[str, int]


class PublishRows(Protocol):
    """Where a projector sends changed rows. It may fail or hang, so the caller limits how long it waits."""

    async def changed(self, context: str, relation: str, message: RowsChanged) -> None: ...

    async def heartbeat(self, context: str, message: RowsHeartbeat) -> None: ...


class NatsRows:
    """Publishes to NATS. A message that cannot be sent now is never sent later."""

    def __init__(self, client: Client, schema_of: Callable[[str], str]) -> None:
        """`schema_of`: returns the schema of a context's read model."""
        self._client = client
        self._schema_of = schema_of

    async def changed(self, context: str, relation: str, message: RowsChanged) -> None:
        await self._client.publish(subject_of(context, self._schema_of(context), relation), _encode(message))

    async def heartbeat(self, context: str, message: RowsHeartbeat) -> None:
        await self._client.publish(subject_of(context, self._schema_of(context), HEARTBEAT), _encode(message))


def subject_of(context: str, schema: str, relation: str) -> str:
    return f"changed.{context}.{schema}.{relation}"


def subjects(contexts: Iterable[str]) -> tuple[str, ...]:
    """Return the subject patterns that match all messages about these contexts, of every form."""
    return tuple(subject_of(context, "*", ">") for context in contexts)


_decode_changed: Final = msgspec.json.Decoder(RowsChanged).decode
_decode_heartbeat: Final = msgspec.json.Decoder(RowsHeartbeat).decode

OnChanged = Callable[[str, str, RowsChanged], None]
"""Called with (context, relation, message)."""
OnHeartbeat = Callable[[str, RowsHeartbeat], None]


@asynccontextmanager
async def following_rows(
    client: Client, schemas: Mapping[str, str], on_changed: OnChanged, on_heartbeat: OnHeartbeat
) -> AsyncIterator[None]:
    """While the block runs, call the functions with every message about these read models. `schemas`: the schema to
    read, by context. Messages of one context arrive in the order of sending."""

    async def on_message(message: Msg) -> None:
        _, context, _, relation = message.subject.split(".", 3)
        try:
            if relation == HEARTBEAT:
                on_heartbeat(context, _decode_heartbeat(message.data))
            else:
                on_changed(context, relation, _decode_changed(message.data))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            # The next message names the position of this one as `from`, so the reader notices the gap.
            log.warning("rows_unreadable", subject=message.subject, error=str(error))

    async with AsyncExitStack() as stack:
        for subject in (subject_of(context, schema, ">") for context, schema in schemas.items()):
            await stack.enter_async_context(
                subscribed(
                    client,
                    subject,
                    on_message,
                    pending_msgs_limit=PENDING_MESSAGES_MAX,
                    pending_bytes_limit=PENDING_BYTES_MAX,
                )
            )
        yield
