"""A segment: a file with consecutive commits of a context as compressed text. `writing` adds it to the archive."""

from __future__ import annotations

import io
from collections.abc import Generator, Iterator
from hashlib import sha256
from typing import IO, Any, Final

import zstandard

from drover.archive.chain import Chain
from drover.archive.errors import ChainBroken, FileDamaged, TextDamaged
from drover.archive.index import COPY_ADVICE, SEGMENT_TEXT_BYTES, Index, Segment, segment_name
from drover.archive.store import ArchiveStore, FileMissing
from drover.archive.text import LINE_BYTES_MAX, End, Head, Placed, Text, encode_commit, encode_end, encode_head

SEGMENT_FILE_BYTES_MAX: Final = 64 * 1024 * 1024
"""The maximum size of a segment's file in bytes, because it is read into memory. Larger files, which Drover never
writes, are refused."""
BLOCK_BYTES: Final = 256 * 1024
"""How many bytes of text are decompressed and decoded at a time."""
COMPRESSION: Final = zstandard.ZstdCompressionParameters.from_level(
    3,  # level 9 takes seven times as long and saves 4 %: 6.6 and 0.9 us an event, 41.8 and 43.6 bytes
    window_log=25,  # 32 MiB, a whole segment: the ids of a run come again minutes later
    min_match=7,  # shorter matches occur by chance in random ids, and take more room than the ids
    write_checksum=1,  # so that `zstd -t` detects damage without the index
)


class SegmentWriter:
    """Makes the file of one segment in memory, because it has only a few megabytes."""

    def __init__(self, index: Index, after: int, known: dict[str, int]) -> None:
        """`after`: the sequence of the last commit before the segment. `known`: by partition, the number of the last
        event before it."""
        self.chain: Final = Chain(after, known)
        self._index = index
        self._after = after
        self._last_commit = ""
        self._lasts: dict[str, int] = {}
        self._text_bytes = 0
        self._packed: list[bytes] = []
        self._compress = zstandard.ZstdCompressor(compression_params=COMPRESSION).compressobj()
        self._write(encode_head(Head(index.context, index.partitions, after)))

    @property
    def is_full(self) -> bool:
        return self._text_bytes >= SEGMENT_TEXT_BYTES

    def take(self, placed: Placed) -> int:
        """Add a commit; return its number of events. Raises ChainBroken."""
        events = self.chain.take(placed.partition, placed.commit)
        self._last_commit = placed.commit.id
        self._lasts[placed.partition] = placed.commit.seq
        self._write(encode_commit(self._index.context, placed))
        return events

    def finish(self) -> tuple[Segment, bytes]:
        """Return the segment and the content of its file."""
        chain = self.chain
        assert chain.commits, "a segment is not empty"
        self._write(encode_end(End(chain.commits, chain.events, chain.seq)))
        data = b"".join((*self._packed, self._compress.flush()))
        made = Segment(
            file=segment_name(self._index.context, self._after + 1, chain.seq, self._index.generation),
            first=self._after + 1,
            last=chain.seq,
            first_at=chain.first_at,
            last_at=chain.last_at,
            commits=chain.commits,
            events=chain.events,
            ordinals=dict(chain.ordinals),
            last_commit=self._last_commit,
            text_bytes=self._text_bytes,
            bytes=len(data),
            sha256=sha256(data).hexdigest(),
            lasts=self._lasts,
        )
        return made, data

    def _write(self, text: bytes) -> None:
        self._text_bytes += len(text)
        if packed := self._compress.compress(text):
            self._packed.append(packed)


async def load_segment(store: ArchiveStore, context: str, segment: Segment) -> bytes:
    """Read the file of a segment. Raises FileDamaged if it is not as the index says."""
    name = f"{context}/{segment.file}"
    try:
        data = (await store.read(name, SEGMENT_FILE_BYTES_MAX)).data
    except FileMissing:
        raise FileDamaged(store.place(name), "it is missing", COPY_ADVICE) from None
    if len(data) != segment.bytes:
        raise FileDamaged(store.place(name), f"it has {len(data):,} bytes instead of {segment.bytes:,}", COPY_ADVICE)
    if sha256(data).hexdigest() != segment.sha256:
        reason = "its checksum does not match the index: its bytes were changed"
        raise FileDamaged(store.place(name), reason, COPY_ADVICE)
    return data


def decoded(
    store: ArchiveStore, index: Index, segment: Segment, data: bytes, known: dict[str, int] | None
) -> Generator[Placed, None, None]:
    """Decode the segment's commits and verify them. Raises FileDamaged at the first difference.

    `known`: the number of the last event before the segment, by partition. None: a file with this checksum was verified
    before, so the commits are only decoded.
    """
    place = store.place(f"{index.context}/{segment.file}")
    chain = Chain(segment.first - 1, known)
    try:
        text = Text(text_lines(io.BytesIO(data)))
        if (text.head.context, text.head.after) != (index.context, segment.first - 1):
            raise TextDamaged(1, f"it belongs to {text.head.context}, after commit {text.head.after}")
        if known is None:
            yield from text.commits()
            return
        for placed in text.commits():
            chain.take(placed.partition, placed.commit)
            yield placed
    except (TextDamaged, ChainBroken, zstandard.ZstdError) as error:
        raise FileDamaged(place, str(error), COPY_ADVICE) from error
    if (chain.seq, chain.events, dict(chain.ordinals)) != (segment.last, segment.events, segment.ordinals):
        raise FileDamaged(place, "its content does not match the index", COPY_ADVICE)


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
