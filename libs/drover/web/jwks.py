"""The public keys that another issuer publishes (JWKS): fetches, caches and refreshes them. However many requests need
a key, the issuer is asked at most every 30 s.

An outage of the issuer ends no session: known keys stay valid for hours. Tokens that cannot be verified meanwhile get
503, not 401.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple

import aiohttp
import jwt
import msgspec
import structlog
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from drover.domain.errors import DroverError
from drover.service.reasons import reason_of
from drover.service.tasks import end
from drover.web.errors import NotYet, unavailable

FETCH_S: Final = 5.0
JWKS_BYTES_MAX: Final = 256 * 1024
KEYS_MAX: Final = 100
RSA_BITS_MIN: Final = 2048
REFRESH_EVERY_S: Final = 300.0
REFRESH_AGAIN_S: Final = 30.0
"""Minimum time between two refreshes, in seconds. A token with an unknown key id does not shorten it, because anybody
can invent such an id."""
KEYS_AGE_MAX_S: Final = 6 * 3600.0
"""How long cached keys are trusted while their issuer does not answer."""

log = structlog.stdlib.get_logger("drover.jwks")


class JwksUnusable(DroverError):
    """The JWKS address returned no usable keys."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"The issuer's keys cannot be fetched: {reason}")


class Key(NamedTuple):
    algorithm: str
    """The key's only algorithm; what a token claims is ignored."""
    public: rsa.RSAPublicKey | ec.EllipticCurvePublicKey


Fetch = Callable[[], Awaitable[bytes]]


class KeySet:
    """One issuer's keys, by id."""

    def __init__(self, fetch: Fetch, *, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock`: returns seconds that never go back."""
        self._fetch = fetch
        self._clock = clock
        self._keys: dict[str, Key] = {}
        self._fetched_at = float("-inf")
        self._tried_at = float("-inf")
        self._failed = False
        self._refreshing: asyncio.Task[None] | None = None

    def get(self, kid: str) -> Key | None:
        """Return the key, or None if the issuer does not have it. Raises NotYet if the issuer must be asked first, and
        503 if its keys could not be fetched."""
        now = self._clock()
        too_old = now - self._fetched_at > KEYS_AGE_MAX_S
        key = None if too_old else self._keys.get(kid)
        if key is not None:
            return key
        if self._refreshing is not None or now - self._tried_at >= REFRESH_AGAIN_S:
            raise NotYet(self.refresh, "The issuer's keys are being fetched")
        if self._failed or too_old:
            raise unavailable("The issuer's keys cannot be fetched")
        return None

    async def refresh(self) -> None:
        """Fetch the issuer's keys, unless that was tried in the last 30 s. Concurrent callers share one request. Never
        raises."""
        if self._refreshing is None:
            if self._clock() - self._tried_at < REFRESH_AGAIN_S:
                return
            self._tried_at = self._clock()
            self._refreshing = asyncio.create_task(self._refresh(), name="jwks")
            self._refreshing.add_done_callback(self._refreshed)
        await asyncio.shield(self._refreshing)

    def _refreshed(self, task: asyncio.Task[None]) -> None:
        self._refreshing = None

    async def _refresh(self) -> None:
        try:
            self._keys = parse_keys(await self._fetch())
        except JwksUnusable as error:
            self._failed = True
            log.warning("issuer_keys_unavailable", reason=error.reason, known=len(self._keys))
        else:
            self._failed = False
            self._fetched_at = self._clock()
            log.debug("issuer_keys_fetched", keys=len(self._keys))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep the keys fresh while the block runs. Entering it does not wait for the issuer."""
        task = asyncio.create_task(self._keep_fresh(), name="jwks-refresh")
        try:
            yield
        finally:
            await end(task, *([] if self._refreshing is None else [self._refreshing]))

    async def _keep_fresh(self) -> None:
        while True:
            await self.refresh()
            await asyncio.sleep(REFRESH_EVERY_S)


def parse_keys(raw: bytes) -> dict[str, Key]:
    """Return the usable keys of a key set, by id. Other keys are skipped, because issuers publish keys for other
    purposes, too."""
    try:
        listed = msgspec.json.decode(raw, type=_Set).keys
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise JwksUnusable("the answer is not a key set") from error
    if len(listed) > KEYS_MAX:
        raise JwksUnusable(f"there are more than {KEYS_MAX} keys")
    keys = {str(jwk["kid"]): key for jwk in listed if jwk.get("kid") and (key := _key(jwk)) is not None}
    if not keys:
        raise JwksUnusable("there is no key for RS256 or ES256 that has an id")
    return keys


class _Set(msgspec.Struct):
    keys: list[dict[str, Any]]


def _key(jwk: dict[str, Any]) -> Key | None:
    if jwk.get("use", "sig") != "sig":
        return None
    try:
        if jwk.get("kty") == "RSA" and jwk.get("alg", "RS256") == "RS256":
            public: Any = RSAAlgorithm.from_jwk(jwk)
            good = isinstance(public, rsa.RSAPublicKey) and public.key_size >= RSA_BITS_MIN
            return Key("RS256", public) if good else None
        if jwk.get("kty") == "EC" and jwk.get("crv") == "P-256" and jwk.get("alg", "ES256") == "ES256":
            public = ECAlgorithm.from_jwk(jwk)
            return Key("ES256", public) if isinstance(public, ec.EllipticCurvePublicKey) else None
    except (jwt.InvalidKeyError, ValueError, TypeError, KeyError):
        return None
    return None


def fetch_from(url: str) -> Fetch:
    """Return a function that fetches the key set from a URL. It follows no redirects, uses no proxies from the
    environment, and accepts no compression (zip bombs)."""

    async def fetch() -> bytes:
        try:
            timeout = aiohttp.ClientTimeout(total=FETCH_S)
            headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
            async with (
                aiohttp.ClientSession(timeout=timeout, auto_decompress=False, trust_env=False) as session,
                session.get(url, allow_redirects=False, headers=headers) as answer,
            ):
                if answer.status != 200:
                    raise JwksUnusable(f"HTTP {answer.status}")
                return await _read(answer.content)
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            raise JwksUnusable(reason_of(error)) from error

    return fetch


async def _read(content: aiohttp.StreamReader) -> bytes:
    raw = bytearray()
    async for part in content.iter_any():
        raw += part
        if len(raw) > JWKS_BYTES_MAX:
            raise JwksUnusable(f"the answer is larger than {JWKS_BYTES_MAX} bytes")
    return bytes(raw)
