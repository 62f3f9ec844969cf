"""`/api/keys`: admins list, issue, rotate and revoke API keys. A key itself is shown once, when it is issued."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any, Final
from uuid import UUID, uuid4

import msgspec
from aiohttp import web
from msgspec import Meta

from drover.api.identity.answers import NO_BODY, route
from drover.api.identity.bodies import PRIVATE, read, respond
from drover.api.identity.client import IdentityClient
from drover.api.identity.issued_keys import LISTED, KeyRecord, sign
from drover.api.identity.listing import PAGE_PARAMETERS, read_page
from drover.domain.decider import Command
from drover.domain.identity.audit import AccessKind
from drover.domain.identity.commands import CreateApiKey, RevokeApiKey, RotateApiKey
from drover.domain.identity.policy import API_KEY_GRACE_S_MAX, KEY_NAME_CHARS_MAX, KeyRole
from drover.postgres.pool import Pool
from drover.service.api_keys import API_KEY_LIFETIME_S
from drover.service.identity_keys import IdentityKeys
from drover.web.auth import Principal
from drover.web.commands import origin_of
from drover.web.permissions import Verb
from drover.web.route import BEHIND, POSITION, Answer, Permission, handles, in_path

DAYS_MAX: Final = timedelta(seconds=API_KEY_LIFETIME_S).days
GRACE_HOURS_DEFAULT: Final = 24
DAY_S: Final = 86_400
HOUR_S: Final = 3_600

Days = Annotated[int, Meta(ge=1, le=DAYS_MAX)]


class NewKey(msgspec.Struct, forbid_unknown_fields=True):
    name: Annotated[str, Meta(min_length=1, max_length=KEY_NAME_CHARS_MAX)]
    role: KeyRole
    device_id: UUID | None = None
    """The device that a key of the role `device` is bound to."""
    days: Days = DAYS_MAX
    """How many days the key is valid."""


class Rotation(msgspec.Struct, forbid_unknown_fields=True):
    days: Days = DAYS_MAX
    """How many days the successor is valid."""
    grace_hours: Annotated[int, Meta(ge=0, le=API_KEY_GRACE_S_MAX // HOUR_S)] = GRACE_HOURS_DEFAULT
    """How many hours the old key stays valid."""


class IssuedKey(msgspec.Struct):
    id: str
    key: str
    """The key itself. It is stored nowhere: this is the only time that it is shown."""
    name: str
    role: KeyRole
    device_id: str | None
    created_at: str
    expires_at: str


class IssuedKeys(msgspec.Struct):
    keys: list[KeyRecord]


_ID: Final = in_path("id", str, "The key's id.")


class ApiKeys:
    def __init__(self, client: IdentityClient, keys: IdentityKeys, pool: Pool) -> None:
        self._client = client
        self._keys = keys
        self._pool = pool

    @handles(
        route(
            "GET",
            "/api/keys",
            id="listKeys",
            tag="accounts",
            summary="All API keys, without the keys themselves; for admins",
            permission=Permission("keys", Verb.READ),
            audited=AccessKind.KEYS,
            parameters=PAGE_PARAMETERS,
            answer=Answer(IssuedKeys, "Newest first, with those that expired or were revoked", headers=BEHIND),
        )
    )
    async def list(self, request: web.Request, admin: Principal) -> web.Response:
        rows, behind = await read_page(request, self._client, self._pool, LISTED)
        return respond(IssuedKeys([KeyRecord.of(row) for row in rows]), headers=behind)

    @handles(
        route(
            "POST",
            "/api/keys",
            id="createKey",
            tag="accounts",
            summary="Issue an API key",
            permission=Permission("keys", Verb.CREATE),
            body=NewKey,
            answer=Answer(IssuedKey, "Issued; the key is shown this once", headers=POSITION),
            status=201,
            errors=(409, 413, 415),
        )
    )
    async def create(self, request: web.Request, admin: Principal) -> web.Response:
        body = await read(request, NewKey)
        device_id = None if body.device_id is None else str(body.device_id)
        command = CreateApiKey(str(uuid4()), body.name, body.role, body.days * DAY_S, device_id)
        return await self._issued(command, admin)

    @handles(
        route(
            "POST",
            "/api/keys/{id}/rotate",
            id="rotateKey",
            tag="accounts",
            summary="Issue a successor of an API key, and revoke the key after a grace",
            permission=Permission("keys", Verb.UPDATE),
            parameters=(_ID,),
            body=Rotation,
            answer=Answer(IssuedKey, "The successor; it is shown this once", headers=POSITION),
            status=201,
            errors=(404, 409, 413, 415),
        )
    )
    async def rotate(self, request: web.Request, admin: Principal) -> web.Response:
        body = await read(request, Rotation)
        command = RotateApiKey(request.match_info["id"], str(uuid4()), body.days * DAY_S, body.grace_hours * HOUR_S)
        return await self._issued(command, admin)

    @handles(
        route(
            "DELETE",
            "/api/keys/{id}",
            id="revokeKey",
            tag="accounts",
            summary="Revoke an API key: every process refuses it within 2 s",
            permission=Permission("keys", Verb.DELETE),
            parameters=(_ID,),
            answer=NO_BODY,
            errors=(404,),
        )
    )
    async def revoke(self, request: web.Request, admin: Principal) -> web.Response:
        done = await self._client.send(RevokeApiKey(request.match_info["id"]), origin_of(admin))
        return web.Response(status=204, headers={**PRIVATE, **self._client.position_headers(done.position)})

    async def _issued(self, command: Command, admin: Principal) -> web.Response:
        done = await self._client.send(command, origin_of(admin))
        result: dict[str, Any] = done.result
        told = {name: result[name] for name in ("name", "role", "device_id", "created_at", "expires_at")}
        body = IssuedKey(id=result["key_id"], key=sign(self._keys, result), **told)
        return respond(body, status=201, headers=self._client.position_headers(done.position))
