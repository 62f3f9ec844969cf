"""Keeps archives in a folder, whose files only their owner may read."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeVar

from drover.archive.errors import ArchiveBusy, ArchiveMissing, ArchiveUnwritable, FileDamaged
from drover.archive.store import FileMissing, Found
from drover.service.private_file import sync_directory, write_private

CHUNK_BYTES: Final = 1024 * 1024
REMOVE_TRIES: Final = 20
"""How often the removal of a folder is begun again because another process has changed it meanwhile."""
ACCESS_ADVICE: Final = "Run this as the user who made the archive."

T = TypeVar("T")


class FolderStore:
    """Implements ArchiveStore. A writer locks the folder of its context, so `replace` need not compare versions."""

    shared = False

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def place(self, name: str = "") -> str:
        return str(self._directory / name)

    async def read(self, name: str, bytes_max: int) -> Found:
        return await asyncio.to_thread(self._read, self._directory / name, bytes_max)

    def _read(self, path: Path, bytes_max: int) -> Found:
        try:
            if (size := path.stat().st_size) > bytes_max:
                raise FileDamaged(path, f"it has {size:,} bytes, which is too much", "Restore it from a copy.")
            data = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            raise FileMissing(str(path)) from None
        except OSError as error:
            raise FileDamaged(path, error.strerror or str(error), ACCESS_ADVICE) from error
        return Found(data, sha256(data).hexdigest())

    async def write(self, name: str, data: bytes) -> None:
        await self._writing(name, lambda path: _write(path, data))

    async def replace(self, name: str, data: bytes, version: str | None) -> str:
        await self.write(name, data)
        return sha256(data).hexdigest()

    async def read_chunks(self, name: str) -> AsyncGenerator[bytes, None]:
        path = self._directory / name
        try:
            with await asyncio.to_thread(path.open, "rb") as file:
                while chunk := await asyncio.to_thread(file.read, CHUNK_BYTES):
                    yield chunk
        except (FileNotFoundError, NotADirectoryError):
            raise FileMissing(str(path)) from None
        except OSError as error:
            raise FileDamaged(path, error.strerror or str(error), ACCESS_ADVICE) from error

    async def write_chunks(self, name: str, chunks: AsyncIterable[bytes]) -> None:
        temporary = await self._writing(name, _temporary)
        try:
            with temporary.open("wb") as file:
                async for chunk in chunks:
                    await self._writing(name, lambda _, data=chunk: file.write(data))  # type: ignore[misc]
                await self._writing(name, lambda path: _finish(file.fileno(), temporary, path, file.flush))
        finally:
            temporary.unlink(missing_ok=True)

    async def _writing(self, name: str, write: Callable[[Path], T]) -> T:
        path = self._directory / name
        try:
            return await asyncio.to_thread(write, path)
        except OSError as error:
            raise ArchiveUnwritable(path, error.strerror or str(error)) from error

    async def delete(self, name: str) -> None:
        await self._writing(name, lambda path: path.unlink(missing_ok=True))

    async def names(self, folder: str) -> list[str]:
        # In a thread, because listing takes long: the archive of a year has 175,000 files.
        return await asyncio.to_thread(_names, self._directory / folder)

    async def folders(self) -> list[str]:
        try:
            return sorted(folder.name for folder in self._directory.iterdir() if folder.is_dir())
        except (FileNotFoundError, NotADirectoryError) as error:
            raise ArchiveMissing(self._directory, error.strerror or str(error)) from None
        except OSError as error:  # it may be there: nobody can say what is in it
            raise FileDamaged(self._directory, error.strerror or str(error), ACCESS_ADVICE) from error

    async def remove(self, folder: str) -> None:
        await self._writing(folder, _remove)

    @asynccontextmanager
    async def locked(self, folder: str) -> AsyncIterator[None]:
        path = self._directory / folder
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.mkdir(mode=0o700, exist_ok=True)
            lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ArchiveUnwritable(path, error.strerror or str(error)) from error
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ArchiveBusy(path) from None
            except OSError as error:
                raise ArchiveUnwritable(path, f"it cannot be locked ({error.strerror})") from error
            yield
        finally:
            os.close(lock)


def _write(path: Path, data: bytes) -> None:
    _make_folder(path.parent)
    try:
        write_private(path, data)
    except FileNotFoundError:  # another process has just removed the folder
        _make_folder(path.parent)
        write_private(path, data)


def _make_folder(path: Path) -> None:
    """Make a folder that only its owner may enter, and those above it that are missing."""
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except FileNotFoundError:
        _make_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


def _remove(path: Path) -> None:
    """Delete a folder in which other processes may write and delete at the same time. Then `rmtree` gives up half-way,
    so it is called again until nothing is left."""
    for _ in range(REMOVE_TRIES):
        try:
            shutil.rmtree(path)
        except FileNotFoundError:
            if not path.exists():
                return
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:
                raise
        else:
            return
    raise OSError(errno.ENOTEMPTY, "other processes go on writing to it")


def _names(path: Path) -> list[str]:
    try:
        with os.scandir(path) as entries:
            return sorted(entry.name for entry in entries if entry.is_file())
    except (FileNotFoundError, NotADirectoryError):
        return []


def _temporary(path: Path) -> Path:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mkstemp gives mode 600
    os.close(descriptor)
    return Path(name)


def _finish(descriptor: int, temporary: Path, path: Path, flush: Callable[[], None]) -> None:
    flush()
    os.fsync(descriptor)
    temporary.replace(path)
    sync_directory(path.parent)
