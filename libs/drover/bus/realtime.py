"""What the processes that serve Realtime tell each other: broadcasts and presences, over plain NATS. Nothing is stored.

A broadcast that is lost is lost, as for any client that is away. Presences are numbered for each process; who finds a
hole asks for all of them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

import msgspec
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

SUBJECT: Final = "realtime.peers"
PENDING_MESSAGES_MAX: Final = 10_000
PENDING_BYTES_MAX: Final = 16 * 1024 * 1024
"""That a process may be behind with; beyond it messages are dropped."""

log = structlog.get_logger("drover.bus")


class Broadcast(msgspec.Struct, frozen=True, tag="broadcast", omit_defaults=True):
    process: str
    topic: str
    private: bool
    event: str
    payload: msgspec.Raw = msgspec.Raw(b"{}")
    """What clients get, as JSON."""
    data: bytes | None = None
    """Plain bytes, which clients get instead."""


class Present(msgspec.Struct, frozen=True):
    """A client that is present, in its process."""

    topic: str
    private: bool
    key: str
    ref: str
    meta: msgspec.Raw
    """As clients get it, with `phx_ref`."""


class PresenceMoved(msgspec.Struct, frozen=True, tag="presence"):
    process: str
    number: int
    """Counts the moves of the process."""
    who: Present
    is_here: bool


class PeerBeat(msgspec.Struct, frozen=True, tag="beat"):
    process: str
    number: int
    """Of its last move."""


class PeerAsk(msgspec.Struct, frozen=True, tag="ask"):
    """Somebody has missed moves of the process `of`: it tells all its presences."""

    process: str
    of: str


class PeerSnapshot(msgspec.Struct, frozen=True, tag="snapshot"):
    """All presences of a process, in several parts."""

    process: str
    number: int
    part: int
    parts: int
    present: list[Present]


class PeerLeft(msgspec.Struct, frozen=True, tag="left"):
    """The process stops."""

    process: str


PeerMessage = Broadcast | PresenceMoved | PeerBeat | PeerAsk | PeerSnapshot | PeerLeft

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(PeerMessage).decode


async def tell_peers(client: Client, message: PeerMessage) -> None:
    await client.publish(SUBJECT, _encode(message))


@asynccontextmanager
async def following_peers(client: Client, on_message: Callable[[PeerMessage], None]) -> AsyncIterator[None]:
    """Hand over every message, those of this process included."""

    async def hear(message: Msg) -> None:
        try:
            told = _decode(message.data)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:  # from a newer release
            log.warning("peer_message_unreadable", error=str(error))
            return
        on_message(told)

    subscription = await client.subscribe(
        SUBJECT, cb=hear, pending_msgs_limit=PENDING_MESSAGES_MAX, pending_bytes_limit=PENDING_BYTES_MAX
    )
    try:
        yield
    finally:
        with suppress(NatsError, OSError):
            await subscription.unsubscribe()
