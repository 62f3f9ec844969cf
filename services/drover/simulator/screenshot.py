"""Draws screenshots of simulated failures: a phone's screen with a video that stopped and a message over it, as a PNG.
Nothing is photographed."""

from __future__ import annotations

import struct
import zlib
from hashlib import sha256
from typing import Final, NamedTuple

WIDTH: Final = 180
HEIGHT: Final = 320
_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"

PALETTE: Final = (
    (24, 26, 32),  # the screen
    (58, 62, 74),  # the video
    (236, 238, 242),  # the message
    (148, 154, 168),  # lines of text
    (214, 69, 65),  # the mark of the failure
    (84, 148, 255),  # how far the video came
)
SCREEN, VIDEO, MESSAGE, TEXT, MARK, PLAYED = range(len(PALETTE))


class Box(NamedTuple):
    """A rectangle of one colour."""

    left: int
    top: int
    width: int
    height: int
    colour: int


def screenshot(name: str) -> bytes:
    """Draw the screen of a phone on which a run failed. `name`: the same one gives the same picture, another one
    another."""
    digest = sha256(name.encode()).digest()  # says how long the lines of text are, and how far the video came
    boxes = [
        Box(8, 6, 30, 4, TEXT),
        Box(140, 6, 32, 4, TEXT),
        Box(0, 20, WIDTH, 101, VIDEO),
        Box(0, 118, WIDTH, 3, TEXT),
        Box(0, 118, WIDTH * digest[20] // 255, 3, PLAYED),
        *(Box(12, 136 + 14 * row, 60 + digest[row] % 96, 5, VIDEO) for row in range(11)),
        Box(18, 96, 144, 92, MESSAGE),
        Box(84, 106, 12, 18, MARK),
        Box(84, 128, 12, 6, MARK),
        *(Box(30, 146 + 10 * row, 70 + digest[16 + row] % 50, 4, TEXT) for row in range(2)),
        Box(114, 172, 38, 8, PLAYED),
    ]
    return encode(draw(boxes))


def draw(boxes: list[Box]) -> list[bytearray]:
    """Draw boxes over each other; the rest is screen."""
    rows = [bytearray([SCREEN]) * WIDTH for _ in range(HEIGHT)]
    for box in boxes:
        for row in rows[box.top : box.top + box.height]:
            row[box.left : box.left + box.width] = bytes([box.colour]) * len(row[box.left : box.left + box.width])
    return rows


def encode(rows: list[bytearray]) -> bytes:
    """Encode rows of palette indexes as a PNG."""
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 3, 0, 0, 0)
    palette = bytes(value for colour in PALETTE for value in colour)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows))
    parts = ((b"IHDR", header), (b"PLTE", palette), (b"IDAT", pixels), (b"IEND", b""))
    return _SIGNATURE + b"".join(_chunk(kind, data) for kind, data in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
