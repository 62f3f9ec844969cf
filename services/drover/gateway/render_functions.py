"""`/rest/v1/rpc/clear_render_cache`: clears the workers' caches of templates, mappings and compositions (RN-13)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from drover.gateway.rpc import Answer, Call, Function, Nothing
from drover.web.bodies import Body
from drover.web.errors import unavailable

CLEAR_CACHE: Final = "render.cache.clear"
"""The NATS subject of the message that tells workers to clear their caches."""

Tell = Callable[[str], Awaitable[bool]]
"""Publishes an empty message on a subject, without a reply. False: it could not be published."""


async def tell_nobody(subject: str) -> bool:
    """Publish nothing: the `Tell` of a process that has no workers to tell."""
    return False


def render_functions(tell: Tell) -> Mapping[str, Function]:
    async def clear(call: Call, _: Nothing) -> Answer:
        if not await tell(CLEAR_CACHE):
            raise unavailable("Workers cannot be reached at the moment")
        return Answer({"asked": True})

    return {"clear_render_cache": Function(Body(Nothing), clear)}
