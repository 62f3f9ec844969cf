"""What this process knows about API keys: the public keys that verify them, which keys are revoked, and which are
adopted.

It follows the bucket of keys in NATS (`key_bucket`), so that a revoked key is refused here within 2 seconds. It needs
neither Postgres nor a leading `api`. A process that has had no answer from the bucket for a minute can no longer tell
which keys are revoked. From then on it answers 503, not 401, because the caller's key may be fine.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Final

import jwt
import msgspec
import structlog
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from drover.bus.subscription import subscribed
from drover.domain.errors import DroverError
from drover.service.reasons import reason_of
from drover.service.tasks import in_background
from drover.web.errors import ApiError
from drover.web.key_bucket import (
    ALL_ENTRIES,
    SHARDS,
    SIGNING,
    Adopted,
    BucketMissing,
    KeyBucket,
    PublicKey,
    Shard,
    Use,
    decode_shard,
    decode_signing,
)

POLL_S: Final = 1.0
"""How often the bucket is read, in seconds, even if no message says that it has changed."""
GRACE_S: Final = 60.0
"""How many seconds this process serves requests without an answer from the bucket."""
RETRY_AFTER_S: Final = 5
FIRST_S: Final = 10.0
"""How many seconds a process that fills the bucket itself waits for the first answer before it opens its port."""
UNKNOWN: Final = "KEYS_UNKNOWN"
"""The code of the 503 of a process that does not know which keys are valid."""

log = structlog.get_logger("drover.keys")


class KeyBook:
    """The keys, as this process knows them. All questions are answered from memory."""

    def __init__(
        self,
        client: Client,
        *,
        own: Iterable[PublicKey] = (),
        may_be_missing: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`own`: public keys that this process derives from its own secrets. `may_be_missing`: whether to serve even if
        there is no bucket. This is for processes that verify with a shared secret, as all did before there was a
        bucket."""
        self.version = 0
        """Grows whenever the public keys change. Whoever cached a verified token must then verify it again."""
        self.listeners: list[Callable[[], None]] = []
        """Functions to call when keys were revoked, and when this process can no longer tell which are (`is_current` is
        False)."""
        self._client = client
        self._bucket = KeyBucket(client)
        self._own = tuple(own)
        self._may_be_missing = may_be_missing
        self._clock = clock
        self._confirmed_at = float("-inf")
        self._was_current = False
        self._trouble: str | None = "The bucket of keys has not answered yet."
        self._has_signing = False
        self._public: dict[Use, dict[str, ec.EllipticCurvePublicKey]] = {"api": {}, "people": {}}
        self._shards: dict[str, Shard] = {}
        self._revoked: frozenset[str] = frozenset()
        self._adopted: dict[str, Adopted] = {}
        self._hinted = asyncio.Event()
        self._first_confirmed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._publish(())

    # Questions

    def is_revoked(self, name: str) -> bool:
        """Whether a key was revoked, by its id or digest."""
        return name in self._revoked

    def adopted(self, digest: str) -> Adopted | None:
        return self._adopted.get(digest)

    def api_key(self, kid: str) -> ec.EllipticCurvePublicKey | None:
        """Return the public key that verifies API keys with this `kid`. Raises 503 if none were published yet."""
        return self._key("api", kid)

    def person_key(self, kid: str) -> ec.EllipticCurvePublicKey | None:
        return self._key("people", kid)

    def _key(self, use: Use, kid: str) -> ec.EllipticCurvePublicKey | None:
        key = self._public[use].get(kid)
        if key is None and not self._has_signing:
            raise unknown_keys("The public keys are not published yet")
        return key

    @property
    def is_current(self) -> bool:
        """Whether this process's list of revoked keys is at most a minute old."""
        return self._clock() - self._confirmed_at <= GRACE_S

    def check_current(self) -> None:
        if not self.is_current:
            raise unknown_keys("This process cannot learn which keys were revoked")

    def why_not_ready(self) -> str | None:
        return None if self.is_current else self._trouble or "The bucket of keys does not answer."

    # Following the bucket

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with in_background(self._run(), name="key-book") as self._task:
            yield

    @asynccontextmanager
    async def known(self, within_s: float = FIRST_S) -> AsyncIterator[None]:
        """Enter when the keys are known for the first time, or after this many seconds without them."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._first_confirmed.wait()
        yield

    async def wait_failed(self) -> None:
        assert self._task is not None
        await asyncio.shield(self._task)

    async def _run(self) -> None:
        async with subscribed(self._client, ALL_ENTRIES, self._hint):
            while True:
                self._hinted.clear()
                await self.look()
                with suppress(TimeoutError):
                    async with asyncio.timeout(POLL_S):
                        await self._hinted.wait()

    async def _hint(self, message: Msg) -> None:
        """Make the loop read the bucket at once. The content of the message is not used: it may never have been
        stored."""
        self._hinted.set()

    async def look(self) -> None:
        """Read what is new in the bucket. Never raises."""
        try:
            changed = await self._bucket.refresh()
            self._take(changed)
        except BucketMissing:
            if not self._may_be_missing or self._shards:
                self._fail("There is no bucket of keys yet: the service api creates it.")
            else:
                self._confirm()
        except (NatsError, OSError, DroverError, msgspec.DecodeError, KeyError, ValueError) as error:
            self._fail(f"The bucket of keys does not answer: {reason_of(error)}")
        if self._was_current and not self.is_current:
            self._tell()
        self._was_current = self.is_current

    def _confirm(self) -> None:
        self._trouble = None
        self._confirmed_at = self._clock()
        self._first_confirmed.set()

    def _fail(self, why: str) -> None:
        if self._trouble is None:
            log.warning("keys_not_confirmed", why=why, serves_s=GRACE_S)
        self._trouble = why

    def _tell(self) -> None:
        for listener in self.listeners:
            listener()

    def _take(self, changed: list[str]) -> None:
        shards = [name for name in changed if name in SHARDS and self._decode(name)]
        if SIGNING in changed:
            self._take_signing()
        if shards:
            self._index()
        if len(self._shards) == len(SHARDS):
            self._confirm()
        else:  # some revoked keys may be unknown here
            self._fail("The bucket of keys is not complete yet: the service api fills it.")

    def _decode(self, name: str) -> bool:
        """Decode one entry of revoked and adopted keys; return whether it could be decoded. A bad one is ignored,
        because `api` writes it again."""
        try:
            self._shards[name] = decode_shard(self._bucket.entries[name].data)
        except msgspec.DecodeError as error:
            log.error("key_entry_ignored", entry=name, error=str(error))
            return False
        return True

    def _index(self) -> None:
        before = self._revoked
        self._revoked = frozenset(name for shard in self._shards.values() for name in shard.revoked)
        self._adopted = {key.digest: key for shard in self._shards.values() for key in shard.adopted}
        if not self._revoked <= before:
            self._tell()

    def _take_signing(self) -> None:
        try:
            published = decode_signing(self._bucket.entries[SIGNING].data).keys
        except msgspec.DecodeError as error:
            log.error("key_entry_ignored", entry=SIGNING, error=str(error))
            return
        self._has_signing = True
        self._publish(published)

    def _publish(self, published: Iterable[PublicKey]) -> None:
        found: dict[Use, dict[str, ec.EllipticCurvePublicKey]] = {"api": {}, "people": {}}
        for key in (*published, *self._own):
            if (public := _decoded(key)) is not None:
                found[key.use][key.kid] = public
        self._public = found
        self.version += 1


def _decoded(key: PublicKey) -> ec.EllipticCurvePublicKey | None:
    try:
        public = ECAlgorithm.from_jwk({"kty": "EC", "crv": "P-256", "x": key.x, "y": key.y})
    except (jwt.InvalidKeyError, ValueError, TypeError):
        log.error("public_key_ignored", kid=key.kid)
        return None
    return public if isinstance(public, ec.EllipticCurvePublicKey) else None


def unknown_keys(details: str) -> ApiError:
    """Make the 503 of a process that cannot tell whether the caller's key is valid."""
    return ApiError(
        503,
        UNKNOWN,
        "Keys cannot be checked at the moment",
        details=details,
        hint="Try again; nothing is wrong with the key.",
        headers={"Retry-After": str(RETRY_AFTER_S)},
    )
