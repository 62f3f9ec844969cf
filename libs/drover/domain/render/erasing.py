"""Decides erasures of gfx_data (the data to render). The data of each render is sealed with a key of its own, which is
named after the `gfx_id`."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from drover.domain.decider import Decision, accept, answer, reject
from drover.domain.erasure import token_of
from drover.domain.errors import Code
from drover.domain.render.commands import EraseRender
from drover.domain.render.events import RenderErased
from drover.domain.render.state import ENDED, RenderQueue

CONTEXT: Final = "render"


def erase_render(queue: RenderQueue, command: EraseRender, now: datetime) -> Decision:
    render = queue.renders.get(command.render_id)
    if command.render_id > queue.last_id or (render is not None and render.gfx_id != command.gfx_id):
        return reject(Code.NOT_FOUND, "Render not found", render_id=command.render_id)
    if render is not None and render.status not in ENDED:
        message = f"Render {render.render_id} is {render.status}; cancel it first"
        return reject(Code.CONFLICT, message, render_id=render.render_id, status=render.status)
    if is_render_erased(queue, command.gfx_id):
        return answer(told(command.render_id))
    return accept(RenderErased(command.render_id, command.gfx_id))


def is_render_erased(queue: RenderQueue, gfx_id: str) -> bool:
    """Whether the gfx_data with this id is erased. An id is never used again, so its data is erased at most once."""
    return bool(queue.erased) and token_of(CONTEXT, gfx_id) in queue.erased


def told(render_id: int) -> dict[str, int]:
    return {"render_id": render_id}
