"""Signing in, sessions and accounts, described. The shapes are those of the answers; the rules are elsewhere."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, Literal

import msgspec

from drover.api.identity.accounts import PAGE_MAX, Change, NewAccount
from drover.api.identity.bodies import SignInBody
from drover.api.identity.browser import PasswordBody
from drover.api.identity.key_ring import KeyRing
from drover.domain.identity.policy import AccountRole
from drover.web.openapi.operation import POSITION, Answer, Caller, Method, Operation, Parameter, Schema, in_path


class Person(msgspec.Struct):
    id: str
    email: str | None
    """Null where it cannot be opened with the keys that this server has."""
    role: AccountRole
    disabled: bool
    created_at: datetime
    updated_at: datetime
    last_sign_in_at: datetime | None


class SessionRef(msgspec.Struct):
    id: str
    expires_at: datetime


class SignedIn(msgspec.Struct):
    """A new access token. The refresh token is in a cookie that no script can read."""

    access_token: str
    token_type: str
    expires_in: int
    """Seconds."""
    expires_at: int
    """Unix time."""
    user: Person
    session: SessionRef


class Someone(msgspec.Struct):
    """Who asks. Of those whom another issuer vouches for, no more than id and role is known."""

    id: str | None
    role: str
    email: str | msgspec.UnsetType | None = msgspec.UNSET
    disabled: bool | msgspec.UnsetType = msgspec.UNSET
    created_at: datetime | msgspec.UnsetType = msgspec.UNSET
    updated_at: datetime | msgspec.UnsetType = msgspec.UNSET
    last_sign_in_at: datetime | msgspec.UnsetType | None = msgspec.UNSET


class Me(msgspec.Struct):
    user: Someone
    issuer: str | None
    session_id: str | None
    expires_at: int


class Session(msgspec.Struct):
    id: str
    user_agent: str
    started_at: datetime
    last_used_at: datetime
    expires_at: datetime


class OwnSession(Session):
    current: bool
    """It is the one that asks."""


class Sessions(msgspec.Struct):
    sessions: list[Session]


class OwnSessions(msgspec.Struct):
    sessions: list[OwnSession]


class Ended(msgspec.Struct):
    ended: int
    """So many sessions."""


class People(msgspec.Struct):
    accounts: list[Person]


class GoTrueUser(msgspec.Struct):
    """As Supabase's clients know it."""

    id: str
    aud: str
    role: str
    email: str | None
    phone: str
    email_confirmed_at: datetime
    confirmed_at: datetime
    last_sign_in_at: datetime | None
    app_metadata: dict[str, Any]
    user_metadata: dict[str, Any]
    identities: list[Any]
    created_at: datetime
    updated_at: datetime
    is_anonymous: bool


class GoTrueSession(msgspec.Struct):
    access_token: str
    token_type: str
    expires_in: int
    expires_at: int
    refresh_token: str
    user: GoTrueUser


class Jwks(msgspec.Struct):
    keys: list[dict[str, Any]]


