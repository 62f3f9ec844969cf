"""Messages between the processes that serve Realtime: broadcasts, and which clients are present, over plain NATS.

Nothing is stored. A lost broadcast is not sent again. Each process numbers its messages about presences. A process that
notices a gap in another's numbers asks it for all its presences.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

import msgspec
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg

from drover.bus.subscription import subscribed

SUBJECT: Final = "peers.realtime"
PENDING_MESSAGES_MAX: Final = 10_000
PENDING_BYTES_MAX: Final = 16 * 1024 * 1024
"""How many bytes of messages from other processes may wait to be handled. Beyond it, messages are dropped."""

log = structlog.get_logger("drover.bus")


class Broadcast(msgspec.Struct, frozen=True, tag="broadcast", omit_defaults=True):
    process: str
    topic: str
    private: bool
    event: str
    payload: msgspec.Raw = msgspec.Raw(b"{}")
    """The JSON that clients get."""
    data: bytes | None = None
    """Plain bytes that clients get instead of `payload`. None: they get `payload`."""


class Present(msgspec.Struct, frozen=True):
    """A client that is present in a topic."""

    topic: str
    private: bool
    key: str
    ref: str
    meta: msgspec.Raw
    """What the client says about itself, together with the field `phx_ref`, in the form in which other clients get
    it."""


class PresenceMoved(msgspec.Struct, frozen=True, tag="presence"):
    process: str
    number: int
    """The number of this message among those of its process, so that others notice a gap."""
    who: Present
    is_here: bool


class PeerBeat(msgspec.Struct, frozen=True, tag="beat"):
    process: str
    number: int
    """The number of the last `PresenceMoved` of the process."""


class PeerAsk(msgspec.Struct, frozen=True, tag="ask"):
    """The sender has missed messages of the process `of`, and asks it for all its presences."""

    process: str
    of: str


class PeerSnapshot(msgspec.Struct, frozen=True, tag="snapshot"):
    """One part of the list of all presences of a process. The list has `parts` parts."""

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
    """Call `on_message` for every message, also for those of this process."""

    async def hear(message: Msg) -> None:
        try:
            told = _decode(message.data)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:  # from a newer release
            log.warning("peer_message_unreadable", error=str(error))
            return
        on_message(told)

    async with subscribed(
        client, SUBJECT, hear, pending_msgs_limit=PENDING_MESSAGES_MAX, pending_bytes_limit=PENDING_BYTES_MAX
    ):
        yield
