"""`/api/reminder/subscriptions`: browsers that want to be pushed to. What is secret about them is sealed here."""

from __future__ import annotations

from typing import Final

import msgspec
from aiohttp import web

from drover.domain.reminder.commands import AddSubscription, RemoveSubscription
from drover.reminder.edge.answers import json_answer
from drover.reminder.edge.callers import Callers, whose
from drover.reminder.providers.push_keys import PushSubscription, id_of, sealed
from drover.service.sealing import Sealer
from drover.web.application import add_route
from drover.web.bodies import Body, read_body
from drover.web.commands import PartitionedClient, request_origin
from drover.web.errors import ApiError
from drover.web.permissions import Verb

PATH: Final = "/api/reminder/subscriptions"
KEY_PATH: Final = "/api/reminder/vapid-public-key"
CHANNEL: Final = "webpush"


class _Subscribe(msgspec.Struct, forbid_unknown_fields=True):
    subscription: PushSubscription
    user_id: str | None = None


_SUBSCRIBE: Final = Body(_Subscribe)


class Subscriptions:
    def __init__(
        self, callers: Callers, clients: PartitionedClient, sealer: Sealer | None, public_key: str | None
    ) -> None:
        """`sealer` and `public_key` are None where nothing is pushed to browsers."""
        self._callers = callers
        self._clients = clients
        self._sealer = sealer
        self._public_key = public_key

    def add_routes(self, app: web.Application) -> None:
        add_route(app, "POST", PATH, self.add)
        add_route(app, "DELETE", f"{PATH}/{{id}}", self.remove)
        add_route(app, "GET", KEY_PATH, self.key)

    async def add(self, request: web.Request) -> web.Response:
        principal = self._callers.admit(request, Verb.CREATE)
        raw = await read_body(request)
        wish = _SUBSCRIBE.decode(raw)
        if self._sealer is None:
            raise _not_here()
        user_id = whose(principal, wish.user_id)
        id_ = id_of(user_id, wish.subscription)
        command = AddSubscription(user_id, id_, CHANNEL, sealed(self._sealer, wish.subscription, user_id, id_))
        client = self._clients.of(user_id)
        done = await client.send(command, request_origin(request, principal, raw=raw))
        return json_answer(done.result, 201, client.position_headers(done.position))

    async def remove(self, request: web.Request) -> web.Response:
        principal = self._callers.admit(request, Verb.DELETE)
        user_id = whose(principal, request.query.get("user_id"))
        command = RemoveSubscription(user_id, request.match_info["id"])
        client = self._clients.of(user_id)
        done = await client.send(command, request_origin(request, principal))
        return web.Response(status=204, headers=client.position_headers(done.position))

    async def key(self, request: web.Request) -> web.Response:
        """What a browser needs to subscribe. It is public, as its name says."""
        if self._public_key is None:
            raise _not_here()
        return json_answer({"public_key": self._public_key}, 200)


def _not_here() -> ApiError:
    return ApiError(
        409,
        "WEBPUSH_NOT_CONFIGURED",
        "This server does not push to browsers",
        hint="Set DROVER_REMINDER_PROVIDER=webpush, its VAPID key and DROVER_SEALING_KEYS.",
    )
