"""Titles and bodies as the state keeps them: one piece of bytes for both, small where there are a million of them."""

from __future__ import annotations

import zlib
from typing import Final

from drover.domain.reminder.policy import TEXT_CHARS_MAX

DEFLATED_FROM_BYTES: Final = 512
"""Shorter texts hardly get smaller."""
_LEVEL: Final = 1
_PLAIN: Final = b"="
_DEFLATED: Final = b"z"
_BETWEEN: Final = b"\0"
"""Edges refuse it in texts, and `cut` takes it out."""


def cut(text: str) -> str:
    """At most as long as a text may be."""
    return text[:TEXT_CHARS_MAX].replace("\0", "")


def pack(title: str, body: str) -> bytes:
    raw = _BETWEEN.join((title.encode(), body.encode()))
    if len(raw) < DEFLATED_FROM_BYTES:
        return _PLAIN + raw
    return _DEFLATED + zlib.compress(raw, _LEVEL)


def unpack(packed: bytes) -> tuple[str, str]:
    """Title and body."""
    raw = packed[1:]
    if packed[:1] == _DEFLATED:
        raw = zlib.decompress(raw)
    title, _, body = raw.partition(_BETWEEN)
    return title.decode(), body.decode()
