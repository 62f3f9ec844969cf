"""Verifies people's access tokens: those of the built-in issuer, and those of another issuer by its published keys.

A verifier has fixed algorithms, and looks up a token's key id among its own keys only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final

import jwt
import msgspec
from msgspec import Meta

from drover.service import access_tokens, api_keys, identity_keys
from drover.service.api_keys import Role
from drover.service.config import ConfigurationError
from drover.service.identity_keys import IdentityKeys
from drover.web.auth import Principal, invalid_token
from drover.web.jwks import KeySet

LEEWAY_S: Final = 30.0
"""Clock skew that is allowed for another issuer."""
USER_ID_CHARS_MAX: Final = 200
KID_CHARS_MAX: Final = 256

_Moment = Annotated[float, Meta(gt=0, lt=1e12)]
"""Seconds since 1970. Bounded, because Python's JSON accepts NaN and Infinity, which would never expire."""

# Times are checked here, against the given clock.
_OPTIONS: Final[jwt.types.Options] = {
    "verify_exp": False,
    "verify_nbf": False,
    "verify_iat": False,
    "require": ["exp", "iss", "aud", "sub"],
}


class BuiltIn:
    """Verifies the tokens that Drover itself issued."""

    issuer = access_tokens.ISSUER

    def __init__(self, keys: IdentityKeys) -> None:
        self._keys = keys.verifying

    def verify(self, token: str) -> Principal:
        key = self._keys.get(_kid_of(token))
        if key is None:
            raise invalid_token("The token names a key that this server does not have")
        claims = _claims(token, key, [identity_keys.ALGORITHM], self.issuer, access_tokens.AUDIENCE)
        try:
            known = msgspec.convert(claims, _BuiltInClaims)
        except msgspec.ValidationError as error:
            raise invalid_token("The token lacks a claim that every token of this server has") from error
        if known.role not in access_tokens.PEOPLE:
            raise invalid_token("The token's role is not a person's role")
        return Principal(
            known.role,
            f"user:{known.sub}",
            known.exp,
            user_id=known.sub,
            session_id=known.session_id,
            issuer=self.issuer,
        )


class _BuiltInClaims(msgspec.Struct):
    sub: str
    role: Role
    session_id: str
    exp: _Moment


class Foreign:
    """Verifies the tokens of another issuer, which publishes its keys."""

    def __init__(
        self,
        keys: KeySet,
        *,
        issuer: str,
        audience: str,
        role_claim: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if issuer in (access_tokens.ISSUER, api_keys.ISSUER):
            raise ConfigurationError((f"DROVER_JWT_ISSUER={issuer} is Drover's own name: name the other issuer.",))
        self.issuer = issuer
        self._keys = keys
        self._audience = audience
        self._role_claim = role_claim
        self._clock = clock

    def verify(self, token: str) -> Principal:
        key = self._keys.get(_kid_of(token))  # raises NotYet if the issuer should be asked again
        if key is None:
            raise invalid_token("The token names a key that its issuer does not publish")
        claims = _claims(token, key.public, [key.algorithm], self.issuer, self._audience)
        try:
            known = msgspec.convert(claims, _ForeignClaims)
        except msgspec.ValidationError as error:
            raise invalid_token("The token's claims cannot be read") from error
        if known.nbf is not None and known.nbf > self._clock() + LEEWAY_S:
            raise invalid_token("The token is not valid yet")
        if not 0 < len(known.sub) <= USER_ID_CHARS_MAX or not known.sub.isprintable():
            raise invalid_token("The token names no person")
        return Principal(
            _role(claims.get(self._role_claim)),
            f"user:{known.sub}",
            known.exp + LEEWAY_S,
            user_id=known.sub,
            session_id=known.sid or known.session_id,
            issuer=self.issuer,
        )


class _ForeignClaims(msgspec.Struct):
    sub: str
    exp: _Moment
    nbf: _Moment | None = None
    sid: str | None = None
    session_id: str | None = None


def _role(claimed: object) -> Role:
    """Ignore roles that are not a person's: no issuer of people's tokens can grant the role of the back office."""
    return next((role for role in access_tokens.PEOPLE if role.value == claimed), Role.AUTHENTICATED)


def _kid_of(token: str) -> str:
    try:
        kid = jwt.get_unverified_header(token).get("kid")
    except (jwt.InvalidTokenError, ValueError, TypeError) as error:
        raise invalid_token("The token cannot be read") from error
    if not isinstance(kid, str) or not 0 < len(kid) <= KID_CHARS_MAX:
        raise invalid_token("The token does not name the key that signed it")
    return kid


def _claims(token: str, key: Any, algorithms: Sequence[str], issuer: str, audience: str) -> dict[str, Any]:
    try:
        return jwt.decode(token, key, algorithms=list(algorithms), issuer=issuer, audience=audience, options=_OPTIONS)
    except (jwt.InvalidTokenError, ValueError, TypeError) as error:
        raise invalid_token("The token cannot be verified") from error
