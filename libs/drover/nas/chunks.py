"""Reads and writes files of the NAS chunk by chunk, with a heartbeat for each chunk. `mounted` and `smb` pass the
functions that read and write."""

from __future__ import annotations

from collections.abc import Callable

from drover.nas.blocking import Pulse
from drover.nas.source import SourceFile
from drover.nas.store import CHUNK_BYTES, Digest, Digesting

ReadAt = Callable[[int, int], bytes]
"""Called with (offset, maximum number of bytes); returns the bytes there. Empty at the end of the file."""
WriteAt = Callable[[memoryview, int], int]
"""Called with (bytes, offset); writes some or all of the bytes there, and returns how many."""


def write_all(file: SourceFile, write_at: WriteAt, pulse: Pulse) -> None:
    offset = 0
    while chunk := file.read(CHUNK_BYTES):
        rest = memoryview(chunk)
        while rest:
            pulse.beat()
            written = write_at(rest, offset)
            offset += written
            rest = rest[written:]


def read_digest(read_at: ReadAt, pulse: Pulse) -> Digest:
    digesting = Digesting()
    while True:
        pulse.beat()
        chunk = read_at(digesting.size_bytes, CHUNK_BYTES)
        if not chunk:
            return digesting.result()
        digesting.update(chunk)


def read_piece(read_at: ReadAt, start: int, bytes_max: int, pulse: Pulse) -> bytes:
    data = bytearray()
    while len(data) < bytes_max and (more := read_at(start + len(data), bytes_max - len(data))):
        pulse.beat()
        data += more
    return bytes(data)
