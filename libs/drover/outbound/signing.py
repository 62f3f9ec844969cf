"""Signs the body of a webhook, and verifies a signature as its receiver would. Both are here so that tests can check
one with the other."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

HEADER: Final = "Drover-Signature"
TOLERANCE_S: Final = 300
"""How many seconds the time in a signature may differ from now. Otherwise the signature is refused, because the request
may be a replay."""


def sign(body: bytes, secrets: Sequence[str], now_s: int) -> str:
    """Make the signature `t=<unix time>,v1=<hex>`, with one v1 for each secret: HMAC-SHA256 of the time, a dot, and the
    body."""
    return ",".join((f"t={now_s}", *(f"v1={_digest(body, secret, now_s)}" for secret in secrets)))


def verify(header: str, body: bytes, secret: str, now_s: float) -> bool:
    """Whether the signature was made with this secret and is recent. Receivers of our webhooks can do the same."""
    parts = [part.partition("=") for part in header.split(",")]
    times = [value for name, _, value in parts if name == "t"]
    if len(times) != 1 or not times[0].isascii() or not times[0].isdigit():
        return False
    if abs(now_s - int(times[0])) > TOLERANCE_S:
        return False
    wanted = _digest(body, secret, int(times[0]))
    return any(hmac.compare_digest(wanted, value) for name, _, value in parts if name == "v1" and value.isascii())


def _digest(body: bytes, secret: str, now_s: int) -> str:
    return hmac.new(secret.encode(), b"%d." % now_s + body, sha256).hexdigest()
