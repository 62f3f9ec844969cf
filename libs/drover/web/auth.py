"""Authenticates callers: API keys, which are JWTs with a role as in Supabase, and people.

`permissions` says what a role may do; `people` verifies people's tokens; `key_book` knows which keys are revoked.
"""

from __future__ import annotations

import time
from base64 import urlsafe_b64decode
from collections import OrderedDict
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Annotated, Any, Final, Protocol
from uuid import UUID

import jwt
import msgspec
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import ec
from msgspec import Meta

from drover.service import identity_keys
from drover.service.api_keys import ALGORITHM, KEY_ROLES, Role, digest_of, is_spelled_once
from drover.web.errors import ApiError
from drover.web.key_bucket import Adopted

TOKEN_CHARS_MAX: Final = 4096
HEADER_CHARS_MAX: Final = TOKEN_CHARS_MAX + len("Bearer ")
KEY_ID_CHARS_MAX: Final = 64
DIGEST_CHARS: Final = 64
VERIFIED_MAX: Final = 100_000
"""How many verified callers the cache can hold: enough for one entry for each phone with its own key."""
REMEMBERED_CHARS_MAX: Final = 1024
"""Maximum length of the headers `apikey` and `Authorization` together for which a verified caller is cached. With our
own tokens, they have about 500 characters. Longer headers could hold the same token in many spellings, each of which
would take an entry of the cache."""

ADOPT: Final = (
    "If it is a key of an older installation, an admin can adopt it: drover key adopt. docs/identity.md says more."
)
SIGNED: Final = identity_keys.ALGORITHM
"""The algorithm of API keys with an id."""

_BEARER: Final = "bearer "
# Expiry is checked on every use, not here. `iat` is not checked: it says when a token was issued, not from when it is
# valid, and the issuer's clock may be ahead of ours.
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
    key_names: tuple[str, ...] = ()
    """The names of the API keys that the caller has sent: the key's id or, if it has none, its digest. If one of these
    keys is revoked, the caller is refused."""


_PRINCIPAL: Final = web.RequestKey("principal", Principal)


def note_principal(request: web.Request, principal: Principal) -> None:
    """Note who sends a request, for the access log and the audit."""
    request[_PRINCIPAL] = principal


def principal_of(request: web.Request) -> Principal | None:
    """Return who sends a request. None: nobody was authenticated, or the request is a heartbeat, for which
    `note_principal` is not called."""
    return request.get(_PRINCIPAL)


class Verifier(Protocol):
    """Verifies the tokens of one issuer of people's tokens."""

    issuer: str
    """The claim `iss` in the issuer's tokens."""

    def verify(self, token: str, now: float) -> Principal:
        """Return the owner of the token. Raises 401. The result is cached, so the caller of this method checks the
        expiry again on each use."""


class Keys(Protocol):
    """What a process knows about API keys (`key_book`)."""

    version: int
    listeners: list[Callable[[], None]]

    @property
    def is_current(self) -> bool: ...

    def check_current(self) -> None: ...

    def is_revoked(self, name: str) -> bool: ...

    def adopted(self, digest: str) -> Adopted | None: ...

    def api_key(self, kid: str) -> ec.EllipticCurvePublicKey | None: ...


class NoKeys:
    """Knows no API keys, for a process that verifies with shared secrets only."""

    version = 0
    is_current = True

    def __init__(self) -> None:
        self.listeners: list[Callable[[], None]] = []

    def check_current(self) -> None:
        pass

    def is_revoked(self, name: str) -> bool:
        return False

    def adopted(self, digest: str) -> Adopted | None:
        return None

    def api_key(self, kid: str) -> ec.EllipticCurvePublicKey | None:
        return None


class _Issued(msgspec.Struct):
    iss: str | None = None


class _Claims(msgspec.Struct):
    role: Role
    exp: float | None = None
    device_id: UUID | None = None
    jti: Annotated[str, Meta(min_length=1, max_length=KEY_ID_CHARS_MAX)] | None = None


class _Mark:
    """An entry of the cache of verified callers that marks where the cache ended at the last call of
    `take_used_keys`."""


