"""`/api/saju/users`: the back office registers users, grants tests, sets tiers and freezes accounts. `/rest/v1` reads
them."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec
from aiohttp import web
from msgspec import UNSET, UnsetType

from drover.domain.analysis import commands
from drover.domain.analysis.policy import TIER_DEFAULT
from drover.web.answers import json_answer
from drover.web.auth import Principal
from drover.web.bodies import Body, read_body
from drover.web.commands import CommandClient, request_origin
from drover.web.permissions import Verb
from drover.web.route import Permission, handles, in_path, recorded, write

PATH: Final = "/api/saju/users"
RELATION: Final = "users"


class RegisterUser(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a request to register a user. The id must not identify the person."""

    user_id: str
    remaining_tests: int = 0
    tier: str = TIER_DEFAULT


class ChangeUser(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a request to change a user. Fields that are not given stay the same."""

    tier: str | None = None
    frozen: bool | None = None
    grant_tests: int | None = None


class UserAnswer(msgspec.Struct):
    """The fields of a user that the request has just changed."""

    id: str
    tier: str | UnsetType = UNSET
    remaining_tests: int | UnsetType = UNSET
    frozen: bool | UnsetType = UNSET
    created_at: datetime | UnsetType = UNSET
    updated_at: datetime | UnsetType = UNSET


_REGISTER: Final = Body(RegisterUser)
_CHANGE: Final = Body(ChangeUser)


class Users:
    def __init__(self, client: CommandClient) -> None:
        self._client = client

    @handles(
        write(
            path=PATH,
            id="registerUser",
            tag="saju",
            summary="Register a user",
            permission=Permission(RELATION, Verb.CREATE),
            body=RegisterUser,
            answers={201: recorded(UserAnswer)},
            errors=(409,),
        )
    )
    async def register(self, request: web.Request, principal: Principal) -> web.Response:
        raw = await read_body(request)
        wish = _REGISTER.decode(raw)
        command = commands.RegisterUser(wish.user_id, wish.remaining_tests, wish.tier)
        return await self._send(request, principal, command, raw, 201)

    @handles(
        write(
            method="PATCH",
            path=f"{PATH}/{{id}}",
            id="changeUser",
            tag="saju",
            summary="Grant tests, set the tier, freeze",
            permission=Permission(RELATION, Verb.UPDATE),
            parameters=(in_path("id", str, "The id of the user."),),
            body=ChangeUser,
            answers={200: recorded(UserAnswer)},
            errors=(409,),
        )
    )
    async def change(self, request: web.Request, principal: Principal) -> web.Response:
        raw = await read_body(request)
        wish = _CHANGE.decode(raw)
        command = commands.ChangeUser(request.match_info["id"], wish.tier, wish.frozen, wish.grant_tests)
        return await self._send(request, principal, command, raw, 200)

    async def _send(
        self,
        request: web.Request,
        principal: Principal,
        command: commands.RegisterUser | commands.ChangeUser,
        raw: bytes,
        status: int,
    ) -> web.Response:
        done = await self._client.send(command, request_origin(request, principal, raw=raw))
        # A command that changed nothing has no result.
        body = {"id": command.user_id} if done.result is None else done.result
        return json_answer(body, status=status, headers=self._client.position_headers(done.position))
