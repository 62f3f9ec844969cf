"""Verifies people's access tokens: those of the built-in issuer, and those of another issuer with its published keys.

Each verifier accepts fixed algorithms, and looks up the key id of a token only among its own issuer's keys.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any, Final, Protocol

import jwt
import msgspec
from cryptography.hazmat.primitives.asymmetric import ec
from msgspec import Meta

from drover.domain.identity.policy import USER_ID_CHARS_MAX
from drover.service import access_tokens, api_keys, identity_keys
from drover.service.api_keys import Role
from drover.service.config import ConfigurationError
from drover.web.auth import Principal, demand_unexpired, invalid_token
from drover.web.jwks import KeySet

LEEWAY_S: Final = 30.0
"""How far the clock of another issuer may differ from ours, in seconds."""
KID_CHARS_MAX: Final = 256

_Moment = Annotated[float, Meta(gt=0, lt=1e12)]
"""Seconds since 1970. It has bounds because Python's JSON accepts NaN and Infinity: a token with such an expiry would
never expire."""

# This module checks the claims itself: with the given clock, and expiry first.
_SIGNATURE_ONLY: Final[jwt.types.Options] = {
    "verify_exp": False,
    "verify_nbf": False,
    "verify_iat": False,
    "verify_aud": False,
    "verify_iss": False,
    "verify_sub": False,
    "verify_jti": False,
}


class PeopleKeys(Protocol):
    def person_key(self, kid: str) -> ec.EllipticCurvePublicKey | None:
        """Return the public key with this id, or None if Drover has none."""


class BuiltIn:
    """Verifies the tokens that Drover itself issued."""

    issuer = access_tokens.ISSUER

    def __init__(self, keys: PeopleKeys) -> None:
        self._keys = keys

    def verify(self, token: str, now: float) -> Principal:
        key = self._keys.person_key(_kid_of(token))
        if key is None:
            raise invalid_token("The token names a key that this server does not have")
        claims = _claims(token, key, identity_keys.ALGORITHM)
        demand_unexpired(claims, now)
        _demand_audience(claims, access_tokens.AUDIENCE)
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
        audience: str | None,
        role_claim: str,
        authorized_parties: Collection[str] = (),
    ) -> None:
        """`audience`: if it is None, only tokens without `aud` are accepted. `authorized_parties`: unless it is empty,
        tokens must name one of them in `azp`."""
        if issuer in (access_tokens.ISSUER, api_keys.ISSUER):
            raise ConfigurationError((f"DROVER_JWT_ISSUER={issuer} is Drover's own name: name the other issuer.",))
        self.issuer = issuer
        self._keys = keys
        self._audience = audience
        self._authorized_parties = tuple(authorized_parties)
        self._role_claim = role_claim

    def verify(self, token: str, now: float) -> Principal:
        key = self._keys.get(_kid_of(token))  # raises NotYet if the issuer should be asked again
        if key is None:
            raise invalid_token("The token names a key that its issuer does not publish")
        claims = _claims(token, key.public, key.algorithm)
        demand_unexpired(claims, now - LEEWAY_S)
        _demand_audience(claims, self._audience)
        try:
            known = msgspec.convert(claims, _ForeignClaims)
        except msgspec.ValidationError as error:
            raise invalid_token("The token's claims cannot be read") from error
        if known.nbf is not None and known.nbf > now + LEEWAY_S:
            raise invalid_token("The token is not valid yet")
        if self._authorized_parties and known.azp not in self._authorized_parties:
            raise invalid_token("The token's azp is not among DROVER_JWT_AUTHORIZED_PARTIES")
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
    azp: Any = None
    sid: str | None = None
    session_id: str | None = None


def _role(claimed: object) -> Role:
    """Return the claimed role if it is admin, operator or viewer, else AUTHENTICATED. So no issuer of people's tokens
    can grant the role of the back office."""
    return next((role for role in access_tokens.PEOPLE if role.value == claimed), Role.AUTHENTICATED)


def _kid_of(token: str) -> str:
    try:
        kid = jwt.get_unverified_header(token).get("kid")
    except (jwt.InvalidTokenError, ValueError, TypeError) as error:
        raise invalid_token("The token cannot be read") from error
    if not isinstance(kid, str) or not 0 < len(kid) <= KID_CHARS_MAX:
        raise invalid_token("The token does not name the key that signed it")
    return kid


def _claims(token: str, key: Any, algorithm: str) -> dict[str, Any]:
    """Verify the signature and return the claims. `iss` is not checked here: the verifier was chosen by it."""
    try:
        return jwt.decode(token, key, algorithms=[algorithm], options=_SIGNATURE_ONLY)
    except (jwt.InvalidTokenError, ValueError, TypeError) as error:
        raise invalid_token("The token cannot be verified") from error


def _demand_audience(claims: Mapping[str, Any], audience: str | None) -> None:
    if audience is None:
        if "aud" in claims:  # RFC 7519, 4.1.3: refuse a token that is made for another audience
            raise invalid_token("The token has an aud: set DROVER_JWT_AUDIENCE to it if it is made for Drover")
        return
    named = claims.get("aud")
    if audience not in (named if isinstance(named, list) else [named]):
        raise invalid_token("The token's aud is not DROVER_JWT_AUDIENCE")
