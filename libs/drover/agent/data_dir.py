"""The folder of an agent, for its keys and its progress. Only one agent at a time may use it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from drover.domain.errors import DroverError

LOCK_NAME: Final = "lock"
PROGRESS_NAME: Final = "progress"
PID_BYTES_MAX: Final = 32


class DataDirInUse(DroverError):
    """Another agent uses the folder."""

    def __init__(self, path: Path, pid: int | None) -> None:
        who = "another agent" if pid is None else f"another agent (process {pid})"
        super().__init__(
            f"{path} is in use by {who}: both would do the work of its phones. Stop that agent, or give this one a "
            "folder of its own: Agent(…, data_dir=…)."
        )
        self.path = path
        self.pid = pid


class DataDirUnusable(DroverError):
    """The folder cannot be made, written or locked."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{path} cannot be used ({reason}). Make it writable for the user who runs the agent, or choose another "
            "one: Agent(…, data_dir=…)."
        )
        self.path = path
        self.reason = reason


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Make the folder, and keep other agents out of it. The system ends the lock however the process ends."""
    path = path.absolute()
    try:
        (path / PROGRESS_NAME).mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(path / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise DataDirUnusable(path, error.strerror or str(error)) from error
    try:
        try:
            _lock(lock)
        except (BlockingIOError, PermissionError):
            raise DataDirInUse(path, _pid(lock)) from None
        except OSError as error:
            raise DataDirUnusable(path, f"it cannot be locked: {error.strerror or error}") from error
        _write(lock, f"{os.getpid()}\n".encode())
        try:
            yield
        finally:
            _write(lock, b"")  # the file stays: if it were removed, two agents could lock two files of this name
    finally:
        os.close(lock)


def _write(lock: int, text: bytes) -> None:
    """Say who has the lock. It serves people only, so a full disk does no harm."""
    with suppress(OSError):
        os.ftruncate(lock, 0)
        os.lseek(lock, 0, os.SEEK_SET)
        os.write(lock, text)


def _pid(lock: int) -> int | None:
    text = os.read(lock, PID_BYTES_MAX).strip()
    return int(text) if text.isdigit() else None


if sys.platform == "win32":
    import msvcrt

    AFTER_THE_PID: Final = 1024
    """Windows locks bytes, and nobody else can read them: these lie behind the process id."""

    def _lock(lock: int) -> None:
        os.lseek(lock, AFTER_THE_PID, os.SEEK_SET)
        try:
            msvcrt.locking(lock, msvcrt.LK_NBLCK, 1)
        finally:
            os.lseek(lock, 0, os.SEEK_SET)

else:
    import fcntl

    def _lock(lock: int) -> None:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
