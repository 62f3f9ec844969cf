"""Recognises pictures by their content. What a client says about the type is not trusted."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

PICTURE_BYTES_MAX: Final = 2 * 1024 * 1024
_PNG_BEGIN: Final = b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR"
_PNG_END: Final = b"IEND\xaeB`\x82"
_JPEG_BEGIN: Final = b"\xff\xd8\xff"
_JPEG_END: Final = b"\xff\xd9"
_TAIL_BYTES: Final = 1024
"""Some cameras write a few bytes after the end of a JPEG, so its end is looked for in this many last bytes."""


class PictureType(StrEnum):
    """The types of pictures that are kept. The value is the extension of their files."""

    PNG = "png"
    JPEG = "jpg"
    WEBP = "webp"

    @property
    def media(self) -> str:
        return MEDIA[self]


MEDIA: Final = {PictureType.PNG: "image/png", PictureType.JPEG: "image/jpeg", PictureType.WEBP: "image/webp"}


def recognise(data: bytes) -> PictureType | None:
    """Return the type of a picture. None: it is not a PNG, JPEG or WebP, or its end is missing."""
    if data.startswith(_PNG_BEGIN):
        return PictureType.PNG if data.endswith(_PNG_END) else None
    if data.startswith(_JPEG_BEGIN):
        return PictureType.JPEG if _JPEG_END in data[-_TAIL_BYTES:] else None
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        # The size is that of everything after it, padded to an even number.
        size = int.from_bytes(data[4:8], "little")
        return PictureType.WEBP if len(data) in (size + 8, size + 9) else None
    return None
