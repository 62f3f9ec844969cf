"""`/api/reminder/users/{id}/timezone`: where a user lives."""

from __future__ import annotations

from typing import Final

import msgspec
from aiohttp import web

from drover.domain.reminder.commands import SetTimezone
from drover.reminder.edge.answers import json_answer
from drover.reminder.edge.callers import Callers, whose
from drover.web.application import add_route
from drover.web.bodies import Body, read_body
from drover.web.commands import PartitionedClient, request_origin
from drover.web.permissions import Verb

PATH: Final = "/api/reminder/users/{id}/timezone"


class _Timezone(msgspec.Struct, forbid_unknown_fields=True):
    timezone: str


_TIMEZONE: Final = Body(_Timezone)


class Users:
    def __init__(self, callers: Callers, clients: PartitionedClient) -> None:
        self._callers = callers
        self._clients = clients

    def add_routes(self, app: web.Application) -> None:
        add_route(app, "PUT", PATH, self.set_timezone)

    async def set_timezone(self, request: web.Request) -> web.Response:
        principal = self._callers.admit(request, Verb.UPDATE)
        raw = await read_body(request)
        wish = _TIMEZONE.decode(raw)
        user_id = whose(principal, request.match_info["id"])
        client = self._clients.of(user_id)
        done = await client.send(SetTimezone(user_id, wish.timezone), request_origin(request, principal, raw=raw))
        return json_answer(done.result, 200, client.position_headers(done.position))
