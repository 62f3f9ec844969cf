"""`/api/reminder/subscriptions`: browsers subscribe to push messages. Their secrets are sealed (encrypted) here."""

from __future__ import annotations

from typing import Final

import msgspec
from aiohttp import web

from drover.bus.subject_keys import SubjectKeys
from drover.domain.reminder.commands import AddSubscription, RemoveSubscription
from drover.reminder.edge.callers import for_alarms, whose
from drover.reminder.providers.push_keys import PushSubscription, id_of, sealed
from drover.service.sealing import SealDamaged, UnknownSealingKey
from drover.service.subject_sealing import KeysUnreachable
from drover.web.answers import json_answer
from drover.web.auth import Principal
from drover.web.bodies import Body, read_body
from drover.web.commands import PartitionedClient, request_origin
from drover.web.errors import ApiError, unavailable
from drover.web.owner import quota_of
from drover.web.permissions import Verb
from drover.web.route import Answer, Parameter, Route, handles, in_path, recorded, write

PATH: Final = "/api/reminder/subscriptions"
CHANNEL: Final = "webpush"


class Subscribe(msgspec.Struct, forbid_unknown_fields=True):
    """A subscription as the browser's push manager returns it."""

    subscription: PushSubscription
    user_id: str | None = None


class Subscribed(msgspec.Struct):
    id: str
    user_id: str
    channel: str


class PublicKey(msgspec.Struct):
    public_key: str


_SUBSCRIBE: Final = Body(Subscribe)


class Subscriptions:
    def __init__(
        self, clients: PartitionedClient, keys: SubjectKeys | None, public_key: str | None, *, events_per_day: int
    ) -> None:
        """`keys` and `public_key`: None if this server does not push to browsers. `events_per_day`: the quota of an
        end user."""
        self._clients = clients
        self._events_per_day = events_per_day
        self._keys = keys
        self._public_key = public_key

    @handles(
        write(
            path=PATH,
            id="subscribe",
            tag="reminder",
            summary="Subscribe a browser",
            permission=for_alarms(Verb.CREATE),
            body=Subscribe,
            answers={201: recorded(Subscribed)},
            errors=(409,),
        )
    )
    async def add(self, request: web.Request, principal: Principal) -> web.Response:
        raw = await read_body(request)
        wish = _SUBSCRIBE.decode(raw)
        if self._keys is None:
            raise _not_here()
        user_id = whose(principal, wish.user_id)
        id_, client = id_of(user_id, wish.subscription), self._clients.of(user_id)
        client.check(AddSubscription(user_id, id_, CHANNEL, ""))  # before a key is made: not for an invalid user id
        try:
            text = await sealed(self._keys, wish.subscription, user_id, id_)
        except (KeysUnreachable, UnknownSealingKey, SealDamaged) as error:
            raise unavailable(str(error)) from error
        command = AddSubscription(user_id, id_, CHANNEL, text, quota_of(principal, self._events_per_day))
        return await client.answer(command, request, principal, raw=raw, status=201)

    @handles(
        write(
            method="DELETE",
            path=f"{PATH}/{{id}}",
            id="unsubscribe",
            tag="reminder",
            summary="Unsubscribe a browser",
            permission=for_alarms(Verb.DELETE),
            parameters=(
                in_path("id", str, "The id of the subscription."),
                Parameter("user_id", str, "The user of the subscription."),
            ),
            answers={204: recorded(None)},
        )
    )
    async def remove(self, request: web.Request, principal: Principal) -> web.Response:
        user_id = whose(principal, request.query.get("user_id"))
        command = RemoveSubscription(user_id, request.match_info["id"])
        client = self._clients.of(user_id)
        done = await client.send(command, request_origin(request, principal))
        return web.Response(status=204, headers=client.position_headers(done.position))

    @handles(
        Route(
            method="GET",
            path="/api/reminder/vapid-public-key",
            id="getVapidKey",
            tag="reminder",
            summary="The public key that a browser needs to subscribe",
            caller="anybody",
            answers={200: Answer(PublicKey)},
            errors=(409,),
        )
    )
    async def key(self, request: web.Request) -> web.Response:
        """Send the public key of this server. Needs no permission."""
        if self._public_key is None:
            raise _not_here()
        return json_answer(PublicKey(self._public_key))


def _not_here() -> ApiError:
    return ApiError(
        409,
        "WEBPUSH_NOT_CONFIGURED",
        "This server does not push to browsers",
        hint="Set DROVER_REMINDER_PROVIDER=webpush, its VAPID key and DROVER_SEALING_KEYS.",
    )
