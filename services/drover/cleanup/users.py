"""`/api/saju/users`: the back office registers users, grants tests, sets tiers, freezes. Reading is at `/rest/v1`."""

from __future__ import annotations

from typing import Final

import msgspec
from aiohttp import web

from drover.domain.analysis.commands import ChangeUser, RegisterUser
from drover.domain.analysis.policy import TIER_DEFAULT
from drover.web.application import add_route
from drover.web.auth import Authenticator, Principal
from drover.web.bodies import Body, read_body
from drover.web.commands import CommandClient, request_origin
from drover.web.errors import encode_json
from drover.web.permissions import Permissions, Verb

PATH: Final = "/api/saju/users"
RELATION: Final = "users"


class _Register(msgspec.Struct, forbid_unknown_fields=True):
    """Who somebody is, is not for here: a name or an address is refused like any other unknown field."""

    user_id: str
    remaining_tests: int = 0
    tier: str = TIER_DEFAULT


class _Change(msgspec.Struct, forbid_unknown_fields=True):
    tier: str | None = None
    frozen: bool | None = None
    grant_tests: int | None = None


_REGISTER: Final = Body(_Register)
_CHANGE: Final = Body(_Change)


class Users:
    def __init__(self, auth: Authenticator, permissions: Permissions, client: CommandClient) -> None:
        self._auth = auth
        self._permissions = permissions
        self._client = client

    def add_routes(self, app: web.Application) -> None:
        add_route(app, "POST", PATH, self.register)
        add_route(app, "PATCH", f"{PATH}/{{id}}", self.change)

    async def register(self, request: web.Request) -> web.Response:
        principal = self._office(request, Verb.CREATE)
        raw = await read_body(request)
        wish = _REGISTER.decode(raw)
        command = RegisterUser(wish.user_id, wish.remaining_tests, wish.tier)
        return await self._send(request, principal, command, raw, 201)

    async def change(self, request: web.Request) -> web.Response:
        principal = self._office(request, Verb.UPDATE)
        raw = await read_body(request)
        wish = _CHANGE.decode(raw)
        command = ChangeUser(request.match_info["id"], wish.tier, wish.frozen, wish.grant_tests)
        return await self._send(request, principal, command, raw, 200)

    def _office(self, request: web.Request, verb: Verb) -> Principal:
        principal = self._auth.authenticate(request.headers)
        self._permissions.demand(principal, RELATION, verb)
        return principal

    async def _send(
        self,
        request: web.Request,
        principal: Principal,
        command: RegisterUser | ChangeUser,
        raw: bytes,
        status: int,
    ) -> web.Response:
        done = await self._client.send(command, request_origin(request, principal, raw=raw))
        # A change that changes nothing has nothing to show.
        body = encode_json({"id": command.user_id} if done.result is None else done.result)
        headers = self._client.position_headers(done.position)
        return web.Response(body=body, status=status, content_type="application/json", headers=headers)
