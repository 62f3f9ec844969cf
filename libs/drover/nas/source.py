"""Reads the rendered file before and during a copy. Its errors are raised as SourceUnreadable, so that they differ from
those of the NAS."""

from __future__ import annotations

from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Self

from drover.nas.blocking import Blocking, Pulse
from drover.nas.store import CHUNK_BYTES, Digest, Digesting, SourceUnreadable


async def digest_of(source: Path, *, blocking: Blocking) -> Digest:
    """Compute the digest of a file to copy. Raises SourceUnreadable if it cannot be read, or if reading hangs, because
    its folder may be on a share. `blocking` must be shared by all such calls, because it counts those that hang."""

    def read(pulse: Pulse) -> Digest:
        digesting = Digesting()
        with SourceFile(source) as file:
            while chunk := file.read(CHUNK_BYTES):
                digesting.update(chunk)
                pulse.beat()
        return digesting.result()

    try:
        return await blocking.run(read)
    except TimeoutError as error:
        raise SourceUnreadable(source, str(error), None) from error


class SourceFile:
    """An open file whose errors are raised as SourceUnreadable. Its methods block."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: FileIO | None = None

    def __enter__(self) -> Self:
        try:
            self._file = FileIO(self._path)
        except OSError as error:
            raise self._unreadable(error) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def read(self, bytes_max: int) -> bytes:
        assert self._file is not None
        try:
            return self._file.read(bytes_max)
        except OSError as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: OSError) -> SourceUnreadable:
        return SourceUnreadable(self._path, error.strerror or str(error), error.errno)
