"""Announcements of positions: how far read models are (`live.<schema>`), how far logs are (`committed.<context>`), and
which positions reads wait for (`wanted.<context>`).

A context has one read model for each form that is in use, so each has a schema of its own.
"""

from __future__ import annotations

import asyncio
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
WANTED: Final = "wanted"


class Progress(msgspec.Struct):
    partition: str
    seq: int


async def announce(client: Client, name: str, partition: str, seq: int, *, topic: str = PROJECTED) -> None:
    """Announce a position. `name`: the schema of a read model, or the context of a log. If that fails, nothing is
    raised, because the next announcement replaces a lost one."""
    with suppress(NatsError, OSError):
        await client.publish(f"{topic}.{name}", msgspec.json.encode(Progress(partition, seq)))


def announcing(client: Client, topic: str) -> Callable[[str, str, int], None]:
    """Make a function that announces positions in the order of its calls, and returns at once."""
    sending: set[asyncio.Task[None]] = set()

    def say(context: str, partition: str, seq: int) -> None:
        # Tasks start in the order in which they were made, and publish at once. So messages leave in the order of the
        # calls.
        task = asyncio.get_running_loop().create_task(announce(client, context, partition, seq, topic=topic))
        sending.add(task)
        task.add_done_callback(sending.discard)

    return say


@asynccontextmanager
async def following_progress(
    client: Client, observe: Callable[[str, str, int], None], *, topic: str = PROJECTED
) -> AsyncIterator[None]:
    """Call `observe(name, partition, seq)` for every announcement while the block runs. `name`: see `announce`."""

    async def on_message(message: Msg) -> None:
        with suppress(msgspec.DecodeError):
            progress = msgspec.json.decode(message.data, type=Progress)
            observe(message.subject.removeprefix(f"{topic}."), progress.partition, progress.seq)

    async with subscribed(client, f"{topic}.*", on_message):
        yield
