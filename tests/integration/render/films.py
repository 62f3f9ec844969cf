"""Films for the tests: short, real, and as large as their noise makes them."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import av


@cache
def film(
    width: int = 320,
    height: int = 180,
    *,
    frames: int = 30,
    codec: str = "libx264",
    container: str = "mp4",
    index_first: bool = False,
) -> bytes:
    """With its index (`moov`) at the end, as encoders write it, or moved to the front, as for the web."""
    noise = Random(width)
    options = {"movflags": "faststart"} if index_first else {}
    with Written(container) as written, av.open(written.path, "w", format=container, options=options) as writing:
        stream = writing.add_stream(codec, rate=25)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        if codec == "libx264":
            stream.options = {"preset": "ultrafast", "g": "10"}
        for number in range(frames):
            picture = av.VideoFrame(width, height, "yuv420p")
            picture.pts, picture.time_base = number, Fraction(1, 25)
            for plane in picture.planes:
                plane.update(noise.randbytes(plane.buffer_size))
            for packet in stream.encode(picture):
                writing.mux(packet)
        for packet in stream.encode():
            writing.mux(packet)
    return written.content


@cache
def sound(container: str = "mp4") -> bytes:
    """Noise to hear and nothing to see."""
    noise = Random(1)
    with Written(container) as written, av.open(written.path, "w", format=container) as writing:
        stream = writing.add_stream("aac", rate=48_000, layout="stereo", options={"b": "256k"})
        for number in range(400):
            frame = av.AudioFrame(format="s16", layout="stereo", samples=1024)
            frame.sample_rate, frame.pts, frame.time_base = 48_000, number * 1024, Fraction(1, 48_000)
            frame.planes[0].update(noise.randbytes(frame.planes[0].buffer_size))
            for packet in stream.encode(frame):
                writing.mux(packet)
        for packet in stream.encode():
            writing.mux(packet)
    return written.content


class Written:
    """A file that has its content when the block has ended. Moving the index to the front needs a real one."""

    def __init__(self, container: str) -> None:
        self._folder = TemporaryDirectory()
        self.path = str(Path(self._folder.name, f"film.{container}"))
        self.content = b""

    def __enter__(self) -> Written:
        return self

    def __exit__(self, *_: object) -> None:
        self.content = Path(self.path).read_bytes()
        self._folder.cleanup()
