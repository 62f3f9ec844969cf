"""Makes ids from known values, because a decider must not use random numbers."""

from __future__ import annotations

from hashlib import blake2b


def derived_uuid(*parts: object) -> str:
    """Make a UUID (version 8) from these parts; the same parts give the same id."""
    digest = bytearray(blake2b("\0".join(map(str, parts)).encode(), digest_size=16).digest())
    digest[6] = digest[6] & 0x0F | 0x80
    digest[8] = digest[8] & 0x3F | 0x80
    text = digest.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
