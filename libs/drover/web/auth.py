"""Who is calling: API keys are JWTs with a role, as Supabase's are. What a role may do is in `permissions`."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

import jwt
import msgspec

from drover.service.api_keys import ALGORITHM, Role
from drover.web.errors import ApiError

TOKEN_CHARS_MAX: Final = 4096
HEADER_CHARS_MAX: Final = TOKEN_CHARS_MAX + len("Bearer ")
VERIFIED_MAX: Final = 100_000
"""Callers that are remembered: as many phones as have a key of their own."""
REMEMBERED_CHARS_MAX: Final = 1024
"""Both headers together. Ours have some 500; longer ones, which can be written in many ways, are verified each time."""

_BEARER: Final = "bearer "
# The end is checked on every use, not only here; `iat` says when, not from when, and clocks differ.
_OPTIONS: Final[jwt.types.Options] = {"verify_exp": False, "verify_aud": False, "verify_iat": False}


class Principal(msgspec.Struct, frozen=True):
    """Somebody whose token was verified."""

    role: Role
    name: str
    """The actor in events (`by`): the role, or `device:<id>` where the key is bound to one."""
    expires_at: float
    """Unix time; infinity for a token without an end."""
    device_id: str | None = None
    """The device that the key is bound to: the role is `device` then, and only then."""


class _Claims(msgspec.Struct):
    role: Role
    exp: float | None = None
    device_id: UUID | None = None


class Authenticator:
    """Verifies tokens against the live secrets, each once: a heartbeat must not pay for an HMAC."""

    def __init__(self, secrets: Sequence[str], *, clock: Callable[[], float] = time.time) -> None:
        assert secrets
        self._secrets = tuple(secrets)
        self._clock = clock
        # By both headers as they came, least recently used first.
        self._verified: OrderedDict[tuple[str | None, str | None], Principal] = OrderedDict()

    def authenticate(self, headers: Mapping[str, str]) -> Principal:
        """The caller, or 401. With both headers both must be good, and `Authorization` says who it is."""
        sent = (headers.get("apikey"), headers.get("Authorization"))
        if len(sent[0] or "") > HEADER_CHARS_MAX or len(sent[1] or "") > HEADER_CHARS_MAX:
            raise unauthorized("The token is too long")
        principal = self._verified.get(sent)
        if principal is None:
            principal = self._identify(*sent)
            if len(sent[0] or "") + len(sent[1] or "") <= REMEMBERED_CHARS_MAX:
                self._verified[sent] = principal
                if len(self._verified) > VERIFIED_MAX:
                    self._verified.popitem(last=False)
        else:
            self._verified.move_to_end(sent)
        if principal.expires_at <= self._clock():
            self._verified.pop(sent, None)
            raise expired()
        return principal

    def _identify(self, key: str | None, authorization: str | None) -> Principal:
        if authorization is None:
            if key is None:
                raise unauthorized("No API key in the request", hint="Send it in the header apikey.")
            return self._verify(key)
        if authorization[: len(_BEARER)].lower() != _BEARER:
            raise unauthorized("Authorization is not a bearer token")
        token = authorization[len(_BEARER) :].strip()
        principal = self._verify(token)
        if key is None or key == token:
            return principal
        ends = min(principal.expires_at, self._verify(key).expires_at)
        return msgspec.structs.replace(principal, expires_at=ends)

    def _verify(self, token: str) -> Principal:
        if len(token) > TOKEN_CHARS_MAX:
            raise unauthorized("The token is too long")
        claims = self._claims(token)
        try:
            known = msgspec.convert(claims, _Claims)
        except msgspec.ValidationError as error:
            raise unauthorized("The token has no role that is known here") from error
        if (known.role is Role.DEVICE) != (known.device_id is not None):
            raise unauthorized("A token with the role device, and no other, must have a device_id")
        ends = float("inf") if known.exp is None else known.exp
        if known.device_id is None:
            return Principal(known.role, known.role.value, ends)
        return Principal(known.role, f"{known.role.value}:{known.device_id}", ends, str(known.device_id))

    def _claims(self, token: str) -> dict[str, Any]:
        for secret in self._secrets:
            try:
                return jwt.decode(token, secret, algorithms=[ALGORITHM], options=_OPTIONS)
            except jwt.InvalidSignatureError:
                continue
            except (jwt.InvalidTokenError, ValueError, TypeError) as error:
                raise unauthorized("The token cannot be read") from error
        raise unauthorized("The token is not signed by a key of this server")


def unauthorized(details: str, *, hint: str | None = None) -> ApiError:
    return ApiError(
        401,
        "UNAUTHORIZED",
        "Invalid API key",
        details=details,
        hint=hint,
        headers={"WWW-Authenticate": 'Bearer realm="drover"'},
    )


def expired() -> ApiError:
    return ApiError(
        401,
        "TOKEN_EXPIRED",
        "JWT expired",
        headers={"WWW-Authenticate": 'Bearer realm="drover", error="invalid_token", error_description="JWT expired"'},
    )
