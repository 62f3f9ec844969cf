"""A segment: a file with consecutive commits of a context as compressed text. It gets its final name once all of it is
on disk."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, Final

import zstandard

from drover.archive.chain import Chain
from drover.archive.errors import ArchiveUnwritable, ChainBroken, FileDamaged, TextDamaged
from drover.archive.index import SEGMENT_TEXT_BYTES, Index, Segment, segment_name
from drover.archive.text import LINE_BYTES_MAX, End, Head, Placed, Text, encode_commit, encode_end, encode_head
from drover.embedded.private_file import sync_directory

SEGMENT_FILE_BYTES_MAX: Final = 64 * 1024 * 1024
"""The maximum size of a segment's file in bytes, because it is read into memory. Larger files, which Drover never
writes, are refused."""
BLOCK_BYTES: Final = 256 * 1024
"""How much text is decompressed and decoded at a time."""
LEVEL: Final = 6
TEMPORARY: Final = ".segment."
COPY_ADVICE: Final = "Restore it from a copy of the archive."


class SegmentWriter:
    """Writes the commits of one segment. `finish` gives the file its final name; before that, the segment does not
    exist for readers."""

    def __init__(self, folder: Path, index: Index, after: int, known: dict[str, int]) -> None:
        self.chain: Final = Chain(after, known)
        self._folder = folder
        self._index = index
        self._after = after
        self._last_commit = ""
        self._lasts: dict[str, int] = {}
        self._text_bytes = 0
        self._digest = sha256()
        try:
            descriptor, name = tempfile.mkstemp(prefix=TEMPORARY, dir=folder)  # mode 600
        except OSError as error:
            raise ArchiveUnwritable(folder, error.strerror or str(error)) from error
        self._path = Path(name)
        self._file = os.fdopen(descriptor, "wb")
        # With a checksum in the frame, so that `zstd -t` detects damage without the index.
        self._compress = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True).compressobj()
        self._write(encode_head(Head(index.context, index.partitions, after)))

    @property
    def is_full(self) -> bool:
        return self._text_bytes >= SEGMENT_TEXT_BYTES

    def take(self, placed: Placed) -> int:
        """Add a commit; return its number of events. Raises ChainBroken or ArchiveUnwritable."""
        events = self.chain.take(placed.partition, placed.commit)
        self._last_commit = placed.commit.id
        self._lasts[placed.partition] = placed.commit.seq
        self._write(encode_commit(self._index.context, placed))
        return events

    def finish(self) -> Segment:
        chain = self.chain
        assert chain.commits, "a segment is not empty"
        self._write(encode_end(End(chain.commits, chain.events, chain.seq)))
        name = segment_name(self._index.context, self._after + 1, chain.seq)
        try:
            self._put(self._compress.flush())
            self._file.flush()
            os.fsync(self._file.fileno())
            size = self._file.tell()
            self._file.close()
            self._path.replace(self._folder / name)
            sync_directory(self._folder)
        except OSError as error:
            raise self._unwritable(error) from error
        return Segment(
            file=name,
            first=self._after + 1,
            last=chain.seq,
            first_at=chain.first_at,
            last_at=chain.last_at,
            commits=chain.commits,
            events=chain.events,
            ordinals=dict(chain.ordinals),
            last_commit=self._last_commit,
            text_bytes=self._text_bytes,
            bytes=size,
            sha256=self._digest.hexdigest(),
            lasts=self._lasts,
        )

    def discard(self) -> None:
        """Delete the unfinished file. Harmless after `finish`."""
        with suppress(OSError):  # flushing the rest may fail; we do not need it
            self._file.close()
        self._path.unlink(missing_ok=True)

    def _write(self, text: bytes) -> None:
        self._text_bytes += len(text)
        try:
            self._put(self._compress.compress(text))
        except OSError as error:
            raise self._unwritable(error) from error

    def _put(self, data: bytes) -> None:
        self._digest.update(data)
        self._file.write(data)

    def _unwritable(self, error: OSError) -> ArchiveUnwritable:
        return ArchiveUnwritable(self._folder, error.strerror or str(error))


def read_segment(folder: Path, index: Index, segment: Segment, known: dict[str, int] | None = None) -> Iterator[Placed]:
    """Read the segment's commits and verify them. Raises FileDamaged at the first difference.

    `known`: by partition, the number of the last event before the segment.
    """
    path = folder / segment.file
    data = _load(path, segment)
    chain = Chain(segment.first - 1, known)
    try:
        text = Text(text_lines(io.BytesIO(data)))
        if (text.head.context, text.head.after) != (index.context, segment.first - 1):
            raise TextDamaged(1, f"it belongs to {text.head.context}, after commit {text.head.after}")
        for placed in text.commits():
            chain.take(placed.partition, placed.commit)
            yield placed
    except (TextDamaged, ChainBroken, zstandard.ZstdError) as error:
        raise FileDamaged(path, str(error), COPY_ADVICE) from error
    if (chain.seq, chain.events, dict(chain.ordinals)) != (segment.last, segment.events, segment.ordinals):
        raise FileDamaged(path, "its content does not match the index", COPY_ADVICE)


def _load(path: Path, segment: Segment) -> bytes:
    try:
        size = path.stat().st_size
        if size != segment.bytes or size > SEGMENT_FILE_BYTES_MAX:
            raise FileDamaged(path, f"it has {size:,} bytes instead of {segment.bytes:,}", COPY_ADVICE)
        data = path.read_bytes()
    except FileNotFoundError:
        raise FileDamaged(path, "it is missing", COPY_ADVICE) from None
    except OSError as error:
        raise FileDamaged(path, error.strerror or str(error), COPY_ADVICE) from error
    if sha256(data).hexdigest() != segment.sha256:
        raise FileDamaged(path, "its checksum does not match the index: its bytes were changed", COPY_ADVICE)
    return data


def text_lines(file: IO[bytes]) -> Iterator[bytes]:
    """Yield a plain or compressed text file in blocks of whole lines."""
    start = file.read(len(zstandard.FRAME_HEADER))
    file.seek(0)
    source: Any = file
    if start == zstandard.FRAME_HEADER:
        source = io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True))
    rest = b""
    while data := source.read(BLOCK_BYTES):
        whole, newline, rest = (rest + data).rpartition(b"\n")
        if newline:
            yield whole + newline
        elif len(rest) > LINE_BYTES_MAX:
            break
    if rest:
        yield rest
