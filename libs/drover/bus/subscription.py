"""Subscribes to a NATS subject while a block runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError


@asynccontextmanager
async def subscribed(
    client: Client, subject: str, on_message: Callable[[Msg], Awaitable[None]], **options: Any
) -> AsyncIterator[None]:
    """Subscribe to a subject while the block runs. `options` are those of `Client.subscribe`. If the connection is lost
    when the block ends, that is no error."""
    subscription = await client.subscribe(subject, cb=on_message, **options)
    try:
        yield
    finally:
        with suppress(NatsError, OSError):
            await subscription.unsubscribe()
