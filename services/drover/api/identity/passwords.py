"""Hashes passwords with argon2id in a few threads, and seals (encrypts) the hashes. Never stores or logs a password."""

from __future__ import annotations

import asyncio
import secrets
import unicodedata
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Final, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from drover.domain.errors import Code
from drover.service.sealing import Sealer
from drover.web.errors import ApiError, invalid

CHARS_MIN: Final = 12
BYTES_MAX: Final = 1024
"""Maximum size of a password in bytes; a longer one is refused. More bytes would be no safer, only more work."""
AT_ONCE_MAX: Final = 2
"""Maximum of passwords that are hashed at a time; others wait. Each takes 64 MiB and several cores, so more would delay
heartbeats on the same machine."""
WAITING_MAX: Final = 32

CONTEXT: Final = "identity.password"
NOBODY: Final = "00000000-0000-4000-8000-000000000000"

T = TypeVar("T")


class Passwords:
    def __init__(self, sealer: Sealer, hasher: PasswordHasher | None = None) -> None:
        self._sealer = sealer
        self._hasher = hasher or PasswordHasher()  # argon2id, RFC 9106's second option: 64 MiB, 3 passes
        self._threads = ThreadPoolExecutor(AT_ONCE_MAX, thread_name_prefix="argon2")
        self._waiting = 0
        self._nobodys = sealer.seal(self._hasher.hash(secrets.token_hex()).encode(), context=CONTEXT, subject=NOBODY)

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
        return self._sealer.seal(hashed.encode(), context=CONTEXT, subject=account_id)

    async def matches(self, password: str, sealed: str | None, account_id: str) -> bool:
        """Check the password against a sealed hash. Takes the same time without an account (`sealed` is None)."""
        if sealed is None:
            sealed, account_id = self._nobodys, NOBODY
        password = _normal(password)
        too_long = len(password.encode()) > BYTES_MAX
        hashed = self._sealer.open(sealed, context=CONTEXT, subject=account_id).decode()
        return await self._in_thread(lambda: self._verify(hashed, "" if too_long else password)) and not too_long

    def resealed(self, sealed: str, account_id: str) -> str:
        """Seal a sealed password hash again, under the current sealing key."""
        return self._sealer.rewrap(sealed, context=CONTEXT, subject=account_id)

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


def _normal(password: str) -> str:
    """Normalize the Unicode form of a password: keyboards and systems compose Hangul and accents differently."""
    # A lone surrogate cannot be encoded, so no password contains one.
    return unicodedata.normalize("NFKC", password).encode("utf-8", "replace").decode()
