"""`/api/reminder/users/{id}/timezone`: where a user lives."""

from __future__ import annotations

from typing import Final

import msgspec
from aiohttp import web

from drover.domain.reminder.commands import SetTimezone
from drover.reminder.edge.answers import json_answer
from drover.reminder.edge.asking import Asking
from drover.reminder.edge.callers import Callers, whose
from drover.web.application import add_route
from drover.web.bodies import Body, read_body
from drover.web.idempotency import HEADER as IDEMPOTENCY_KEY
from drover.web.permissions import Verb

PATH: Final = "/api/reminder/users/{id}/timezone"


class _Timezone(msgspec.Struct, forbid_unknown_fields=True):
    timezone: str


_TIMEZONE: Final = Body(_Timezone)


class Users:
    def __init__(self, callers: Callers, asking: Asking) -> None:
        self._callers = callers
        self._asking = asking

    def add_routes(self, app: web.Application) -> None:
        add_route(app, "PUT", PATH, self.set_timezone)

    async def set_timezone(self, request: web.Request) -> web.Response:
        principal = self._callers.admit(request, Verb.UPDATE)
        raw = await read_body(request)
        wish = _TIMEZONE.decode(raw)
        user_id = whose(principal, request.match_info["id"])
        result, headers = await self._asking.of_user(
            user_id,
            SetTimezone(user_id, wish.timezone),
            principal,
            route=f"PUT {request.path}",
            key=request.headers.get(IDEMPOTENCY_KEY),
            raw=raw,
        )
        return json_answer(result, 200, headers)
