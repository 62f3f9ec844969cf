"""Refresh tokens: how they are made, told from forgeries, and how a child follows from its parent. None is ever stored.

`drt1.<session>.<secret>.<tag>`. The tag proves that we issued it, so that what anybody makes up never reaches the
writer and cannot end a session. A child's secret is an HMAC of its parent, so that it can be given again within the
grace.
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
    """This is no refresh token that we issued under a key that is still live."""


class RefreshTokens:
    def __init__(self, keys: Sequence[bytes]) -> None:
        """`keys`: the current one first, then those on their way out."""
        assert keys
        self._keys = tuple(keys)

    def first(self, session_id: str) -> str:
        """The one that a session begins with."""
        return _token(self._keys[0], _session_text(session_id), os.urandom(SECRET_BYTES))

    def children(self, parent: str) -> list[str]:
        """What may follow this one: under the current key first. Which of them did is on record as a digest."""
        return [self._child(key, parent) for key in self._keys]

    def session_of(self, token: str) -> str:
        """Id of the session that it belongs to; raises NotOurs."""
        match = _FORM.fullmatch(token) if len(token) <= TOKEN_CHARS_MAX else None
        if match is None:
            raise NotOurs
        # All of them, whichever fits: how long this takes tells nothing.
        fits = [hmac.compare_digest(token, _token(key, match[1], _bytes(match[2]))) for key in self._keys]
        if not any(fits):
            raise NotOurs
        return str(UUID(bytes=_bytes(match[1])))

    def _child(self, key: bytes, parent: str) -> str:
        return _token(key, parent.split(".")[1], _mac(key, "child", parent))


def digest(token: str) -> str:
    """What is kept of a token. It has 256 random bits: nobody finds it again from this."""
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
