"""`/auth/v1`: the part of Supabase's auth API (GoTrue) that its clients need to sign in, refresh and sign out."""

from __future__ import annotations

from typing import Any, Final, Literal

from aiohttp import web

from drover.api.identity.answers import NO_BODY, GoTrueSession, GoTrueUser, Jwks, mine, route
from drover.api.identity.bodies import PRIVATE, RefreshBody, SignInBody, read, respond
from drover.api.identity.client import IdentityClient, KnownAccount
from drover.api.identity.issuing import Issuing, SignedIn
from drover.api.identity.self_service import person_of
from drover.api.identity.user_agents import label
from drover.domain.identity.commands import EndAllSessions, EndSession
from drover.service.access_tokens import AUDIENCE
from drover.service.identity_keys import IdentityKeys
from drover.web.audit import note_sign_in
from drover.web.auth import Principal
from drover.web.callers import Callers
from drover.web.commands import origin_of
from drover.web.errors import ApiError, invalid
from drover.web.permissions import Verb
from drover.web.route import Answer, Parameter, Schema, handles

TOKEN_BODY: Final = Schema(
    "TokenBody",
    {
        "description": "For the password grant or the refresh grant.",
        "anyOf": [
            {
                "type": "object",
                "properties": {"email": {"type": "string"}, "password": {"type": "string"}},
                "required": ["email", "password"],
            },
            {"type": "object", "properties": {"refresh_token": {"type": "string"}}, "required": ["refresh_token"]},
        ],
    },
)


class GoTrue:
    def __init__(self, callers: Callers, issuing: Issuing, client: IdentityClient, keys: IdentityKeys) -> None:
        self._callers = callers
        self._issuing = issuing
        self._client = client
        self._jwks = keys.jwks()

    @handles(
        route(
            "POST",
            "/auth/v1/token",
            id="gotrueToken",
            summary="Sign in or refresh (Supabase)",
            caller="anybody",
            parameters=(Parameter("grant_type", Literal["password", "refresh_token"], "Which grant.", required=True),),
            body=TOKEN_BODY,
            answer=Answer(GoTrueSession, "Signed in"),
            errors=(401, 413, 415, 429),
        )
    )
    async def token(self, request: web.Request) -> web.Response:
        grant = request.query.get("grant_type")
        if grant == "password":
            body = await read(request, SignInBody)
            signed_in = await self._issuing.sign_in(
                body.email,
                body.password,
                address=self._callers.key_of(request),
                user_agent=label(request.headers.get("X-Client-Info") or request.headers.get("User-Agent")),
            )
            note_sign_in(request, signed_in.principal)
        elif grant == "refresh_token":
            signed_in = await self._issuing.refresh((await read(request, RefreshBody)).refresh_token)
        else:
            raise ApiError(400, "UNSUPPORTED_GRANT_TYPE", "grant_type must be password or refresh_token")
        return respond(await self._session(signed_in))

    @handles(
        route(
            "GET",
            "/auth/v1/user",
            id="gotrueUser",
            summary="The caller (Supabase)",
            permission=mine(Verb.READ),
            answer=Answer(GoTrueUser),
            errors=(404,),
        )
    )
    async def user(self, request: web.Request, principal: Principal) -> web.Response:
        person = person_of(principal)
        account = await self._client.read(person.account_id)
        if account is None:
            raise ApiError(404, "USER_NOT_FOUND", "User not found")
        return respond(await self._user(account))

    @handles(
        route(
            "POST",
            "/auth/v1/logout",
            id="gotrueLogout",
            summary="End sessions (Supabase)",
            permission=mine(Verb.DELETE),
            parameters=(Parameter("scope", Literal["global", "local", "others"], "Default: global, all sessions."),),
            answer=NO_BODY,
        )
    )
    async def logout(self, request: web.Request, principal: Principal) -> web.Response:
        """End sessions. `scope` says which: `global` (all sessions, the default), `local` (this one) or `others`."""
        person = person_of(principal)
        ends: dict[str, EndSession | EndAllSessions] = {
            "global": EndAllSessions(person.account_id),
            "others": EndAllSessions(person.account_id, keep_session_id=person.session_id),
            "local": EndSession(person.session_id, person.account_id),
        }
        scope = request.query.get("scope", "global")
        if scope not in ends:
            raise invalid("scope must be global, local or others", field="scope", value=scope[:64])
        await self._client.end(ends[scope], origin_of(person.principal))
        return web.Response(status=204, headers=PRIVATE)

    @handles(
        route(
            "GET",
            "/auth/v1/.well-known/jwks.json",
            id="getJwks",
            summary="Public keys of access tokens",
            caller="anybody",
            https=False,
            answer=Answer(Jwks, "A JWK set (RFC 7517)"),
        )
    )
    async def jwks(self, request: web.Request) -> web.Response:
        headers = {"Cache-Control": "public, max-age=300"}
        return web.json_response(self._jwks, headers=headers)

    async def _session(self, signed_in: SignedIn) -> dict[str, Any]:
        return {
            "access_token": signed_in.access_token,
            "token_type": "bearer",
            "expires_in": signed_in.expires_in,
            "expires_at": signed_in.expires_at,
            "refresh_token": signed_in.refresh_token,
            "user": await self._user(signed_in.account),
        }

    async def _user(self, account: KnownAccount) -> dict[str, Any]:
        person = await self._issuing.person(account)
        return {
            "id": person["id"],
            "aud": AUDIENCE,
            "role": person["role"],
            "email": person["email"],
            "phone": "",
            "email_confirmed_at": person["created_at"],
            "confirmed_at": person["created_at"],
            "last_sign_in_at": person["last_sign_in_at"],
            "app_metadata": {"provider": "email", "providers": ["email"], "role": person["role"]},
            "user_metadata": {},
            "identities": [],
            "created_at": person["created_at"],
            "updated_at": person["updated_at"],
            "is_anonymous": False,
        }
