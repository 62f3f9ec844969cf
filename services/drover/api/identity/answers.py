"""The response bodies of the sign-in service, and the helpers that its routes share."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import msgspec

from drover.domain.identity.audit import AccessKind
from drover.domain.identity.policy import AccountRole
from drover.web.permissions import Verb
from drover.web.route import ONE_USE, Answer, Caller, Limit, Method, Parameter, Permission, Route

NO_BODY: Final = Answer(None, "Done")


class Person(msgspec.Struct):
    id: str
    email: str | None
    """The e-mail address; null if this server has no key to open it."""
    role: AccountRole
    disabled: bool
    created_at: datetime
    updated_at: datetime
    last_sign_in_at: datetime | None


class SessionRef(msgspec.Struct):
    id: str
    expires_at: datetime


class SignedIn(msgspec.Struct):
    """The answer to a sign-in: a new access token. The refresh token is in a cookie that scripts cannot read."""

    access_token: str
    token_type: str
    expires_in: int
    """Lifetime of the token in seconds."""
    expires_at: int
    """When the token expires, in Unix time."""
    user: Person
    session: SessionRef


class Someone(msgspec.Struct):
    """The caller of the request. If another issuer signed the token, only the caller's id and role are known."""

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
    """Whether the caller's own token belongs to this session."""


class Sessions(msgspec.Struct):
    sessions: list[Session]


class OwnSessions(msgspec.Struct):
    sessions: list[OwnSession]


class Ended(msgspec.Struct):
    ended: int
    """How many sessions were ended."""


class People(msgspec.Struct):
    accounts: list[Person]


class GoTrueUser(msgspec.Struct):
    """A user in the form that Supabase's clients expect."""

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


def route(
    method: Method,
    path: str,
    *,
    id: str,
    tag: str = "auth",
    summary: str,
    caller: Caller = "token",
    permission: Permission | None = None,
    parameters: tuple[Parameter, ...] = (),
    body: Any = None,
    answer: Answer,
    status: int = 200,
    errors: tuple[int, ...] = (),
    https: bool = True,
    audited: AccessKind | None = None,
    limit: Limit = ONE_USE,
) -> Route:
    """Declare a route. It requires HTTPS by default, because these requests carry passwords and tokens."""
    return Route(
        method=method,
        path=path,
        id=id,
        tag=tag,
        summary=summary,
        caller=caller,
        permission=permission,
        https=https,
        audited=audited,
        limit=limit,
        parameters=parameters,
        body=body,
        answers={status if answer.type is not None else 204: answer},
        errors=(400, 403, 503, *errors),
    )


def mine(verb: Verb) -> Permission:
    """Return the permission that a person needs to read or change their own account."""
    return Permission("me", verb)
