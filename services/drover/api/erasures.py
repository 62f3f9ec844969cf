"""`/api/erasures`: admins erase a person, or the content of a render."""

from __future__ import annotations

from typing import Any, Final

from aiohttp import web

from drover.web.answers import json_answer
from drover.web.auth import Principal
from drover.web.commands import request_origin
from drover.web.erasing import ErasedRender, ErasedUser, Eraser
from drover.web.errors import invalid
from drover.web.permissions import Verb
from drover.web.route import Permission, Route, handles, in_path, recorded, write

PATH: Final = "/api/erasures"
RENDER_ID_MAX: Final = 2**53


def _erases(what: str, *, id: str, summary: str, type_: type, answer: Any) -> Route:
    return write(
        path=f"{PATH}/{what}/{{id}}",
        id=id,
        tag="system",
        summary=summary,
        permission=Permission("erasures", Verb.CREATE),
        parameters=(in_path("id", type_, "Its id."),),
        answers={200: recorded(answer)},
        errors=(404, 409),
    )


class Erasures:
    def __init__(self, eraser: Eraser) -> None:
        self._eraser = eraser

    @handles(_erases("users", id="eraseUser", summary="Erase a user for ever", type_=str, answer=ErasedUser))
    async def user(self, request: web.Request, principal: Principal) -> web.Response:
        done = await self._eraser.erase_user(request.match_info["id"], request_origin(request, principal))
        return json_answer(done.answer, headers=done.positions)

    @handles(
        _erases(
            "renders",
            id="eraseRender",
            summary="Erase the gfx_data of a render for ever",
            type_=int,
            answer=ErasedRender,
        )
    )
    async def render(self, request: web.Request, principal: Principal) -> web.Response:
        text = request.match_info["id"]
        if not (text.isascii() and text.isdigit() and len(text) <= 16 and int(text) < RENDER_ID_MAX):
            raise invalid("The id of a render is a number", field="id", value=text[:64])
        done = await self._eraser.erase_render(int(text), request_origin(request, principal))
        return json_answer(done.answer, headers=done.positions)
