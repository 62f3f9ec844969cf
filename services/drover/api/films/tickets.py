"""Tickets: each permits one video for some minutes. Players send no token, so the URL carries a ticket, which also says
for whom it was made."""

from __future__ import annotations

import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from hashlib import sha256
from hmac import compare_digest, digest
from typing import Final

TICKET_S: Final = 600
"""Lifetime of a ticket in seconds, longer than people watch a video. A page that needs longer requests another
ticket."""
_PURPOSE: Final = b"drover: ticket for the file of a render"


class Tickets:
    """Makes and checks tickets. Their keys are derived from the secrets that sign tokens, so a ticket is never a valid
    token, nor a token a ticket."""

    def __init__(self, secrets: Sequence[str], clock: Callable[[], float] = time.time) -> None:
        assert secrets
        self._keys = [digest(secret.encode(), _PURPOSE, sha256) for secret in secrets]
        self._clock = clock

    def make(self, render_id: int, by: str) -> tuple[str, int]:
        """Make a ticket for a caller. Returns it with the Unix time at which it expires."""
        ends, holder = int(self._clock()) + TICKET_S, _text(by.encode())
        return f"{ends}.{holder}.{_seal(self._keys[0], render_id, ends, holder)}", ends

    def holder(self, ticket: str, render_id: int) -> str | None:
        """Return for whom the ticket was made. None: it is not valid for this video."""
        said, _, rest = ticket.partition(".")
        holder, _, seal = rest.partition(".")
        if not (said.isascii() and said.isdigit() and len(said) <= 12 and rest.isascii()):
            return None
        ends = int(said)
        # Compare with every key, in constant time, so that timing reveals nothing.
        matches = [compare_digest(seal, _seal(key, render_id, ends, holder)) for key in self._keys]
        if not any(matches) or ends <= self._clock():
            return None
        return urlsafe_b64decode(holder + "=" * (-len(holder) % 4)).decode()


def _seal(key: bytes, render_id: int, ends: int, holder: str) -> str:
    return _text(digest(key, f"{render_id} {ends} {holder}".encode(), sha256))


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")
