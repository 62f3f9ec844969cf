"""The switch that turns a context's side effects off: after an import nothing is sent or rendered until a person allows
it.

The switch is in the metadata of the context's stream. Services read it when they start. A NATS user that may create
streams may change it.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from nats.aio.client import Client
from nats.errors import TimeoutError as NatsTimeout
from nats.js.api import StreamInfo
from nats.js.errors import NotFoundError, ServiceUnavailableError

SWITCH_KEY: Final = "drover_reactors"
OFF: Final = "off"
OUTSIDE_API: Final = "outside.API"
"""The prefix with which an account without JetStream sends requests about the streams of the main account. Requests
with the usual prefix `$JS.API` would only be answered that the account has no JetStream."""


async def contexts_with_reactors_off(
    client: Client, contexts: Iterable[str], *, outside: bool = False
) -> frozenset[str]:
    """Return the contexts whose side effects are switched off. A context without a stream has them on. `outside`:
    whether the client may belong to another account than the log's."""
    found = set()
    for context in contexts:
        try:
            info = await _info(client, context.upper(), outside=outside)
        except NotFoundError:
            continue
        if (info.config.metadata or {}).get(SWITCH_KEY) == OFF:
            found.add(context)
    return frozenset(found)


async def _info(client: Client, stream: str, *, outside: bool) -> StreamInfo:
    if outside:
        # The server has no such account, or this user is in the main one.
        with suppress(ServiceUnavailableError, NatsTimeout):
            return await client.jetstream(prefix=OUTSIDE_API).stream_info(stream)
    return await client.jetstream().stream_info(stream)


async def switch_reactors(client: Client, context: str, *, on: bool) -> None:
    """Switch the side effects of a context on or off. Raises NotFoundError if it has no stream."""
    jetstream = client.jetstream()
    config = (await jetstream.stream_info(context.upper())).config
    metadata = dict(config.metadata or {})
    if on:
        metadata.pop(SWITCH_KEY, None)
    else:
        metadata[SWITCH_KEY] = OFF
    if metadata != config.metadata:
        await jetstream.update_stream(config.evolve(metadata=metadata))
