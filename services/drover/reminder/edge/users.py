"""`/api/reminder/users/{id}/timezone`: sets the time zone of a user."""

from __future__ import annotations

from typing import Final

import msgspec
from aiohttp import web

from drover.domain.reminder import commands
from drover.reminder.edge.callers import for_alarms, whose
from drover.web.auth import Principal
from drover.web.bodies import Body, read_body
from drover.web.commands import PartitionedClient
from drover.web.owner import quota_of
from drover.web.permissions import Verb
from drover.web.route import handles, in_path, recorded, write

PATH: Final = "/api/reminder/users/{id}/timezone"


class SetTimezone(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a request to set a time zone: an IANA name, such as Asia/Seoul."""

    timezone: str


class UserTimezone(msgspec.Struct):
    user_id: str
    timezone: str


_TIMEZONE: Final = Body(SetTimezone)


class Users:
    def __init__(self, clients: PartitionedClient, *, events_per_day: int) -> None:
        """`events_per_day`: the quota of an end user."""
        self._clients = clients
        self._events_per_day = events_per_day

    @handles(
        write(
            method="PUT",
            path=PATH,
            id="setTimezone",
            tag="reminder",
            summary="Set the time zone of a user",
            permission=for_alarms(Verb.UPDATE),
            parameters=(in_path("id", str, "The id of the user."),),
            body=SetTimezone,
            answers={200: recorded(UserTimezone)},
        )
    )
    async def set_timezone(self, request: web.Request, principal: Principal) -> web.Response:
        raw = await read_body(request)
        wish = _TIMEZONE.decode(raw)
        user_id = whose(principal, request.match_info["id"])
        command = commands.SetTimezone(user_id, wish.timezone, quota=quota_of(principal, self._events_per_day))
        return await self._clients.of(user_id).answer(command, request, principal, raw=raw)
