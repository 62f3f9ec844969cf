"""The switch that turns a context's reactors off: after an import nothing is sent or rendered until a person agrees.

The switch is in the stream's metadata. Services read it when they start; users that may create streams may change it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from nats.aio.client import Client
from nats.js.errors import NotFoundError

HELD_KEY: Final = "drover_reactors"
HELD: Final = "off"


async def held_contexts(client: Client, contexts: Iterable[str]) -> frozenset[str]:
    """The contexts whose reactors are off. A context without a stream has them on."""
    found = set()
    for context in contexts:
        try:
            info = await client.jetstream().stream_info(context.upper())
        except NotFoundError:
            continue
        if (info.config.metadata or {}).get(HELD_KEY) == HELD:
            found.add(context)
    return frozenset(found)


async def set_held(client: Client, context: str, *, held: bool) -> None:
    """Raises NotFoundError if there is no stream."""
    jetstream = client.jetstream()
    config = (await jetstream.stream_info(context.upper())).config
    metadata = dict(config.metadata or {})
    if held:
        metadata[HELD_KEY] = HELD
    else:
        metadata.pop(HELD_KEY, None)
    if metadata != config.metadata:
        await jetstream.update_stream(config.evolve(metadata=metadata))