TokenBody = Schema(
    "TokenBody",
    {
        "description": "Of the password grant, or of the refresh grant.",
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
_ID: Final = in_path("id", str, "Of the account.")
_SESSION_ID: Final = in_path("session_id", str, "Of the session.")
_NO_BODY: Final = Answer(None, "Done")


def _auth(
    method: Method,
    path: str,
    id: str,
    summary: str,
    answer: Answer,
    *,
    body: Any = None,
    parameters: tuple[Parameter, ...] = (),
    errors: tuple[int, ...] = (),
    status: int = 200,
    caller: Caller = "token",
) -> Operation:
    return Operation(
        method=method,
        path=path,
        id=id,
        tag="accounts" if path.startswith(("/api/accounts", "/api/keys")) else "auth",
        summary=summary,
        body=body,
        parameters=parameters,
        answers={status if answer.type is not None else 204: answer},
        errors=(400, 403, 503, *errors),
        caller=caller,
    )


OPERATIONS: Final = (
    _auth(
        "POST",
        "/api/auth/sign-in",
        "signIn",
        "Sign in with a password",
        Answer(SignedIn, "Signed in; the cookie is set"),
        body=SignInBody,
        errors=(401, 413, 415, 429),
        caller="anybody",
    ),
    _auth(
        "POST",
        "/api/auth/refresh",
        "refresh",
        "A new access token, by the cookie",
        Answer(SignedIn, "Refreshed; the cookie is another one"),
        errors=(401, 429),
        caller="anybody",
    ),
    _auth(
        "POST",
        "/api/auth/sign-out",
        "signOut",
        "End the session of the cookie",
        _NO_BODY,
        errors=(401,),
        caller="anybody",
    ),
    _auth(
        "POST",
        "/api/auth/password",
        "changePassword",
        "Change one's own password",
        _NO_BODY,
        body=PasswordBody,
        errors=(404, 413, 415, 429),
    ),
    _auth("GET", "/api/auth/me", "getMe", "Who asks", Answer(Me, "As the token says")),
    _auth(
        "GET", "/api/auth/sessions", "listOwnSessions", "One's own sessions", Answer(OwnSessions, "Newest use first")
    ),
    _auth("DELETE", "/api/auth/sessions", "endOtherSessions", "End all but this session", Answer(Ended, "Ended")),
    _auth(
        "DELETE",
        "/api/auth/sessions/{id}",
        "endOwnSession",
        "End one of one's own sessions",
        _NO_BODY,
        parameters=(in_path("id", str, "Of the session."),),
        errors=(404,),
    ),
    _auth(
        "GET",
        "/api/accounts",
        "listAccounts",
        "All accounts, for admins",
        Answer(People, "Oldest first"),
        parameters=(
            Parameter("limit", int, f"At most {PAGE_MAX}."),
            Parameter("offset", int, "So many are left out."),
        ),
    ),
    _auth(
        "POST",
        "/api/accounts",
        "createAccount",
        "Make an account",
        Answer(Person, "Made", headers=POSITION),
        body=NewAccount,
        errors=(409, 413, 415),
        status=201,
    ),
    _auth("GET", "/api/accounts/{id}", "getAccount", "One account", Answer(Person), parameters=(_ID,), errors=(404,)),
    _auth(
        "PATCH",
        "/api/accounts/{id}",
        "changeAccount",
        "Change role, password, or whether it is disabled: one at a time",
        Answer(Person, "As it is now", headers=POSITION),
        body=Change,
        parameters=(_ID,),
        errors=(404, 409, 413, 415),
    ),
    _auth(
        "GET",
        "/api/accounts/{id}/sessions",
        "listSessions",
        "Sessions of an account",
        Answer(Sessions),
        parameters=(_ID,),
        errors=(404,),
    ),
    _auth(
        "DELETE",
        "/api/accounts/{id}/sessions",
        "endSessions",
        "End all sessions of an account",
        Answer(Ended, headers=POSITION),
        parameters=(_ID,),
        errors=(404,),
    ),
    _auth(
        "DELETE",
        "/api/accounts/{id}/sessions/{session_id}",
        "endSession",
        "End one session of an account",
        _NO_BODY,
        parameters=(_ID, _SESSION_ID),
        errors=(404,),
    ),
    _auth(
        "GET",
        "/api/keys",
        "getKeyRing",
        "Which keys sign, and which are still believed, by name; for admins",
        Answer(KeyRing, "Of the process that answers"),
    ),
    _auth(
        "POST",
        "/auth/v1/token",
        "gotrueToken",
        "Sign in or refresh, as Supabase's clients do",
        Answer(GoTrueSession, "Signed in"),
        body=TokenBody,
        parameters=(Parameter("grant_type", Literal["password", "refresh_token"], "Which of the two.", required=True),),
        errors=(401, 413, 415, 429),
        caller="anybody",
    ),
    _auth(
        "GET", "/auth/v1/user", "gotrueUser", "Who asks, as Supabase's clients do", Answer(GoTrueUser), errors=(404,)
    ),
    _auth(
        "POST",
        "/auth/v1/logout",
        "gotrueLogout",
        "End sessions, as Supabase's clients do",
        _NO_BODY,
        parameters=(Parameter("scope", Literal["global", "local", "others"], "Which; all if nothing is said."),),
    ),
    _auth(
        "GET",
        "/auth/v1/.well-known/jwks.json",
        "getJwks",
        "Public keys of access tokens",
        Answer(Jwks, "As RFC 7517 has it"),
        caller="anybody",
    ),
)
