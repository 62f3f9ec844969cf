"""The probe: inspects a rendered file and prints its findings to stdout. `validation` judges them.

A separate process: a damaged file may crash the decoder or send it into an endless loop.
"""

from __future__ import annotations

import os
import resource
import signal
import stat
import struct
import sys
from typing import TYPE_CHECKING, BinaryIO, Final

import msgspec

if TYPE_CHECKING:
    from av import VideoStream
    from av.container import InputContainer

MEMORY_BYTES_MAX: Final = 4 * 1024**3
"""Limit of the address space: a damaged header can request any amount of memory."""
_BOX_HEADER: Final = struct.Struct(">I4s")
_BOX_LENGTH: Final = struct.Struct(">Q")


class Video(msgspec.Struct, frozen=True):
    """The video stream that a player would choose."""

    codec: str
    width: int
    height: int
    duration_s: float
    frames: int


class Findings(msgspec.Struct, frozen=True):
    """What the probe found."""

    size_bytes: int | None = None
    """The size of the file. None: the file does not exist, is not a regular file, or (if `damage` is set) cannot be
    read."""
    damage: str | None = None
    """Why the file cannot be played completely. None: no damage was found."""
    video: Video | None = None
    """The video stream. None without `damage`: the file has no video stream, or was not opened because it is missing or
    too small."""


class Damaged(Exception):
    """The file is damaged. The text of the exception describes the damage."""


def look(path: str, bytes_min: int) -> Findings:
    """Inspect a file; one below the minimum size is not opened."""
    size_bytes = None
    try:
        facts = os.stat(path)
        if not stat.S_ISREG(facts.st_mode):
            return Findings()
        size_bytes = facts.st_size
        if size_bytes < bytes_min:
            return Findings(size_bytes)
        with open(path, "rb") as file:
            _walk_boxes(file, size_bytes)
        return Findings(size_bytes, video=_watch(path))
    except (FileNotFoundError, NotADirectoryError):
        return Findings()
    except Exception as error:  # decoders raise many kinds of errors; all mean a damaged file
        return Findings(size_bytes, damage=getattr(error, "strerror", None) or str(error) or type(error).__name__)


def _walk_boxes(file: BinaryIO, size_bytes: int) -> None:
    """Check that the file is an MP4 and not truncated. An MP4 is a sequence of boxes with lengths: the last one must
    end at the end of the file."""
    at = 0
    while at < size_bytes:
        file.seek(at)
        header = file.read(_BOX_HEADER.size + _BOX_LENGTH.size)
        if len(header) < _BOX_HEADER.size:
            raise Damaged("it ends inside a box")
        length, kind = _BOX_HEADER.unpack_from(header)
        if at == 0 and kind != b"ftyp":
            raise Damaged("it is not an MP4")
        if length == 0:  # this box extends to the end of the file
            return
        if length == 1 and len(header) == _BOX_HEADER.size + _BOX_LENGTH.size:
            (length,) = _BOX_LENGTH.unpack_from(header, _BOX_HEADER.size)
        if length < _BOX_HEADER.size:
            raise Damaged("a box has an invalid length")
        at += length
    if at > size_bytes:
        raise Damaged(f"{at - size_bytes} bytes are missing at its end")


def _watch(path: str) -> Video | None:
    """Return facts of the video stream; None if there is none. Decodes its first and last frames, and checks that no
    packet is missing."""
    import av  # imported late: it takes 0.2 s, which a missing file need not wait for

    # `file:` and an explicit format, because the decoder would follow the links of a disguised playlist.
    with av.open(f"file:{path}", format="mp4", options={"ignore_editlist": "1"}) as film:
        stream = film.streams.best("video")
        if not isinstance(stream, av.VideoStream):
            return None
        stream.codec_context.thread_count = 1
        _decode(film, stream, first_only=True)
        film.seek(0)
        frames = _count_packets(film, stream)
        film.seek(stream.duration or 0, stream=stream)
        _decode(film, stream)
        length = stream.duration * stream.time_base if stream.duration and stream.time_base else 0
        codec = stream.codec_context
        return Video(codec.codec.canonical_name, codec.width, codec.height, float(length), frames)


def _decode(film: InputContainer, stream: VideoStream, *, first_only: bool = False) -> None:
    seen = 0
    for picture in film.decode(stream):
        if picture.is_corrupt:
            raise Damaged("a frame is damaged")
        seen += 1
        if first_only:
            return
    if not seen:
        raise Damaged("frames are missing")


def _count_packets(film: InputContainer, stream: VideoStream) -> int:
    count = 0
    for packet in film.demux(stream):
        if packet.is_corrupt:
            raise Damaged("a packet is damaged")
        count += packet.size > 0
    if count < stream.frames:
        raise Damaged(f"{stream.frames - count} of {stream.frames} frames are missing")
    return count


def main(path: str, bytes_min: str, seconds_max: str) -> None:
    signal.alarm(int(seconds_max))  # ends this process even if its parent is gone
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    sys.stdout.buffer.write(msgspec.json.encode(look(path, int(bytes_min))))


if __name__ == "__main__":
    main(*sys.argv[1:])
