"""Issues and checks refresh tokens: `drt1.<session>.<secret>.<tag>`. They are never stored, only their digests.

The tag proves that this service issued the token, so a forged one never reaches the writer and cannot end a session. A
token's secret is an HMAC of its predecessor, so the same successor can be issued again within the grace period.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import os
import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Final
from uuid import UUID

from drover.domain.errors import DroverError

PREFIX: Final = "drt1"
SECRET_BYTES: Final = 32
TAG_BYTES: Final = 16
TOKEN_CHARS_MAX: Final = 128

_FORM: Final = re.compile(rf"{PREFIX}\.([A-Za-z0-9_-]{{22}})\.([A-Za-z0-9_-]{{43}})\.([A-Za-z0-9_-]{{22}})")


class NotOurs(DroverError):
    """The text is not a refresh token of this service, or its key is no longer accepted."""


class RefreshTokens:
    def __init__(self, keys: Sequence[bytes]) -> None:
        """`keys`: the current key first, then those being rotated out."""
        assert keys
        self._keys = tuple(keys)

    def first(self, session_id: str) -> str:
        """Make the first token of a session."""
        return _token(self._keys[0], _session_text(session_id), os.urandom(SECRET_BYTES))

    def children(self, parent: str) -> list[str]:
        """Derive the possible successors of a token, one per key, the current key first. The stored digest tells which
        was issued."""
        return [self._child(key, parent) for key in self._keys]

    def session_of(self, token: str) -> str:
        """Return the id of the token's session. Raises NotOurs for a token that was not issued here."""
        match = _FORM.fullmatch(token) if len(token) <= TOKEN_CHARS_MAX else None
        if match is None:
            raise NotOurs
        # Compare with all keys, even after a match, so that timing reveals nothing.
        fits = [hmac.compare_digest(token, _token(key, match[1], _bytes(match[2]))) for key in self._keys]
        if not any(fits):
            raise NotOurs
        return str(UUID(bytes=_bytes(match[1])))

    def _child(self, key: bytes, parent: str) -> str:
        return _token(key, parent.split(".")[1], _mac(key, "child", parent))


def digest(token: str) -> str:
    """Compute the digest of a token, which is stored instead of the token. The token has 256 random bits, so it cannot
    be recovered from its digest."""
    return sha256(token.encode()).hexdigest()


def _token(key: bytes, session: str, secret: bytes) -> str:
    body = f"{PREFIX}.{session}.{_text(secret)}"
    return f"{body}.{_text(_mac(key, 'tag', body)[:TAG_BYTES])}"


def _mac(key: bytes, purpose: str, text: str) -> bytes:
    return hmac.new(key, f"{purpose}\0{text}".encode(), sha256).digest()


def _session_text(session_id: str) -> str:
    return _text(UUID(session_id).bytes)


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError) as error:
        raise NotOurs from error
