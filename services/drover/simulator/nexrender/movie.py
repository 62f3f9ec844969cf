"""Makes the rendered files: real MP4s of the requested size, and defective ones. Each kind is encoded once."""

from __future__ import annotations

import struct
from fractions import Fraction
from functools import lru_cache
from io import BytesIO
from random import Random
from typing import Final

import av

from drover.simulator.nexrender.script import File, Size

FRAMES: Final = 12
FRAMES_PER_S: Final = 25
WHOLE_BYTES_MIN: Final = 160 * 1024
"""Minimum size of a good file in bytes: document 003 (the render queue, §3.6) refuses files below 100 KiB."""
SMALL_BYTES: Final = 40 * 1024
KINDS_MAX: Final = 16
"""How many encoded files to keep in memory, some hundred KiB each."""


def film(file: File, size: Size, mark: str) -> bytes:
    """Make a file of this kind. `mark` makes its bytes unique."""
    whole = _video(*size)
    if file == "broken":
        # Like the output of a killed encoder: long enough, but without the index at the end.
        return Random(mark).randbytes(len(whole))
    if file == "small":
        return whole[:SMALL_BYTES]
    return whole + _free(mark.encode())


def prepare(size: Size) -> None:
    """Encode in advance, while no render waits for it, the video from which files of this size are made."""
    film("good", size, "")


def _free(content: bytes) -> bytes:
    """Make a box of the MP4 format that players skip. It may be at the end of the file."""
    return struct.pack(">I4s", 8 + len(content), b"free") + content


def _padded(film: bytes) -> bytes:
    missing = WHOLE_BYTES_MIN - len(film)
    return film if missing <= 0 else film + _free(bytes(missing))


@lru_cache(maxsize=KINDS_MAX)
def _video(width: int, height: int) -> bytes:
    """Encode a video of a grey wave that moves through changing colours."""
    file = BytesIO()
    with av.open(file, "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=FRAMES_PER_S, options={"preset": "ultrafast"})
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for number in range(FRAMES):
            for packet in stream.encode(_picture(width, height, number)):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)
    return _padded(file.getvalue())


def _picture(width: int, height: int, number: int) -> av.VideoFrame:
    picture = av.VideoFrame(width, height, "yuv420p")
    picture.pts, picture.time_base = number, Fraction(1, FRAMES_PER_S)
    grey, blue, red = picture.planes
    row = bytes((x * 255 // width + number * 8) % 256 for x in range(grey.line_size))
    grey.update(row * grey.height)
    blue.update(bytes([number * 20 % 256]) * blue.buffer_size)
    red.update(bytes([255 - number * 20 % 256]) * red.buffer_size)
    return picture
