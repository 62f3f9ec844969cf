"""`/api/reminder/sending`: sets how many due alarms a process claims at a time, at runtime and for all processes."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from aiohttp import web

from drover.domain.reminder.commands import ChangeFetchLimit
from drover.domain.reminder.policy import FETCH_LIMIT_MAX
from drover.web.answers import json_answer
from drover.web.auth import Principal
from drover.web.bodies import Body, read_body
from drover.web.commands import PartitionedClient, request_origin
from drover.web.permissions import Verb
from drover.web.route import Permission, handles, recorded, write

PATH: Final = "/api/reminder/sending"


class ChangeSending(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a request to set how many alarms are claimed at a time."""

    fetch_limit: Annotated[int, msgspec.Meta(ge=1, le=FETCH_LIMIT_MAX)]


class FetchLimit(msgspec.Struct):
    fetch_limit: int


_CHANGE: Final = Body(ChangeSending)


class Sending:
    """The route that sets how many alarms are claimed at a time. The number is recorded in the log, so it also applies
    to processes that start later."""

    def __init__(self, clients: PartitionedClient) -> None:
        self._clients = clients

    @handles(
        write(
            method="PATCH",
            path=PATH,
            id="changeSending",
            tag="reminder",
            summary="Set how many alarms a claim takes",
            permission=Permission("reminder_sending", Verb.UPDATE),
            body=ChangeSending,
            answers={200: recorded(FetchLimit)},
        )
    )
    async def change(self, request: web.Request, principal: Principal) -> web.Response:
        raw = await read_body(request)
        wish = _CHANGE.decode(raw)
        origin = request_origin(request, principal, raw=raw)
        _, headers = await self._clients.send_all([ChangeFetchLimit(wish.fetch_limit)], origin)
        return json_answer(FetchLimit(wish.fetch_limit), headers=headers)
