"""The data directory and its lock: only one process at a time may use it. Other modules own its content."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from drover.embedded.errors import DataDirectoryBusy, DataDirectoryUnusable

PID_BYTES_MAX: Final = 32


class DataDirectory:
    """Creates the directory (mode 700) and locks it for the length of the `with` block.

    The lock is an flock, so the kernel releases it however the process ends. The pid in the lock file only serves
    people.
    """

    def __init__(self, path: Path | str) -> None:
        self.path: Final = Path(path).absolute()
        self._lock: int | None = None

    def __enter__(self) -> Self:
        assert self._lock is None, "a DataDirectory is entered once"
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise DataDirectoryUnusable(
                self.path,
                error.strerror or str(error),
                "Give its ownership to the user who runs Drover, or choose another one with --data-dir.",
            ) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _read_pid(lock)
            os.close(lock)
            raise DataDirectoryBusy(self.path, holder) from None
        except OSError as error:
            os.close(lock)
            raise DataDirectoryUnusable(
                self.path, f"it cannot be locked ({error.strerror})", "Choose one on a local disk with --data-dir."
            ) from error
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        self._lock = lock
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._lock is not None
        # Keep the file: if we removed it, two processes could lock two files of the same name.
        os.ftruncate(self._lock, 0)
        os.close(self._lock)
        self._lock = None


def folder_of(data_dir: Path, server: str) -> Path:
    """Create the private folder of one server. Symlinks in its path are resolved, because we recognise processes by
    this path."""
    folder = data_dir.resolve() / server
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _read_pid(lock: int) -> int | None:
    text = os.pread(lock, PID_BYTES_MAX, 0).strip()
    return int(text) if text.isdigit() else None
