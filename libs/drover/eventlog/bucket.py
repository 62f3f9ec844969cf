"""Creates the NATS key-value buckets that are used beside the log. Other modules decide what is in them."""

from __future__ import annotations

from typing import Final

import nats.js.api as api
from nats.aio.client import Client
from nats.js.errors import NotFoundError

from drover.eventlog.streams import refuse_too_few

MARKER_TTL_S: Final = 60.0
"""How many seconds the bucket keeps the marker of an expired or deleted key, so that watchers learn that the key is
gone."""
WRONG_LAST_SEQUENCE: Final = 10071
NO_MESSAGE_FOUND: Final = 10037
NOTIFIER_BUCKET: Final = "drover_notifier"
"""The bucket in which the notifier records what it has sent, and how far it has read the log. The archiver reads these
positions from it."""


def position_key(context: str) -> str:
    """Return the key of the notifier's position in the log of a context."""
    return f"position.{context}"


async def ensure_bucket(client: Client, bucket: str, *, replicas: int = 1) -> None:
    """Create the bucket if it is missing. Raises TooFewReplicas if it exists with fewer replicas."""
    jetstream = client.jetstream()
    try:
        info = await jetstream.stream_info(f"KV_{bucket}")
    except NotFoundError:
        await jetstream.create_key_value(
            api.KeyValueConfig(
                bucket=bucket,
                history=1,
                storage=api.StorageType.FILE,
                replicas=replicas,
                limit_marker_ttl=MARKER_TTL_S,
            )
        )
    else:
        refuse_too_few(info.config, replicas)
