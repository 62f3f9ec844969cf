"""Announcements of how far read models (`live.<context>`) and logs (`committed.<context>`) are. Reads that wait for
writes need them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

import msgspec
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from drover.bus.subscription import subscribed

PROJECTED: Final = "live"
COMMITTED: Final = "committed"


class Progress(msgspec.Struct):
    partition: str
    seq: int


async def announce(client: Client, context: str, partition: str, seq: int, *, topic: str = PROJECTED) -> None:
    """Announce a position. This may fail: the next announcement replaces a lost one."""
    with suppress(NatsError, OSError):
        await client.publish(f"{topic}.{context}", msgspec.json.encode(Progress(partition, seq)))


@asynccontextmanager
async def following_progress(
    client: Client, observe: Callable[[str, str, int], None], *, topic: str = PROJECTED
) -> AsyncIterator[None]:
    """Call `observe(context, partition, seq)` for every announcement while the block runs."""

    async def on_message(message: Msg) -> None:
        with suppress(msgspec.DecodeError):
            progress = msgspec.json.decode(message.data, type=Progress)
            observe(message.subject.removeprefix(f"{topic}."), progress.partition, progress.seq)

    async with subscribed(client, f"{topic}.*", on_message):
        yield
