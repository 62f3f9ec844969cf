"""Publishes an empty message on a subject, without waiting for a reply. Subscribers that are not connected at that
moment miss it."""

from __future__ import annotations

from typing import Final

from nats.aio.client import Client
from nats.errors import Error as NatsError

FLUSH_S: Final = 2


async def broadcast(client: Client, subject: str) -> bool:
    """Publish an empty message on the subject. Return whether it reached the NATS server."""
    try:
        await client.publish(subject)
        await client.flush(timeout=FLUSH_S)
    except (NatsError, OSError, TimeoutError):
        return False
    return True
