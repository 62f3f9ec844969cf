"""A word to whoever listens on a subject: nobody answers, and who was away has missed it."""

from __future__ import annotations

from typing import Final

from nats.aio.client import Client
from nats.errors import Error as NatsError

FLUSH_S: Final = 2


async def say(client: Client, subject: str) -> bool:
    """Whether it has reached the server."""
    try:
        await client.publish(subject)
        await client.flush(timeout=FLUSH_S)
    except (NatsError, OSError, TimeoutError):
        return False
    return True