class Authenticator:
    """Verifies tokens and caches the result, so that a heartbeat does not cost the check of a signature."""

    def __init__(
        self,
        secrets: Sequence[str],
        *,
        keys: Keys | None = None,
        people: Sequence[Verifier] = (),
        ended: Container[str] = frozenset(),
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`secrets`: the shared secrets of API keys without an id. `keys`: all other API keys, and which are revoked.
        `ended`: sessions that have ended; their tokens are refused even before they expire."""
        self._keys = NoKeys() if keys is None else keys
        self._keys_version = self._keys.version
        self._secrets = tuple(secrets)
        self._people = {verifier.issuer: verifier for verifier in people}
        assert len(self._people) == len(people), "two issuers have the same name"
        self._ended = ended
        self._clock = clock
        # Key: both headers as sent. Least recently used first.
        self._verified: OrderedDict[tuple[str | None, str | None] | _Mark, Principal | None] = OrderedDict()
        self._mark = _Mark()
        self._used_uncached: set[str] = set()

    def authenticate(self, headers: Mapping[str, str]) -> Principal:
        """Return the caller, or raise 401. If both `apikey` and `Authorization` are sent, both must be valid;
        `Authorization` identifies the caller."""
        self._keys.check_current()
        if self._keys_version != self._keys.version:  # a public key may have been withdrawn
            self._keys_version = self._keys.version
            self._verified.clear()
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
            elif len(self._used_uncached) < VERIFIED_MAX:
                self._used_uncached.update(principal.key_names)
        else:
            self._verified.move_to_end(sent)
        if principal.expires_at <= self._clock():
            self._verified.pop(sent, None)
            raise expired()
        if self._is_revoked(principal):
            self._verified.pop(sent, None)
            raise unauthorized("The key was revoked")
        if not self.holds(principal):
            # The answer is "expired", not "invalid": a client then tries to refresh, learns that the session has ended,
            # and signs out cleanly.
            self._verified.pop(sent, None)
            raise expired()
        return principal

    def holds(self, principal: Principal) -> bool:
        """Whether an authenticated caller is still allowed: False once their session has ended or one of their keys is
        revoked. Streams ask this, because they outlive the check of their token."""
        if self._is_revoked(principal):
            return False
        return principal.session_id is None or principal.session_id not in self._ended

    def take_used_keys(self) -> set[str]:
        """Return the ids of the API keys that were accepted since the last call.

        Each call puts a mark at the end of the cache, and every use of a caller moves that caller to the end. So the
        callers after the last mark were used since then. If the mark is gone, it was dropped as the least recently used
        entry, or the cache was cleared. In both cases all callers in the cache were used since then.
        """
        names, self._used_uncached = self._used_uncached, set()
        for sent in reversed(self._verified):
            if sent is self._mark:
                break
            principal = self._verified[sent]
            assert principal is not None
            names.update(principal.key_names)
        self._verified[self._mark] = None
        self._verified.move_to_end(self._mark)
        return {key_id for name in names if (key_id := self._listed_id(name))}

    def _listed_id(self, name: str) -> str:
        """Return the id under which a key is listed. Empty if the key is not listed, because it has no id and was not
        adopted."""
        if len(name) != DIGEST_CHARS:
            return name
        adopted = self._keys.adopted(name)
        return "" if adopted is None else adopted.key_id

    @property
    def is_current(self) -> bool:
        """Whether this process knows which keys are revoked. If it does not, it ends open streams and answers requests
        with 503."""
        return self._keys.is_current

    def on_change(self, listener: Callable[[], None]) -> None:
        """From now on, call `listener` whenever keys were revoked or `is_current` has become False."""
        self._keys.listeners.append(listener)

    def _is_revoked(self, principal: Principal) -> bool:
        is_revoked = self._keys.is_revoked
        return any(is_revoked(name) for name in principal.key_names)

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
        beside = self._verify(key)
        return msgspec.structs.replace(
            principal,
            expires_at=min(principal.expires_at, beside.expires_at),
            key_names=(*principal.key_names, *beside.key_names),
        )

    def _verify(self, token: str) -> Principal:
        if len(token) > TOKEN_CHARS_MAX:
            raise unauthorized("The token is too long")
        if not token.isascii():
            raise unauthorized("The token cannot be read")
        if self._people and (verifier := self._people.get(_issuer_of(token))) is not None:
            return verifier.verify(token, self._clock())
        digest = digest_of(token)
        if (adopted := self._keys.adopted(digest)) is not None:
            # Check this record like the claims of a token, so that somebody who can write the bucket still cannot make
            # an admin key.
            claims = {"role": adopted.role, "exp": adopted.expires_at, "device_id": adopted.device_id}
            known = _known(claims, self._clock())
            return _owner(known.role, known.device_id, adopted.expires_at, digest)
        header = _header_of(token)
        if header.get("alg") == SIGNED:
            known = _known(self._signed_claims(token, header.get("kid")), self._clock())
            if known.jti is None or known.exp is None:
                raise unauthorized("The token has no id or does not expire")
            return _owner(known.role, known.device_id, known.exp, known.jti)
        if not is_spelled_once(token):  # such a key is revoked by its digest, which another spelling would not match
            raise unauthorized("The token cannot be read")
        known = _known(self._shared_claims(token), self._clock())
        return _owner(known.role, known.device_id, float("inf") if known.exp is None else known.exp, digest)

    def _signed_claims(self, token: str, kid: object) -> dict[str, Any]:
        key = self._keys.api_key(kid) if isinstance(kid, str) else None
        if key is None:
            raise unauthorized("The token is not signed by a key of this server")
        try:
            return jwt.decode(token, key, algorithms=[SIGNED], options=_OPTIONS)
        except (jwt.InvalidTokenError, ValueError, TypeError) as error:
            raise unauthorized("The token cannot be verified") from error

    def _shared_claims(self, token: str) -> dict[str, Any]:
        if not self._secrets:
            raise unauthorized("The token is not signed by a key of this server", hint=ADOPT)
        for secret in self._secrets:
            try:
                return jwt.decode(token, secret, algorithms=[ALGORITHM], options=_OPTIONS)
            except jwt.InvalidSignatureError:
                continue
            except (jwt.InvalidTokenError, ValueError, TypeError) as error:
                raise unauthorized("The token cannot be read") from error
        raise unauthorized("The token is not signed by a key of this server")


def _header_of(token: str) -> dict[str, Any]:
    """Return the header of a token, which is not verified yet. It only selects the key, and each key accepts one
    algorithm only."""
    try:
        return jwt.get_unverified_header(token)
    except (jwt.InvalidTokenError, ValueError, TypeError) as error:
        raise unauthorized("The token cannot be read") from error


def _known(claims: dict[str, Any], now: float) -> _Claims:
    demand_unexpired(claims, now)
    try:
        known = msgspec.convert(claims, _Claims)
    except msgspec.ValidationError as error:
        raise unauthorized("The token has no role that is known here") from error
    if known.role not in KEY_ROLES:  # a person's role: an API key cannot carry it
        raise unauthorized("The token has no role that is known here")
    if (known.role is Role.DEVICE) != (known.device_id is not None):
        raise unauthorized("A token with the role device, and no other, must have a device_id")
    return known


def _owner(role: Role, device_id: UUID | str | None, expires_at: float, key_name: str) -> Principal:
    if device_id is None:
        return Principal(role, role.value, expires_at, key_names=(key_name,))
    return Principal(role, f"{role.value}:{device_id}", expires_at, str(device_id), key_names=(key_name,))


def _issuer_of(token: str) -> str:
    """Return the issuer that the token claims, or "". The claim only selects the keys and algorithms, with which the
    token is then verified."""
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


def unauthorized(details: str, *, hint: str | None = None) -> ApiError:
    """Make the 401 for a token that is not a valid API key."""
    return _refusal("UNAUTHORIZED", "Invalid API key", details, _INVALID, hint=hint)


def invalid_token(details: str) -> ApiError:
    """Make the 401 for an invalid token of a person."""
    return _refusal(*_INVALID, details, _INVALID)


def demand_unexpired(claims: Mapping[str, Any], now: float) -> None:
    """Raise 401 if the token has expired. Call this before checking other claims, so that a client whose token is old
    is told to refresh it and not that it is invalid."""
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
