"""Small pictures for tests: each is whole, and as small as its format allows."""

from __future__ import annotations

import struct
import zlib


def png(width: int = 1, height: int = 1, noise: bytes = b"") -> bytes:
    """A grey PNG. `noise`: bytes of a chunk that readers skip, so that two pictures differ."""
    rows = b"".join(b"\x00" + b"\x80" * width for _ in range(height))
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
        + (_chunk(b"teSt", noise) if noise else b"")
        + _chunk(b"IDAT", zlib.compress(rows))
        + _chunk(b"IEND", b"")
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + bytes(20) + b"\xff\xd9"
WEBP = b"RIFF" + struct.pack("<I", 18) + b"WEBPVP8L" + bytes(10)
