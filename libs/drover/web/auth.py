"""Authenticates callers: API keys, which are JWTs with a role as in Supabase, and people.

`permissions` says what a role may do; `people` verifies people's tokens.
"""

from __future__ import annotations

import time
from base64 import urlsafe_b64decode
from collections import OrderedDict
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, Final, Protocol
from uuid import UUID

import jwt
import msgspec

from drover.service.api_keys import ALGORITHM, KEY_ROLES, Role
from drover.web.errors import ApiError

TOKEN_CHARS_MAX: Final = 4096
HEADER_CHARS_MAX: Final = TOKEN_CHARS_MAX + len("Bearer ")
VERIFIED_MAX: Final = 100_000
"""Size of the cache of verified callers: one entry for each phone with its own key."""
REMEMBERED_CHARS_MAX: Final = 1024
"""Maximum length of both headers (`apikey` and `Authorization`) together for which a verified caller is cached. Ours
have about 500 characters; longer ones could be spelled in many ways."""

_BEARER: Final = "bearer "
# Expiry is checked on every use, not here. `iat` is when a token was issued, not from when it is valid; clocks differ.
_OPTIONS: Final[jwt.types.Options] = {"verify_exp": False, "verify_aud": False, "verify_iat": False}


class Principal(msgspec.Struct, frozen=True):
    """An authenticated caller."""

    role: Role
    name: str
    """The actor in events (`by`): the role, `device:<id>` for a device's own key, `user:<id>` for a person."""
    expires_at: float
    """Unix time; infinity if the token never expires."""
    device_id: str | None = None
    """The device that the key is bound to. Set if and only if the role is `device`."""
    user_id: str | None = None
    """The person's id at their issuer."""
    session_id: str | None = None
    """The person's session, if the issuer names it in the token."""
    issuer: str | None = None
    """The issuer of the person's token. User ids are unique per issuer only."""


class Verifier(Protocol):
    """Verifies the tokens of one issuer of people's tokens."""

    issuer: str
    """The claim `iss` of its tokens."""

    def verify(self, token: str, now: float) -> Principal:
        """Return the owner of the token. Raises 401. Expiry is checked again on each use."""


class _Issued(msgspec.Struct):
    iss: str | None = None


class _Claims(msgspec.Struct):
    role: Role
    exp: float | None = None
    device_id: UUID | None = None


class Authenticator:
    """Verifies tokens with the current secrets and caches the result, so that a heartbeat does not cost an HMAC."""

    def __init__(
        self,
        secrets: Sequence[str],
        *,
        people: Sequence[Verifier] = (),
        ended: Container[str] = frozenset(),
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`ended`: sessions that have ended; their tokens are refused even before they expire."""
        assert secrets
        self._secrets = tuple(secrets)
        self._people = {verifier.issuer: verifier for verifier in people}
        assert len(self._people) == len(people), "two issuers have the same name"
        self._ended = ended
        self._clock = clock
        # Key: both headers as sent. Least recently used first.
        self._verified: OrderedDict[tuple[str | None, str | None], Principal] = OrderedDict()

    def authenticate(self, headers: Mapping[str, str]) -> Principal:
        """Return the caller, or raise 401. If both `apikey` and `Authorization` are sent, both must be valid;
        `Authorization` identifies the caller."""
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
        if not self.holds(principal):
            # Not "invalid": a client that refreshes then learns that the session has ended, and signs out cleanly.
            self._verified.pop(sent, None)
            raise expired()
        return principal

    def holds(self, principal: Principal) -> bool:
        """Return False once the caller's session has ended. For streams that outlive the check of their token."""
        return principal.session_id is None or principal.session_id not in self._ended

    def _identify(self, key: str | None, authorization: str | None) -> Principal:
        if authorization is None:
            if key is None:
                raise missing("No token in the request", hint="Send it in apikey, or in Authorization: Bearer.")
            return self._verify(key)
        if authorization[: len(_BEARER)].lower() != _BEARER:
            raise missing("Authorization is not a bearer token")
        token = authorization[len(_BEARER) :].strip()
        principal = self._verify(token)
        if key is None or key == token:
            return principal
        ends = min(principal.expires_at, self._verify(key).expires_at)
        return msgspec.structs.replace(principal, expires_at=ends)

    def _verify(self, token: str) -> Principal:
        if len(token) > TOKEN_CHARS_MAX:
            raise unauthorized("The token is too long")
        if self._people and (verifier := self._people.get(_issuer_of(token))) is not None:
            return verifier.verify(token, self._clock())
        claims = self._claims(token)
        demand_unexpired(claims, self._clock())
        try:
            known = msgspec.convert(claims, _Claims)
        except msgspec.ValidationError as error:
            raise unauthorized("The token has no role that is known here") from error
        if known.role not in KEY_ROLES:  # a person's role: an API key cannot carry it
            raise unauthorized("The token has no role that is known here")
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


def _issuer_of(token: str) -> str:
    """Return the issuer that the token claims. It selects the keys and algorithms, which then verify the claim."""
    _, _, rest = token.partition(".")
    payload = rest.partition(".")[0]
    try:
        return _decode_issued(urlsafe_b64decode(payload + "=" * (-len(payload) % 4))).iss or ""
    except (ValueError, msgspec.DecodeError, RecursionError):  # an encoding error is a ValueError
        return ""


_decode_issued: Final = msgspec.json.Decoder(_Issued).decode

# The texts of a 401 differ by path, because the users' documents do: document 000 (phone farm) has those for `/rest`,
# document 001 (saju tests and sign-in) those for `/api` and `/auth`.
_INVALID: Final = ("INVALID_TOKEN", "Invalid authentication token")


def missing(details: str, *, hint: str | None = None) -> ApiError:
    return _refusal("UNAUTHORIZED", "Invalid API key", details, ("UNAUTHORIZED", "Missing token"), hint=hint)


def unauthorized(details: str) -> ApiError:
    """Make the 401 for a token that is not a valid API key."""
    return _refusal("UNAUTHORIZED", "Invalid API key", details, _INVALID)


def invalid_token(details: str) -> ApiError:
    """Make the 401 for an invalid token of a person."""
    return _refusal(*_INVALID, details, _INVALID)


def demand_unexpired(claims: Mapping[str, Any], now: float) -> None:
    """Raise 401 if the token has expired. Call this before checking other claims: a refreshed token may pass them."""
    ends = claims.get("exp")
    if isinstance(ends, int | float) and ends <= now:
        raise expired()


def expired() -> ApiError:
    error = 'error="invalid_token", error_description="JWT expired"'
    return _refusal(
        "TOKEN_EXPIRED", "JWT expired", None, ("TOKEN_EXPIRED", "Please refresh your token"), challenge=f", {error}"
    )


def _refusal(
    code: str,
    message: str,
    details: str | None,
    plain: tuple[str, str],
    *,
    hint: str | None = None,
    challenge: str = "",
) -> ApiError:
    headers = {"WWW-Authenticate": f'Bearer realm="drover"{challenge}'}
    return ApiError(401, code, message, details=details, hint=hint, headers=headers, plain=plain)
