"""A log file of bounded size. When it is full, it is renamed to `<name>.1`, which replaces the file of that name, and a
new one begins."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, TextIO

BYTES_MAX: Final = 16 * 1024 * 1024


class LogFile:
    """Is written to like a stream. On disk, only the owner of the file may read it."""

    def __init__(self, path: Path, bytes_max: int = BYTES_MAX) -> None:
        self._path = path
        self._bytes_max = bytes_max
        self._file = self._open()

    def write(self, text: str) -> None:
        if self._file.tell() >= self._bytes_max:
            self._file.close()
            self._path.replace(self._path.with_name(f"{self._path.name}.1"))
            self._file = self._open()
        self._file.write(text)

    def flush(self) -> None:
        self._file.flush()

    def _open(self) -> TextIO:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        file = os.fdopen(descriptor, "a", encoding="utf-8")
        file.seek(0, os.SEEK_END)
        return file
