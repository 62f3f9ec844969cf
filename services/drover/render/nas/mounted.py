"""The NAS as a path that the operating system has mounted."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from heapq import nlargest
from pathlib import Path, PurePosixPath
from typing import Final, TypeVar

from drover.render.nas.blocking import STALL_S, Blocking, Pulse
from drover.render.nas.guarding import Guard
from drover.render.nas.metrics import copy_timed
from drover.render.nas.naming import is_date_folder, parse_temporary, parts_inside
from drover.render.nas.rename import rename_without_replacing
from drover.render.nas.source import SourceFile
from drover.render.nas.store import (
    CHUNK_BYTES,
    FOLDERS_MAX,
    TEMPORARIES_MAX,
    CopyMismatch,
    Digest,
    Digesting,
    Fence,
    NasAway,
    NasFull,
    unfenced,
)

T = TypeVar("T")

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NO_FSYNC: Final = frozenset({errno.EINVAL, errno.ENOTSUP})  # some network file systems have none for folders
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
_CREATE: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_FILE_MODE: Final = 0o666  # less what the process's umask takes away
_FOLDER_MODE: Final = 0o777


class MountedStore:
    """A `NasStore` below a folder. All names are looked up from the root's descriptor, which the guard has checked."""

    def __init__(self, root: Path, guard: Guard, *, stall_s: float = STALL_S) -> None:
        self._root: Final = root
        self._guard: Final = guard
        self._blocking: Final = Blocking("nas", stall_s=stall_s)
        self._quick: Final = Blocking("nas", stall_s=stall_s)
        """For what must not wait for the copies of others: a fence closes in seconds."""

    async def put(self, source: Path, temporary: PurePosixPath, *, expected: Digest) -> None:
        with copy_timed():
            await self._run("put", temporary, lambda pulse: self._put(source, temporary, expected, pulse))

    async def publish(self, temporary: PurePosixPath, final: PurePosixPath, *, fence: Fence = unfenced) -> bool:
        if temporary.parent != final.parent:
            raise ValueError(f"{temporary} and {final} are not in the same folder")
        return await self._run(
            "publish", final, lambda pulse: self._publish(temporary, final, pulse, fence), self._quick
        )

    async def digest(self, path: PurePosixPath) -> Digest | None:
        return await self._run("digest", path, lambda pulse: self._digest(path, pulse))

    async def remove(self, path: PurePosixPath, *, fence: Fence = unfenced) -> None:
        await self._run("remove", path, lambda pulse: self._remove(path, pulse, fence), self._quick)

    async def temporaries(self) -> list[PurePosixPath]:
        return await self._run("list", PurePosixPath("."), self._temporaries)

    async def free_bytes(self) -> int:
        return await self._run("free space", PurePosixPath("."), lambda _: self._free_bytes())

    def location(self, path: PurePosixPath) -> str:
        return str(self._root.joinpath(*parts_inside(path)))

    async def _run(
        self, operation: str, path: PurePosixPath, call: Callable[[Pulse], T], lane: Blocking | None = None
    ) -> T:
        try:
            return await (lane or self._blocking).run(call)
        except OSError as error:  # a TimeoutError of `Blocking` is one, too
            if error.errno in _FULL:
                raise NasFull(operation, str(path), error.errno) from error
            raise NasAway(operation, str(path), error.strerror or str(error), error.errno) from error

    def _put(self, source: Path, temporary: PurePosixPath, expected: Digest, pulse: Pulse) -> None:
        with SourceFile(source) as file, self._folder_of(temporary, make=True) as folder:
            pulse.beat()
            with suppress(FileNotFoundError):
                os.unlink(temporary.name, dir_fd=folder)
            pulse.beat()
            copy = os.open(temporary.name, _CREATE, _FILE_MODE, dir_fd=folder)
            try:
                _write(copy, file, pulse)
                os.fsync(copy)
                # Read back what the NAS has, not what this machine remembers of it.
                if hasattr(os, "posix_fadvise"):
                    os.posix_fadvise(copy, 0, 0, os.POSIX_FADV_DONTNEED)
                found = _read_digest(copy, pulse)
                if found != expected:
                    raise CopyMismatch(str(temporary), expected, found)
            except BaseException:
                if not pulse.lost:
                    with suppress(OSError):
                        os.unlink(temporary.name, dir_fd=folder)
                raise
            finally:
                os.close(copy)

    def _publish(self, temporary: PurePosixPath, final: PurePosixPath, pulse: Pulse, fence: Fence) -> bool:
        with self._folder_of(temporary) as folder:
            pulse.beat()
            fence()
            try:
                rename_without_replacing(temporary.name, final.name, folder=folder)
            except FileExistsError:
                return False
            except FileNotFoundError:
                if _exists(final.name, folder):
                    return False  # an earlier try, whose answer was lost, may have been ours
                raise
            _fsync_folder(folder)
        return True

    def _digest(self, path: PurePosixPath, pulse: Pulse) -> Digest | None:
        try:
            with self._folder_of(path) as folder:
                file = os.open(path.name, _READ, dir_fd=folder)
                try:
                    return _read_digest(file, pulse)
                finally:
                    os.close(file)
        except FileNotFoundError:
            with self._root_folder():  # with the root gone, that a file is absent says nothing
                return None

    def _remove(self, path: PurePosixPath, pulse: Pulse, fence: Fence) -> None:
        try:
            with self._folder_of(path) as folder:
                pulse.beat()
                fence()
                os.unlink(path.name, dir_fd=folder)
        except FileNotFoundError:
            with self._root_folder():
                return

    def _temporaries(self, pulse: Pulse) -> list[PurePosixPath]:
        found: list[PurePosixPath] = []
        with self._root_folder() as root:
            dates = nlargest(FOLDERS_MAX, (name for name in _names(root, pulse) if is_date_folder(name)))
            for date in map(PurePosixPath, dates):
                with suppress(FileNotFoundError, NotADirectoryError), _opened_folder(str(date), root) as folder:
                    found += (date / name for name in _names(folder, pulse) if parse_temporary(name))
                if len(found) >= TEMPORARIES_MAX:
                    break
        return found[:TEMPORARIES_MAX]

    def _free_bytes(self) -> int:
        with self._root_folder() as root:
            facts = os.fstatvfs(root)
            return facts.f_bavail * facts.f_frsize

    @contextmanager
    def _root_folder(self) -> Iterator[int]:
        with _opened_folder(str(self._root)) as root:
            self._guard(root)
            yield root

    @contextmanager
    def _folder_of(self, path: PurePosixPath, *, make: bool = False) -> Iterator[int]:
        """The folder that a file is in. The root itself is never made: without a mount it would be of this machine."""
        with self._root_folder() as root:
            inner = PurePosixPath(*parts_inside(path)[:-1])
            if make:
                _make_folders(inner, root)
            with _opened_folder(str(inner), root) as folder:
                yield folder


