"""Turns the header `Idempotency-Key` into the id of a command. The writer remembers the ids."""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from uuid_utils import uuid7

from drover.web.errors import invalid

HEADER: Final = "Idempotency-Key"
KEY_CHARS_MAX: Final = 255
_DIGEST_BYTES: Final = 16


def command_id(key: str | None, *, principal: str, route: str, body: bytes, target: str = "") -> str:
    """Make the command id `<key, scoped by caller and route>~<digest of the body>`. With the digest, the writer notices
    when a client uses the same Idempotency-Key for a request with another body.

    `principal`: the name of the caller. `target`: what the write changes if the route does not tell, such as the filter
    of a PATCH.
    """
    if key is None:
        return str(uuid7())
    if not 1 <= len(key) <= KEY_CHARS_MAX or not (key.isascii() and key.isprintable()):
        raise invalid(f"{HEADER} must have 1 to {KEY_CHARS_MAX} printable ASCII characters", field=HEADER, value=key)
    # No part can contain a NUL, so two scopes are never equal by accident.
    scope = "\0".join((principal, route, *((target,) if target else ()), key)).encode()
    return f"{_digest(scope)}~{_digest(body)}"


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()
