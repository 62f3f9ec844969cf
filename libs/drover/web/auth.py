"""Who is calling: API keys, which are JWTs with a role as Supabase's are, and people. What a role may do is in
`permissions`, how people's tokens are verified in `people`."""

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
    """The actor in events (`by`): the role, `device:<id>` where the key is bound to one, `user:<id>` for a person."""
    expires_at: float
    """Unix time; infinity for a token without an end."""
    device_id: str | None = None
    """The device that the key is bound to: the role is `device` then, and only then."""
    user_id: str | None = None
    """The person, as their issuer calls them."""
    session_id: str | None = None
    """The session of the person that the token belongs to, where the issuer says so."""
    issuer: str | None = None
    """Who vouches for the person. Ids of different issuers may be the same and mean others."""


class Verifier(Protocol):
    """One issuer of people's tokens."""

    issuer: str
    """What the claim `iss` of its tokens says."""

    def verify(self, token: str) -> Principal:
        """Whose it is, or 401. Whether it has expired is asked on each use, not here."""


class _Issued(msgspec.Struct):
    iss: str | None = None


class _Claims(msgspec.Struct):
    role: Role
    exp: float | None = None
    device_id: UUID | None = None


class Authenticator:
    """Verifies tokens against the live secrets, each once: a heartbeat must not pay for an HMAC."""

    def __init__(
        self,
        secrets: Sequence[str],
        *,
        people: Sequence[Verifier] = (),
        ended: Container[str] = frozenset(),
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`ended`: sessions that are over, whatever their tokens say."""
        assert secrets
        self._secrets = tuple(secrets)
        self._people = {verifier.issuer: verifier for verifier in people}
        assert len(self._people) == len(people), "two issuers have one name"
        self._ended = ended
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
        if not self.holds(principal):
            # Not "invalid": whoever refreshes is told that the session is over, and signs out in order.
            self._verified.pop(sent, None)
            raise expired()
        return principal

    def holds(self, principal: Principal) -> bool:
        """False: their session is over, whatever the token says. For what goes on after it was verified."""
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
            return verifier.verify(token)
        claims = self._claims(token)
        try:
            known = msgspec.convert(claims, _Claims)
        except msgspec.ValidationError as error:
            raise unauthorized("The token has no role that is known here") from error
        if known.role not in KEY_ROLES:  # that of a person, whom this key cannot vouch for
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
    """Who it says to be from. It decides whose keys and algorithms hold, and those then decide whether it is true."""
    _, _, rest = token.partition(".")
    payload = rest.partition(".")[0]
    try:
        return _decode_issued(urlsafe_b64decode(payload + "=" * (-len(payload) % 4))).iss or ""
    except (ValueError, msgspec.DecodeError, RecursionError):  # an encoding error is a ValueError
        return ""


_decode_issued: Final = msgspec.json.Decoder(_Issued).decode

# The texts differ by path because the users' do: 000 has those of `/rest`, 001 the plain ones.
_INVALID: Final = ("INVALID_TOKEN", "Invalid authentication token")


def missing(details: str, *, hint: str | None = None) -> ApiError:
    return _refusal("UNAUTHORIZED", "Invalid API key", details, ("UNAUTHORIZED", "Missing token"), hint=hint)


def unauthorized(details: str) -> ApiError:
    """Of an API key."""
    return _refusal("UNAUTHORIZED", "Invalid API key", details, _INVALID)


def invalid_token(details: str) -> ApiError:
    """Of a person's token."""
    return _refusal(*_INVALID, details, _INVALID)


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
