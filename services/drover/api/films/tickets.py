"""Tickets: each permits one video for some minutes. Players send no token, so the URL must carry the permission."""

from __future__ import annotations

import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence
from hashlib import sha256
from hmac import compare_digest, digest
from typing import Final

TICKET_S: Final = 600
"""Lifetime of a ticket in seconds, longer than people watch a video. A page that needs longer requests another
ticket."""
_PURPOSE: Final = b"drover: ticket for the file of a render"


class Tickets:
    """Makes and checks tickets. Their keys are derived from the secrets of API keys, so a ticket is never a valid API
    key, nor an API key a ticket."""

    def __init__(self, secrets: Sequence[str], clock: Callable[[], float] = time.time) -> None:
        assert secrets
        self._keys = [digest(secret.encode(), _PURPOSE, sha256) for secret in secrets]
        self._clock = clock

    def make(self, render_id: int) -> tuple[str, int]:
        """Make a ticket. Returns it with the Unix time at which it expires."""
        ends = int(self._clock()) + TICKET_S
        return f"{ends}.{_seal(self._keys[0], render_id, ends)}", ends

    def admits(self, ticket: str, render_id: int) -> bool:
        said, _, seal = ticket.partition(".")
        if not (said.isascii() and said.isdigit() and len(said) <= 12 and seal.isascii()):
            return False
        ends = int(said)
        # Compare with every key, in constant time, so that timing reveals nothing.
        matches = [compare_digest(seal, _seal(key, render_id, ends)) for key in self._keys]
        return any(matches) and ends > self._clock()


def _seal(key: bytes, render_id: int, ends: int) -> str:
    return urlsafe_b64encode(digest(key, f"{render_id} {ends}".encode(), sha256)).decode().rstrip("=")
