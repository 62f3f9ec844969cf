"""The rendered files: real MP4s of the requested size, and defective ones. Each kind is encoded once."""

from __future__ import annotations

import struct
from array import array
from fractions import Fraction
from functools import lru_cache
from io import BytesIO
from random import Random
from typing import Final

import av

from drover.simulator.nexrender.script import File, Size

FRAMES: Final = 12
FRAMES_PER_S: Final = 25
SAMPLES_PER_S: Final = 48_000
SOUND_S: Final = 2
WHOLE_BYTES_MIN: Final = 160 * 1024
"""Minimum size of a good file: 003 §3.6 refuses files below 100 KiB."""
SMALL_BYTES: Final = 40 * 1024
KINDS_MAX: Final = 16
"""Encoded files to keep, some hundred KiB each."""


def film(file: File, size: Size, mark: str) -> bytes | None:
    """A file of this kind, made unique by its mark; None if there is to be no file."""
    if file == "none":
        return None
    width, height = size
    if file == "wrong_size":
        width, height = _even(width * 2 // 3), _even(height * 2 // 3)
    whole = _sound() if file == "no_video" else _video(width, height)
    if file == "broken":
        # Like the output of a killed encoder: long enough, but without the index at the end.
        return Random(mark).randbytes(len(whole))
    if file == "small":
        return whole[:SMALL_BYTES]
    return whole + _free(mark.encode())


def prepare(size: Size) -> None:
    """Encode in advance, while nobody waits."""
    film("good", size, "")


def _even(number: int) -> int:
    return max(2, number // 2 * 2)


def _free(content: bytes) -> bytes:
    """A box that players skip. It may be at the end of the file."""
    return struct.pack(">I4s", 8 + len(content), b"free") + content


def _padded(film: bytes) -> bytes:
    missing = WHOLE_BYTES_MIN - len(film)
    return film if missing <= 0 else film + _free(bytes(missing))


@lru_cache(maxsize=KINDS_MAX)
def _video(width: int, height: int) -> bytes:
    """A video of a grey wave that moves through changing colours."""
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


@lru_cache(maxsize=1)
def _sound() -> bytes:
    """A file with a hum and no video."""
    file = BytesIO()
    with av.open(file, "w", format="mp4") as container:
        stream = container.add_stream("aac", rate=SAMPLES_PER_S, layout="mono")
        samples = stream.codec_context.frame_size or 1024
        for number in range(SOUND_S * SAMPLES_PER_S // samples):
            sound = av.AudioFrame(format="fltp", layout="mono", samples=samples)
            sound.sample_rate, sound.pts, sound.time_base = SAMPLES_PER_S, number * samples, Fraction(1, SAMPLES_PER_S)
            wave = array("f", (at % 480 / 960 - 0.25 for at in range(samples))).tobytes()
            sound.planes[0].update(wave.ljust(sound.planes[0].buffer_size, b"\0"))
            for packet in stream.encode(sound):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)
    return _padded(file.getvalue())
