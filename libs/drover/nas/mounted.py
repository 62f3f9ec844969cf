"""The NAS as a path that the operating system has mounted."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Final, TypeVar

from drover.nas.blocking import STALL_S, Pulse
from drover.nas.chunks import ReadAt, read_digest, read_piece, write_all
from drover.nas.mount_guard import Guard
from drover.nas.naming import parts_inside
from drover.nas.rename import rename_without_replacing
from drover.nas.search import find_temporaries
from drover.nas.source import SourceFile
from drover.nas.store import (
    CopyMismatch,
    Digest,
    Fence,
    NasAway,
    NasFull,
    Piece,
)
from drover.nas.threaded import ThreadedStore

T = TypeVar("T")

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NO_FSYNC: Final = frozenset({errno.EINVAL, errno.ENOTSUP})  # some network file systems have no fsync for folders
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
_CREATE: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_FILE_MODE: Final = 0o666  # minus the umask
_FOLDER_MODE: Final = 0o777


class MountedStore(ThreadedStore):
    """A `NasStore` below a folder. All names are resolved from the root's descriptor, which the guard has checked."""

    def __init__(self, root: Path, guard: Guard, *, stall_s: float = STALL_S) -> None:
        super().__init__(stall_s=stall_s)
        self._root: Final = root
        self._guard: Final = guard

    @property
    def root(self) -> str:
        return str(self._root)

    def location(self, path: PurePosixPath) -> str:
        return str(self._root.joinpath(*parts_inside(path)))

    def _translated(self, error: Exception, operation: str, where: str) -> Exception:
        if not isinstance(error, OSError):  # the TimeoutError of `Blocking` is one, too
            return error
        if error.errno in _FULL:
            return NasFull(operation, where, error.errno)
        return NasAway(operation, where, error.strerror or str(error), error.errno)

    def _put(self, source: Path, temporary: PurePosixPath, expected: Digest, pulse: Pulse) -> None:
        with SourceFile(source) as file, self._folder_of(temporary, make=True) as folder:
            pulse.beat()
            with suppress(FileNotFoundError):
                os.unlink(temporary.name, dir_fd=folder)
            pulse.beat()
            copy = os.open(temporary.name, _CREATE, _FILE_MODE, dir_fd=folder)
            try:
                write_all(file, lambda rest, _: os.write(copy, rest), pulse)
                os.fsync(copy)
                # Drop this machine's cache, so that we read back what the NAS has.
                if hasattr(os, "posix_fadvise"):
                    os.posix_fadvise(copy, 0, 0, os.POSIX_FADV_DONTNEED)
                found = read_digest(_reading(copy), pulse)
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
                    return False  # an earlier try of ours may have succeeded although its answer was lost
                raise
            _fsync_folder(folder)
        return True

    def _digest(self, path: PurePosixPath, pulse: Pulse) -> Digest | None:
        return self._opened(path, lambda file: read_digest(_reading(file), pulse))

    def _read(self, path: PurePosixPath, start: int, bytes_max: int, pulse: Pulse) -> Piece | None:
        def read(file: int) -> Piece:
            data = read_piece(_reading(file), start, bytes_max, pulse)
            return Piece(os.fstat(file).st_size, data)

        return self._opened(path, read)

    def _opened(self, path: PurePosixPath, use: Callable[[int], T]) -> T | None:
        """Open a file, and return what `use` returns for it; None if the file does not exist."""
        try:
            with self._folder_of(path) as folder:
                file = os.open(path.name, _READ, dir_fd=folder)
                try:
                    return use(file)
                finally:
                    os.close(file)
        except FileNotFoundError:
            with self._root_folder():  # raises if the root is not there: only below it a missing file counts as missing
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
        with self._root_folder() as root:

            def names_in(date: PurePosixPath) -> Iterator[str]:
                with suppress(FileNotFoundError, NotADirectoryError), _opened_folder(str(date), root) as folder:
                    yield from _names(folder, pulse)

            return find_temporaries(_names(root, pulse), names_in)

    def _free_bytes(self, pulse: Pulse) -> int:
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
        """Open the folder of a file. `make`: create it if it is missing. The root is never created: without a mount
        that would be a local folder."""
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


def _reading(file: int) -> ReadAt:
    return lambda offset, bytes_max: os.pread(file, bytes_max, offset)


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
