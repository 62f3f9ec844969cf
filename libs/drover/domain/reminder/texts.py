"""Packs the title and the body of an alarm into one bytes object, to save memory with a million alarms."""

from __future__ import annotations

import zlib
from typing import Final

from drover.domain.reminder.policy import TEXT_CHARS_MAX

DEFLATED_FROM_BYTES: Final = 512
"""Texts of at least this many bytes are compressed; shorter ones hardly shrink."""
_LEVEL: Final = 1
_PLAIN: Final = b"="
_DEFLATED: Final = b"z"
_BETWEEN: Final = b"\0"
"""The separator between title and body. HTTP services refuse it in texts, and `cut` removes it."""


def cut(text: str) -> str:
    """Cut the text to its maximum length, and remove NUL characters."""
    return text[:TEXT_CHARS_MAX].replace("\0", "")


def pack(title: str, body: str) -> bytes:
    raw = _BETWEEN.join((title.encode(), body.encode()))
    if len(raw) < DEFLATED_FROM_BYTES:
        return _PLAIN + raw
    return _DEFLATED + zlib.compress(raw, _LEVEL)


def unpack(packed: bytes) -> tuple[str, str]:
    """Return the title and the body."""
    raw = packed[1:]
    if packed[:1] == _DEFLATED:
        raw = zlib.decompress(raw)
    title, _, body = raw.partition(_BETWEEN)
    return title.decode(), body.decode()
