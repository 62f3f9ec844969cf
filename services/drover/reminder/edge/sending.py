"""`/api/reminder/sending`: how many alarms a claim takes, changed while everything runs, on all instances at once."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from aiohttp import web

from drover.domain.reminder.commands import ChangeFetchLimit
from drover.domain.reminder.policy import FETCH_LIMIT_MAX
from drover.reminder.edge.answers import json_answer
from drover.reminder.edge.callers import Callers
from drover.web.application import add_route
from drover.web.bodies import Body, read_body
from drover.web.commands import PartitionedClient, request_origin
from drover.web.permissions import Verb

PATH: Final = "/api/reminder/sending"
RELATION: Final = "reminder_sending"


class _Change(msgspec.Struct, forbid_unknown_fields=True):
    fetch_limit: Annotated[int, msgspec.Meta(ge=1, le=FETCH_LIMIT_MAX)]


_CHANGE: Final = Body(_Change)


class Sending:
    """It is recorded, so it holds for instances that start later, too."""

    def __init__(self, callers: Callers, clients: PartitionedClient) -> None:
        self._callers = callers
        self._clients = clients

    def add_routes(self, app: web.Application) -> None:
        add_route(app, "PATCH", PATH, self.change)

    async def change(self, request: web.Request) -> web.Response:
        principal = self._callers.demand(request, RELATION, Verb.UPDATE)
        raw = await read_body(request)
        wish = _CHANGE.decode(raw)
        origin = request_origin(request, principal, raw=raw)
        _, headers = await self._clients.send_all([ChangeFetchLimit(wish.fetch_limit)], origin)
        return json_answer({"fetch_limit": wish.fetch_limit}, 200, headers)
