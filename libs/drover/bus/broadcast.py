"""A broadcast on a subject: no reply, and subscribers that are away miss it."""

from __future__ import annotations

from typing import Final

from nats.aio.client import Client
from nats.errors import Error as NatsError

FLUSH_S: Final = 2


async def broadcast(client: Client, subject: str) -> bool:
    """Return whether the message reached the server."""
    try:
        await client.publish(subject)
        await client.flush(timeout=FLUSH_S)
    except (NatsError, OSError, TimeoutError):
        return False
    return True
