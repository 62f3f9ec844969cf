"""Hashes passwords with argon2id in a few threads, and seals (encrypts) the hashes with the keys of their people. Never
stores or logs a password."""

from __future__ import annotations

import asyncio
import secrets
import unicodedata
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Final, TypeVar

import structlog
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.low_level import ARGON2_VERSION

from drover.api.identity.personal_data import PersonalData
from drover.domain.erasure import KeyRef, SealedText, parse_sealed, token_of
from drover.domain.errors import Code
from drover.domain.identity.subjects import CONTEXT, person
from drover.domain.partitions import MAIN
from drover.service.sealing import SealDamaged, UnknownSealingKey
from drover.service.subject_sealing import CANNOT_OPEN, KeysUnreachable
from drover.web.errors import ApiError, invalid, unavailable

CHARS_MIN: Final = 12
BYTES_MAX: Final = 1024
"""Maximum size of a password in bytes; a longer one is refused. More bytes would be no safer, only more work."""
AT_ONCE_MAX: Final = 2
"""Maximum of passwords that are hashed at a time; others wait. Each takes 64 MiB and several cores, so more would delay
heartbeats on the same machine."""
WAITING_MAX: Final = 32

PURPOSE: Final = "identity.password"
NOBODY: Final = "nobody"
"""The subject whose key is fetched when somebody signs in to an account that does not exist."""

T = TypeVar("T")

log = structlog.stdlib.get_logger("drover.identity")


class Passwords:
    def __init__(self, personal: PersonalData, hasher: PasswordHasher | None = None) -> None:
        self._personal = personal
        self._hasher = hasher or PasswordHasher()  # argon2id, RFC 9106's second option: 64 MiB, 3 passes
        self._threads = ThreadPoolExecutor(AT_ONCE_MAX, thread_name_prefix="argon2")
        self._waiting = 0
        self._nobodys = _random_hash(self._hasher)
        """A hash that no password matches. It is checked if there is no account, so that this takes as long as with an
        account."""
        self._decoy: str | None = None
        """`_nobodys`, sealed with a key that is stored like the keys of people. None: it must be sealed first."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        try:
            yield
        finally:
            self._threads.shutdown(wait=False, cancel_futures=True)

    async def sealed(self, password: str, account_id: str) -> str:
        """Hash a new password and seal the hash. Raises 400 if the password is too short or too long."""
        password = _normal(password)
        if len(password) < CHARS_MIN:
            raise invalid(f"The password must have at least {CHARS_MIN} characters", field="password")
        if len(password.encode()) > BYTES_MAX:
            raise invalid(f"The password must have at most {BYTES_MAX} bytes", field="password")
        hashed = await self._in_thread(lambda: self._hasher.hash(password))
        try:
            return await self._personal.seal(hashed, subject=person(account_id), purpose=PURPOSE)
        except (KeysUnreachable, UnknownSealingKey, SealDamaged) as error:
            raise unavailable(str(error)) from error

    async def matches(self, password: str, sealed: str | None, account_id: str) -> bool:
        """Check the password against a sealed hash. Does the same work without an account (`sealed` is None). Raises
        503."""
        hashed = await self._opened(sealed, account_id)
        password = _normal(password)
        too_long = len(password.encode()) > BYTES_MAX
        tried = "" if too_long else password
        is_same = await self._in_thread(lambda: self._verify(self._nobodys if hashed is None else hashed, tried))
        return is_same and hashed is not None and not too_long

    async def resealed(self, sealed: str, account_id: str) -> str:
        """Return a sealed password hash, sealed with the key of its person. It is sealed again only if an earlier
        release has sealed it. Raises SealDamaged, UnknownSealingKey or 503."""
        if parse_sealed(sealed) is not None:
            return sealed
        try:
            hashed = (await self._personal.opener(())).open(
                sealed, subject=person(account_id), purpose=PURPOSE, before=account_id
            )
            return await self._personal.seal(hashed, subject=person(account_id), purpose=PURPOSE)
        except KeysUnreachable as error:
            raise unavailable(str(error)) from error

    async def _opened(self, sealed: str | None, account_id: str) -> str | None:
        """Open a sealed hash. None: there is no hash, or it cannot be opened. Always fetches one key from the leader,
        even if this process knows it, so that the time taken does not reveal whether an account exists."""
        try:
            decoy = await self._sealed_decoy()
            text, subject = (decoy, NOBODY) if sealed is None else (sealed, person(account_id))
            opener = await self._personal.opener([decoy if parse_sealed(text) is None else text], fresh=True)
        except KeysUnreachable as error:
            raise unavailable(str(error)) from error
        try:
            hashed = opener.open(text, subject=subject, purpose=PURPOSE, before=account_id)
        except CANNOT_OPEN as error:
            if sealed is None:
                self._decoy = None  # its key was lost: the next check makes another one
            else:
                log.error("password_cannot_be_opened", user_id=account_id, error=str(error))
            return None
        return None if sealed is None else hashed

    async def _sealed_decoy(self) -> str:
        if self._decoy is None:
            try:
                self._decoy = await self._personal.seal(self._nobodys, subject=NOBODY, purpose=PURPOSE)
            except (UnknownSealingKey, SealDamaged):  # a sealing key was lost; people whose keys are fine can sign in
                return str(SealedText(KeyRef(MAIN, token_of(CONTEXT, NOBODY)), "A" * len(self._nobodys)))
        return self._decoy

    def _verify(self, hashed: str, password: str) -> bool:
        try:
            return self._hasher.verify(hashed, password)
        except (VerificationError, InvalidHashError):
            return False

    async def _in_thread(self, work: Callable[[], T]) -> T:
        if self._waiting >= WAITING_MAX:
            raise ApiError(503, Code.OVERLOADED, "Too many people are signing in at the moment; try again shortly")
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            self._waiting -= 1


def _random_hash(hasher: PasswordHasher) -> str:
    """Make up the hash of an unknown password. To check a password against it takes as much work as against a real
    one; to compute a real one at every start would take a tenth of a second of CPU time."""
    costs = f"m={hasher.memory_cost},t={hasher.time_cost},p={hasher.parallelism}"
    salt, digest = (b64encode(secrets.token_bytes(size)).decode() for size in (hasher.salt_len, hasher.hash_len))
    return f"$argon2{hasher.type.name.lower()}$v={ARGON2_VERSION}${costs}${salt.rstrip('=')}${digest.rstrip('=')}"


def _normal(password: str) -> str:
    """Normalize the Unicode form of a password: keyboards and systems compose Hangul and accents differently."""
    # A lone surrogate cannot be encoded, so no password contains one.
    return unicodedata.normalize("NFKC", password).encode("utf-8", "replace").decode()
