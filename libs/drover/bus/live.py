"""Announcements on `live.<context>` of how far the read models are. Requests that wait for a position need them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import msgspec
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from drover.bus.subscription import subscribed


class Progress(msgspec.Struct):
    partition: str
    seq: int


async def announce(client: Client, context: str, partition: str, seq: int) -> None:
    """Announce a position. This may fail: a service that misses it reads the checkpoint in the database."""
    with suppress(NatsError, OSError):
        await client.publish(f"live.{context}", msgspec.json.encode(Progress(partition, seq)))


@asynccontextmanager
async def following_progress(client: Client, observe: Callable[[str, str, int], None]) -> AsyncIterator[None]:
    """Call `observe(context, partition, seq)` for every announcement while the block runs."""

    async def on_message(message: Msg) -> None:
        with suppress(msgspec.DecodeError):
            progress = msgspec.json.decode(message.data, type=Progress)
            observe(message.subject.removeprefix("live."), progress.partition, progress.seq)

    async with subscribed(client, "live.*", on_message):
        yield
