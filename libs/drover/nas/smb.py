"""The NAS over SMB, without a mount. `smb_share` and `smb_file` send the requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Final, TypeVar

from smbprotocol.exceptions import (
    DeletePending,
    FileIsADirectory,
    ObjectNameCollision,
    ObjectNameNotFound,
    ObjectPathNotFound,
    SMBResponseException,
    StatusNotADirectory,
)
from smbprotocol.open import CreateDisposition, DirectoryAccessMask, FilePipePrinterAccessMask

from drover.domain.errors import DroverError
from drover.nas.blocking import STALL_S, Pulse
from drover.nas.chunks import read_digest, read_piece, write_all
from drover.nas.naming import parts_inside
from drover.nas.search import find_temporaries
from drover.nas.smb_file import SmbFile
from drover.nas.smb_share import Account, Share, ShareAddress, connected
from drover.nas.source import SourceFile
from drover.nas.store import (
    CHUNK_BYTES,
    CopyMismatch,
    Digest,
    Fence,
    NasAway,
    NasFull,
    Piece,
    unfenced,
)
from drover.nas.threaded import ThreadedStore

T = TypeVar("T")

ANSWER_MARGIN_S: Final = 5.0
"""If cutting its connection does not free an abandoned thread, it ends by itself this many seconds after its caller's
time-out."""
_FULL: Final = frozenset({0xC000007F, 0xC0000044, 0xC0000904})  # disk full, quota exceeded, file too large
_ABSENT: Final = (ObjectNameNotFound, ObjectPathNotFound, DeletePending)
"""The errors that mean that a file does not exist. `DeletePending` is one of them: the file disappears when its last
handle is closed, and until then nobody can open it."""
_NO_LINKS: Final = frozenset({0xC0000002, 0xC0000003, 0xC000000D, 0xC0000010, 0xC0000022, 0xC00000BB})
"""The errors with which servers refuse hard links: not implemented, invalid (class, parameter, request), denied, not
supported."""

_READ: Final = FilePipePrinterAccessMask.FILE_READ_DATA | FilePipePrinterAccessMask.FILE_READ_ATTRIBUTES
_WRITE: Final = (
    _READ
    | FilePipePrinterAccessMask.FILE_WRITE_DATA
    | FilePipePrinterAccessMask.FILE_WRITE_ATTRIBUTES
    | FilePipePrinterAccessMask.DELETE
)
_REMOVE: Final = FilePipePrinterAccessMask.DELETE | FilePipePrinterAccessMask.FILE_READ_ATTRIBUTES
_PUBLISH: Final = _REMOVE | FilePipePrinterAccessMask.FILE_WRITE_ATTRIBUTES
_LIST: Final = DirectoryAccessMask.FILE_LIST_DIRECTORY | DirectoryAccessMask.FILE_READ_ATTRIBUTES
_ADD: Final = _LIST | DirectoryAccessMask.FILE_ADD_FILE
_ROOT: Final = PurePosixPath()


class SmbStore(ThreadedStore):
    """A `NasStore` on an SMB share. Each operation opens its own connection, which takes 30 ms, while a copy takes
    seconds."""

    def __init__(
        self, address: ShareAddress, account: Account, *, encrypt: bool = True, stall_s: float = STALL_S
    ) -> None:
        super().__init__(stall_s=stall_s)
        self._address: Final = address
        self._account: Final = account
        self._encrypt: Final = encrypt
        self._answer_s: Final = stall_s + ANSWER_MARGIN_S

    @property
    def root(self) -> str:
        return self._address.unc(_ROOT)

    def location(self, path: PurePosixPath) -> str:
        return self._address.unc(PurePosixPath(*parts_inside(path)))

    def _translated(self, error: Exception, operation: str, where: str) -> Exception:
        if isinstance(error, DroverError):
            return error
        if isinstance(error, SMBResponseException):
            if error.status in _FULL:
                return NasFull(operation, where, error.status)
            return NasAway(operation, where, f"{type(error).__name__} (0x{error.status:08x})", error.status)
        # smbprotocol raises ValueError, KeyError and others when a connection is lost
        return NasAway(operation, where, self._account.hidden_in(str(error)) or type(error).__name__)

    def _put(self, source: Path, temporary: PurePosixPath, expected: Digest, pulse: Pulse) -> None:
        with SourceFile(source) as file:
            try:
                self._copy(file, temporary, expected, pulse)
            except BaseException:
                # The server deletes a file that we left open. But if the connection was lost at the last step, the file
                # stays, so remove it.
                if not pulse.lost:
                    pulse.still_alive()
                    with suppress(Exception):
                        self._remove(temporary, pulse)
                raise

    def _copy(self, file: SourceFile, temporary: PurePosixPath, expected: Digest, pulse: Pulse) -> None:
        with self._share(pulse) as share:
            _make_folders(share, temporary)
            pulse.beat()
            _delete(share, temporary)
            pulse.beat()
            with share.opened(temporary, _WRITE, CreateDisposition.FILE_CREATE, alone=True) as copy:
                copy.delete_on_close(True)
                write_all(file, lambda rest, offset: copy.write(rest, offset, CHUNK_BYTES), pulse)
                copy.flush()
                found = read_digest(copy.read, pulse)
                if found != expected:
                    raise CopyMismatch(str(temporary), expected, found)
                copy.delete_on_close(False)

    def _publish(self, temporary: PurePosixPath, final: PurePosixPath, pulse: Pulse, fence: Fence) -> bool:
        with self._share(pulse) as share:
            try:
                with share.opened(temporary, _PUBLISH, CreateDisposition.FILE_OPEN) as file:
                    pulse.beat()
                    fence()
                    _name_finally(file, share.name_of(final))
            except ObjectNameCollision:
                return False
            except _ABSENT:
                if _exists(share, final):
                    return False  # an earlier try of ours may have succeeded although its answer was lost
                raise
            _flush_folder(share, final.parent)
        return True

    def _digest(self, path: PurePosixPath, pulse: Pulse) -> Digest | None:
        return self._opened(path, pulse, lambda file: read_digest(file.read, pulse))

    def _read(self, path: PurePosixPath, start: int, bytes_max: int, pulse: Pulse) -> Piece | None:
        def read(file: SmbFile) -> Piece:
            return Piece(file.size_bytes, read_piece(file.read, start, bytes_max, pulse))

        return self._opened(path, pulse, read)

    def _opened(self, path: PurePosixPath, pulse: Pulse, use: Callable[[SmbFile], T]) -> T | None:
        """Open a file, and return what `use` returns for it; None if the file does not exist."""
        with self._share(pulse) as share:
            try:
                with share.opened(path, _READ, CreateDisposition.FILE_OPEN) as file:
                    return use(file)
            except _ABSENT:
                return None

    def _remove(self, path: PurePosixPath, pulse: Pulse, fence: Fence = unfenced) -> None:
        with self._share(pulse) as share:
            _delete(share, path, fence)

    def _temporaries(self, pulse: Pulse) -> list[PurePosixPath]:
        with self._share(pulse) as share:

            def names_in(folder: PurePosixPath) -> Iterator[str]:
                with share.opened(folder, _LIST, CreateDisposition.FILE_OPEN, folder=True) as opened:
                    yield from _names(opened, pulse)

            def names_if_there(folder: PurePosixPath) -> Iterator[str]:
                with suppress(*_ABSENT, StatusNotADirectory):
                    yield from names_in(folder)

            return find_temporaries(names_in(_ROOT), names_if_there)

    def _free_bytes(self, pulse: Pulse) -> int:
        with (
            self._share(pulse) as share,
            share.opened(_ROOT, _LIST, CreateDisposition.FILE_OPEN, folder=True) as root,
        ):
            return root.free_bytes()

    @contextmanager
    def _share(self, pulse: Pulse) -> Iterator[Share]:
        """Connect and check that the root exists. Otherwise a missing file could just mean a missing root. The root is
        never created."""
        with connected(
            self._address, self._account, encrypt=self._encrypt, answer_s=self._answer_s, pulse=pulse
        ) as share:
            with share.opened(_ROOT, _LIST, CreateDisposition.FILE_OPEN, folder=True):
                pass
            yield share


def _make_folders(share: Share, path: PurePosixPath) -> None:
    for folder in list(reversed(path.parents))[1:]:
        with share.opened(folder, _LIST, CreateDisposition.FILE_OPEN_IF, folder=True):
            pass


def _delete(share: Share, path: PurePosixPath, fence: Fence = unfenced) -> None:
    with suppress(*_ABSENT), share.opened(path, _REMOVE, CreateDisposition.FILE_OPEN) as file:
        fence()
        file.delete_on_close(True)


def _name_finally(file: SmbFile, name: str) -> None:
    """Give a file its final name: make a hard link, which is atomic, then delete the temporary name. If the server has
    no hard links, rename the file.

    A rename on Samba is not atomic: it first checks whether the name is free, so a concurrent rename can replace a
    file.
    """
    try:
        file.link(name)
    except SMBResponseException as error:
        if error.status not in _NO_LINKS:
            raise
        file.rename(name)
    else:
        file.delete_on_close(True)


def _flush_folder(share: Share, folder: PurePosixPath) -> None:
    """Make the new name durable: flush its folder to disk, if the server can do that."""
    with (
        suppress(SMBResponseException),
        share.opened(folder, _ADD, CreateDisposition.FILE_OPEN, folder=True) as opened,
    ):
        opened.flush()


def _exists(share: Share, path: PurePosixPath) -> bool:
    try:
        with share.opened(path, FilePipePrinterAccessMask.FILE_READ_ATTRIBUTES, CreateDisposition.FILE_OPEN):
            return True
    except FileIsADirectory:
        return True
    except _ABSENT:
        return False


def _names(folder: SmbFile, pulse: Pulse) -> Iterator[str]:
    for name in folder.names():
        pulse.beat()
        yield name