@contextmanager
def _opened_folder(name: str, inside: int | None = None) -> Iterator[int]:
    folder = os.open(name, _FOLDER, dir_fd=inside)
    try:
        yield folder
    finally:
        os.close(folder)


def _make_folders(inner: PurePosixPath, root: int) -> None:
    for folder in [*reversed(inner.parents), inner][1:]:
        with suppress(FileExistsError):
            os.mkdir(folder, _FOLDER_MODE, dir_fd=root)
            with _opened_folder(str(folder.parent), root) as parent:
                _fsync_folder(parent)


def _write(copy: int, file: SourceFile, pulse: Pulse) -> None:
    while chunk := file.read(CHUNK_BYTES):
        rest = memoryview(chunk)
        while rest:
            pulse.beat()
            rest = rest[os.write(copy, rest) :]


def _read_digest(file: int, pulse: Pulse) -> Digest:
    digesting = Digesting()
    while True:
        pulse.beat()
        chunk = os.pread(file, CHUNK_BYTES, digesting.size_bytes)
        if not chunk:
            return digesting.result()
        digesting.update(chunk)


def _names(folder: int, pulse: Pulse) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            pulse.beat()
            yield entry.name


def _fsync_folder(folder: int) -> None:
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno not in _NO_FSYNC:
            raise


def _exists(name: str, folder: int) -> bool:
    try:
        return stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False
