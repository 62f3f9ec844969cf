"""Changed rows of the read models on their way to whoever shows them: `rows.<context>.<relation>`, over plain NATS.

Nothing is stored and nothing is sent twice. Each message says what it follows on, and a heartbeat says what the last
ones were, so that a reader knows when it has missed something; it then reads the relation again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import datetime
from typing import Any, Final, Protocol

import msgspec
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

HEARTBEAT: Final = "heartbeat"
"""No relation has this name. On a subject beside theirs, so that one subscription has all of a context in order."""
PENDING_MESSAGES_MAX: Final = 10_000
PENDING_BYTES_MAX: Final = 16 * 1024 * 1024
"""That a reader may be behind with; beyond it messages are dropped, which it notices by the next one."""

log = structlog.get_logger("drover.bus")
_encode: Final = msgspec.json.Encoder().encode


class RowsChanged(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What changed in one relation between two positions of a partition."""

    epoch: str
    """The projector's term. A reader that has heard of another one has missed something."""
    partition: str
    after: int = msgspec.field(name="from")
    """`to` of the message before this one, of the same relation, partition and epoch."""
    to: int
    rows: list[msgspec.Raw] = []
    """As the relation shows them now."""
    new: list[Any] = []
    """Keys of those rows that did not exist before, each as in `gone`."""
    gone: list[Any] = []
    """Keys of rows that are no more, each as an array in the order of the relation's key."""
    reset: bool = False
    """There were too many to tell: read the relation again."""
    at: datetime | None = None
    """When the rows were committed. None: from an older projector."""


class RowsHeartbeat(msgspec.Struct, frozen=True, kw_only=True):
    """Where a partition stands, and what was last told of each of its relations."""

    epoch: str
    partition: str
    seq: int
    last: dict[str, int]


class PublishRows(Protocol):
    """Where a projector sends what changed. May fail or hang: its caller has a bound for both."""

    async def changed(self, context: str, relation: str, message: RowsChanged) -> None: ...

    async def heartbeat(self, context: str, message: RowsHeartbeat) -> None: ...


class NatsRows:
    """Messages that cannot be sent now are never sent later."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def changed(self, context: str, relation: str, message: RowsChanged) -> None:
        await self._client.publish(f"rows.{context}.{relation}", _encode(message))

    async def heartbeat(self, context: str, message: RowsHeartbeat) -> None:
        await self._client.publish(f"rows.{context}.{HEARTBEAT}", _encode(message))


def subjects(contexts: Iterable[str]) -> tuple[str, ...]:
    """All that is said of these contexts."""
    return tuple(f"rows.{context}.>" for context in contexts)


_decode_changed: Final = msgspec.json.Decoder(RowsChanged).decode
_decode_heartbeat: Final = msgspec.json.Decoder(RowsHeartbeat).decode

OnChanged = Callable[[str, str, RowsChanged], None]
"""(context, relation, message)."""
OnHeartbeat = Callable[[str, RowsHeartbeat], None]


@asynccontextmanager
async def following_rows(
    client: Client, contexts: Iterable[str], on_changed: OnChanged, on_heartbeat: OnHeartbeat
) -> AsyncIterator[None]:
    """Hand over every message of these contexts. Those of one context come in the order in which they were sent."""

    async def on_message(message: Msg) -> None:
        _, context, relation = message.subject.split(".", 2)
        try:
            if relation == HEARTBEAT:
                on_heartbeat(context, _decode_heartbeat(message.data))
            else:
                on_changed(context, relation, _decode_changed(message.data))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            # Its successor does not follow on what was heard, so nothing is missed in silence.
            log.warning("rows_unreadable", subject=message.subject, error=str(error))

    async with AsyncExitStack() as stack:
        for subject in subjects(contexts):
            subscription = await client.subscribe(
                subject,
                cb=on_message,
                pending_msgs_limit=PENDING_MESSAGES_MAX,
                pending_bytes_limit=PENDING_BYTES_MAX,
            )
            stack.push_async_callback(_unsubscribe, subscription)
        yield


async def _unsubscribe(subscription: Any) -> None:
    with suppress(NatsError, OSError):
        await subscription.unsubscribe()
