"""`/api/auth`: sign-in from the dashboard. The refresh token is in a cookie that no script can read."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

import msgspec
from aiohttp import web

from drover.api.identity import answers
from drover.api.identity.answers import NO_BODY, mine, route
from drover.api.identity.bodies import PRIVATE, SignInBody, read, respond
from drover.api.identity.client import IdentityClient
from drover.api.identity.issuing import Issuing, SignedIn
from drover.api.identity.passwords import Passwords
from drover.api.identity.self_service import person_of
from drover.api.identity.user_agents import label
from drover.domain.identity.commands import ChangePassword, EndAllSessions, EndSession, ListSessions
from drover.web.audit import note_sign_in
from drover.web.auth import Principal
from drover.web.callers import Callers
from drover.web.commands import Origin, origin_of
from drover.web.errors import ApiError
from drover.web.permissions import Verb
from drover.web.route import Answer, handles, in_path
from drover.web.same_origin import COOKIE_PATH, demand_same_origin

COOKIE: Final = "drover_refresh"
CLIENT_ERROR: Final = 400


class PasswordBody(msgspec.Struct):
    current_password: str
    new_password: str


class Browser:
    def __init__(
        self,
        callers: Callers,
        issuing: Issuing,
        client: IdentityClient,
        passwords: Passwords,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._callers = callers
        self._issuing = issuing
        self._client = client
        self._passwords = passwords
        self._clock = clock

    @handles(
        route(
            "POST",
            "/api/auth/sign-in",
            id="signIn",
            summary="Sign in with a password",
            caller="anybody",
            body=SignInBody,
            answer=Answer(answers.SignedIn, "Signed in; the cookie is set"),
            errors=(401, 413, 415, 429),
        )
    )
    async def sign_in(self, request: web.Request) -> web.Response:
        demand_same_origin(request)
        body = await read(request, SignInBody)
        try:
            signed_in = await self._issuing.sign_in(
                body.email,
                body.password,
                address=self._callers.key_of(request),
                user_agent=label(request.headers.get("User-Agent")),
            )
        except ApiError as error:
            raise _as_401(error) from error
        note_sign_in(request, signed_in.principal)
        return await self._answer(request, signed_in)

    @handles(
        route(
            "POST",
            "/api/auth/refresh",
            id="refresh",
            summary="Refresh the access token by cookie",
            caller="anybody",
            answer=Answer(answers.SignedIn, "Refreshed; the cookie is replaced"),
            errors=(401, 429),
        )
    )
    async def refresh(self, request: web.Request) -> web.Response:
        demand_same_origin(request)
        token = request.cookies.get(COOKIE)
        if token is None:
            raise ApiError(401, "SESSION_EXPIRED", "Please sign in again")
        try:
            signed_in = await self._issuing.refresh(token)
        except ApiError as error:
            if error.status != CLIENT_ERROR:  # the session is fine: the client may retry
                raise
            response = _as_401(error).response(request.path)
            self._drop_cookie(request, response)
            return response
        return await self._answer(request, signed_in)

    @handles(
        route(
            "POST",
            "/api/auth/sign-out",
            id="signOut",
            summary="End the cookie's session",
            caller="anybody",
            answer=NO_BODY,
            errors=(401,),
        )
    )
    async def sign_out(self, request: web.Request) -> web.Response:
        """End the session of the refresh token in the cookie. A request without a cookie succeeds too."""
        demand_same_origin(request)
        session_id = self._issuing.session_of(request.cookies.get(COOKIE, ""))
        if session_id is not None:
            await self._client.end(EndSession(session_id), Origin(by=f"session:{session_id}"))
        response = web.Response(status=204, headers=PRIVATE)
        self._drop_cookie(request, response)
        return response

    @handles(
        route(
            "POST",
            "/api/auth/password",
            id="changePassword",
            summary="Change your own password",
            permission=mine(Verb.UPDATE),
            body=PasswordBody,
            answer=NO_BODY,
            errors=(404, 413, 415, 429),
        )
    )
    async def change_password(self, request: web.Request, principal: Principal) -> web.Response:
        person = person_of(principal)
        body = await read(request, PasswordBody)
        account = await self._client.existing(person.account_id)
        # Rate-limited like a sign-in: a stolen token must not be a way to guess the password.
        if not await self._issuing.confirms(account, body.current_password, address=self._callers.key_of(request)):
            raise ApiError(401, "INVALID_CREDENTIALS", "The current password is wrong")
        sealed = await self._passwords.sealed(body.new_password, person.account_id)
        command = ChangePassword(person.account_id, sealed, keep_session_id=person.session_id)
        await self._client.send(command, origin_of(person.principal))
        return web.Response(status=204, headers=PRIVATE)

    @handles(
        route(
            "GET",
            "/api/auth/me",
            id="getMe",
            summary="Who asks",
            permission=mine(Verb.READ),
            answer=Answer(answers.Me, "The token's owner"),
        )
    )
    async def me(self, request: web.Request, principal: Principal) -> web.Response:
        about: dict[str, Any] = {"user": {"id": principal.user_id, "role": principal.role}}
        if principal.issuer == self._issuing.issuer and principal.user_id is not None:
            account = await self._client.read(principal.user_id)
            if account is not None:
                about["user"] = await self._issuing.person(account)
        about |= {
            "issuer": principal.issuer,
            "session_id": principal.session_id,
            "expires_at": int(principal.expires_at),
        }
        return respond(about)

    @handles(
        route(
            "GET",
            "/api/auth/sessions",
            id="listOwnSessions",
            summary="Your own sessions",
            permission=mine(Verb.READ),
            answer=Answer(answers.OwnSessions, "Most recently used first"),
        )
    )
    async def sessions(self, request: web.Request, principal: Principal) -> web.Response:
        person = person_of(principal)
        listed = await self._client.send(ListSessions(person.account_id), origin_of(person.principal))
        rows = [{**row, "current": row["id"] == person.session_id} for row in listed.result]
        return respond({"sessions": rows})

    @handles(
        route(
            "DELETE",
            "/api/auth/sessions",
            id="endOtherSessions",
            summary="End all other sessions of yours",
            permission=mine(Verb.DELETE),
            answer=Answer(answers.Ended, "Ended"),
        )
    )
    async def end_others(self, request: web.Request, principal: Principal) -> web.Response:
        """End all sessions of the caller except the one that sends this request."""
        person = person_of(principal)
        command = EndAllSessions(person.account_id, keep_session_id=person.session_id)
        ended = await self._client.send(command, origin_of(person.principal))
        return respond({"ended": (ended.result or {}).get("ended", 0)})

    @handles(
        route(
            "DELETE",
            "/api/auth/sessions/{id}",
            id="endOwnSession",
            summary="End one of your own sessions",
            permission=mine(Verb.DELETE),
            parameters=(in_path("id", str, "The session's id."),),
            answer=NO_BODY,
            errors=(404,),
        )
    )
    async def end_one(self, request: web.Request, principal: Principal) -> web.Response:
        person = person_of(principal)
        session_id = request.match_info["id"]
        await self._client.send(EndSession(session_id, person.account_id), origin_of(person.principal))
        response = web.Response(status=204, headers=PRIVATE)
        if session_id == person.session_id:
            self._drop_cookie(request, response)
        return response

    async def _answer(self, request: web.Request, signed_in: SignedIn) -> web.Response:
        response = respond(
            {
                "access_token": signed_in.access_token,
                "token_type": "bearer",
                "expires_in": signed_in.expires_in,
                "expires_at": signed_in.expires_at,
                "user": await self._issuing.person(signed_in.account),
                "session": {"id": signed_in.session_id, "expires_at": signed_in.session_expires_at},
            }
        )
        self._set_cookie(request, response, signed_in.refresh_token, signed_in.session_expires_at)
        return response

    def _set_cookie(self, request: web.Request, response: web.Response, token: str, ends: datetime) -> None:
        response.set_cookie(
            COOKIE,
            token,
            max_age=max(0, int(ends.timestamp() - self._clock())),
            path=COOKIE_PATH,
            httponly=True,
            secure=self._callers.is_encrypted(request),
            samesite="Strict",
        )

    def _drop_cookie(self, request: web.Request, response: web.Response) -> None:
        response.del_cookie(
            COOKIE,
            path=COOKIE_PATH,
            httponly=True,
            secure=self._callers.is_encrypted(request),
            samesite="Strict",
        )


def _as_401(error: ApiError) -> ApiError:
    """Turn the 400 that Supabase's clients expect into a 401 for the dashboard: the caller is not signed in."""
    if error.status != CLIENT_ERROR:
        return error
    code, message = error.plain
    return ApiError(401, code, message)
