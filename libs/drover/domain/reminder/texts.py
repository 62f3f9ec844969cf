"""Packs the title and the body of an alarm into one bytes object, to save memory with a million alarms.

Both are sealed, or empty. Those of earlier releases are plain.
"""

from __future__ import annotations

import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final

from drover.domain.erasure import KeyRef, SealedText, parse_sealed
from drover.domain.reminder.policy import SEALED_TEXT_CHARS_MAX, TEXT_CHARS_MAX

DEFLATED_FROM_BYTES: Final = 512
"""Texts of at least this many bytes are compressed; shorter ones hardly shrink."""
_LEVEL: Final = 1
_PLAIN: Final = b"="
_DEFLATED: Final = b"z"
_SEALED: Final = b"s"
_BETWEEN: Final = b"\0"
"""The separator between title and body. HTTP services refuse it in texts, and `cut` removes it."""
_LENGTH_BYTES: Final = 2


def cut(text: str) -> str:
    """Cut the text to its maximum length, and remove NUL characters. A sealed text is left as it is: it was cut before
    it was sealed."""
    if len(text) <= SEALED_TEXT_CHARS_MAX and parse_sealed(text) is not None:
        return text
    return text[:TEXT_CHARS_MAX].replace("\0", "")


def pack(title: str, body: str) -> bytes:
    if (sealed := _pack_sealed(title, body)) is not None:
        return sealed
    raw = _BETWEEN.join((title.encode(), body.encode()))
    if len(raw) < DEFLATED_FROM_BYTES:
        return _PLAIN + raw
    return _DEFLATED + zlib.compress(raw, _LEVEL)


def unpack(packed: bytes) -> tuple[str, str]:
    """Return the title and the body."""
    raw = packed[1:]
    if packed[:1] == _SEALED:
        return _unpack_sealed(raw)
    if packed[:1] == _DEFLATED:
        raw = zlib.decompress(raw)
    title, _, body = raw.partition(_BETWEEN)
    return title.decode(), body.decode()


def _pack_sealed(title: str, body: str) -> bytes | None:
    """Pack two texts that are sealed with the same key: the name of the key once, and the ciphertexts as bytes instead
    of base64. None: this form does not fit these texts, so another one must be used."""
    parts = [parse_sealed(text) for text in (title, body) if text]
    if not parts or None in parts or len({part.ref for part in parts if part}) > 1:
        return None
    contents = [_bytes_of(parse_sealed(text)) for text in (title, body)]
    ref = next(part.ref for part in parts if part)
    name = f"{ref.partition}.{ref.token}.{ref.generation}".encode()
    packed = name + _BETWEEN + len(contents[0]).to_bytes(_LENGTH_BYTES) + contents[0] + contents[1]
    # Several base64 texts can stand for the same bytes. Use this form only if it gives back exactly the texts of the
    # event.
    return _SEALED + packed if _unpack_sealed(packed) == (title, body) else None


def _unpack_sealed(raw: bytes) -> tuple[str, str]:
    name, _, rest = raw.partition(_BETWEEN)
    partition, token, generation = name.decode().split(".")
    ref = KeyRef(partition, token, int(generation))
    length, contents = int.from_bytes(rest[:_LENGTH_BYTES]), rest[_LENGTH_BYTES:]
    return _text_of(ref, contents[:length]), _text_of(ref, contents[length:])


def _bytes_of(part: SealedText | None) -> bytes:
    return b"" if part is None else urlsafe_b64decode(part.payload + "=" * (-len(part.payload) % 4))


def _text_of(ref: KeyRef, content: bytes) -> str:
    return str(SealedText(ref, urlsafe_b64encode(content).decode().rstrip("="))) if content else ""
