"""`/rest/v1/rpc/clear_render_cache`: workers forget what they know of templates, mappings and compositions (RN-13)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from drover.gateway.rpc import Answer, Call, Function, Nothing
from drover.web.bodies import Body
from drover.web.errors import unavailable

CLEAR_CACHE: Final = "render.cache.clear"
"""What workers listen to."""

Tell = Callable[[str], Awaitable[bool]]
"""Say a word (a subject) to whoever listens, and nobody answers. False: it could not be said."""


async def tell_nobody(subject: str) -> bool:
    """Where there is nobody to tell."""
    return False


def render_functions(tell: Tell) -> Mapping[str, Function]:
    async def clear(call: Call, _: Nothing) -> Answer:
        if not await tell(CLEAR_CACHE):
            raise unavailable("Workers cannot be reached at the moment")
        return Answer({"asked": True})

    return {"clear_render_cache": Function(Body(Nothing), clear)}
