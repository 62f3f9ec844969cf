"""Keeps snapshots of states beside the segments: those that a purge relies on, and one of each day."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, Final

import zstandard

from drover.archive.archive import opened_for_writing
from drover.archive.errors import ArchiveUnwritable, FileDamaged
from drover.archive.index import ArchivedSnapshot, Index, save_index
from drover.archive.segment import COPY_ADVICE, TEMPORARY
from drover.embedded.private_file import sync_directory

FOLDER: Final = "snapshots"
GENERATIONS: Final = 2
"""How many of the newest snapshots of each partition and version stay, besides the last one of each day."""
READ_BYTES: Final = 512 * 1024
LEVEL: Final = 3


async def archive_snapshot(
    directory: Path, context: str, *, partition: str, version: str, seq: int, chunks: AsyncIterable[bytes]
) -> ArchivedSnapshot:
    """Write a snapshot into the archive of a context, read it back, and list it in the index. Raises ArchiveUnwritable,
    ArchiveBusy or FileDamaged; then the index is unchanged."""
    with opened_for_writing(directory, context, [partition]) as (folder, index):
        made = await _write(folder, partition, version, seq, chunks)
        await asyncio.to_thread(_check, folder, made)
        _list(index, made)
        await asyncio.to_thread(save_index, folder, index)
        _sweep(folder, index)
        return made


def newest_snapshot(snapshots: Sequence[ArchivedSnapshot], partition: str, version: str) -> ArchivedSnapshot | None:
    """Return the newest archived snapshot of a partition and version, or None."""
    ours = [one for one in snapshots if (one.partition, one.version) == (partition, version)]
    return max(ours, key=lambda one: one.seq, default=None)


async def _write(
    folder: Path, partition: str, version: str, seq: int, chunks: AsyncIterable[bytes]
) -> ArchivedSnapshot:
    name = f"{FOLDER}/{partition}-{version}-{seq:012d}.msgpack.zst"
    digest, size = sha256(), 0
    path: Path | None = None
    try:
        (folder / FOLDER).mkdir(mode=0o700, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=TEMPORARY, dir=folder)  # mode 600
        path = Path(temporary)
        with os.fdopen(descriptor, "wb") as file:
            compress = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True).compressobj()
            async for chunk in chunks:
                digest.update(chunk)
                size += len(chunk)
                file.write(await asyncio.to_thread(compress.compress, chunk))
            file.write(compress.flush())
            await asyncio.to_thread(_sync, file)
        path.replace(folder / name)
        sync_directory(folder / FOLDER)
    except OSError as error:
        raise ArchiveUnwritable(folder, error.strerror or str(error)) from error
    finally:
        if path is not None:
            with suppress(OSError):
                path.unlink(missing_ok=True)
    return ArchivedSnapshot(
        file=name,
        partition=partition,
        version=version,
        seq=seq,
        saved_at=datetime.now(UTC),
        bytes=size,
        sha256=digest.hexdigest(),
    )


def _sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _check(folder: Path, made: ArchivedSnapshot) -> None:
    for _ in read_snapshot(folder, made):
        pass


def read_snapshot(folder: Path, snapshot: ArchivedSnapshot) -> Iterator[bytes]:
    """Yield a snapshot in chunks. Raises FileDamaged, at the latest after the last chunk."""
    path = folder / snapshot.file
    digest = sha256()
    try:
        with path.open("rb") as file:
            source: Any = zstandard.ZstdDecompressor().stream_reader(file)
            while chunk := source.read(READ_BYTES):
                digest.update(chunk)
                yield chunk
    except (OSError, zstandard.ZstdError) as error:
        raise FileDamaged(path, str(error), COPY_ADVICE) from error
    if digest.hexdigest() != snapshot.sha256:
        raise FileDamaged(path, "its checksum does not match the index", COPY_ADVICE)


def _sweep(folder: Path, index: Index) -> None:
    """Delete the files that the index does not list: they were taken out, or their writer was killed."""
    listed = {snapshot.file for snapshot in index.snapshots}
    for file in (folder / FOLDER).iterdir():
        if f"{FOLDER}/{file.name}" not in listed:
            file.unlink(missing_ok=True)


def _list(index: Index, made: ArchivedSnapshot) -> None:
    """Add a snapshot to the index, and take those out that are no longer needed."""
    others = [one for one in index.snapshots if one.file != made.file]
    every = sorted([*others, made], key=lambda one: one.seq)
    of_days = {(one.partition, one.version, one.saved_at.date()): one.file for one in every}
    kept = set(of_days.values())
    for one in every:
        same = [other for other in every if (other.partition, other.version) == (one.partition, one.version)]
        kept |= {newest.file for newest in same[-GENERATIONS:]}
    index.snapshots = [one for one in every if one.file in kept]
