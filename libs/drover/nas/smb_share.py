"""One connection to a share: signing in, opening files, a time-out on every answer. What is done there is in `smb`."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple
from uuid import uuid4

from smbprotocol.connection import Connection
from smbprotocol.exceptions import SMBException
from smbprotocol.open import CreateOptions, FileAttributes, ImpersonationLevel, Open, ShareAccess
from smbprotocol.session import Session
from smbprotocol.tree import TreeConnect

from drover.nas.blocking import Pulse
from drover.nas.smb_file import SmbFile

PORT: Final = 445

# It logs each lost connection with a traceback; we raise NasAway, which says the same once.
logging.getLogger("smbprotocol").setLevel(logging.CRITICAL)


class Account(NamedTuple):
    """Who signs in. `DOMAIN\\user` is an account of a domain, a bare name one of the NAS itself."""

    user: str | None
    password: str | None

    def __repr__(self) -> str:
        return f"Account({self.user!r})"

    def hidden_in(self, text: str) -> str:
        """Whoever wrote the text: it ends in a row that people read."""
        return text.replace(self.password, "•••") if self.password and len(self.password) > 3 else text


class ShareAddress(NamedTuple):
    """Where files go: `smb://host:port/share/folder`."""

    host: str
    share: str
    folder: PurePosixPath = PurePosixPath()
    port: int = PORT

    def unc(self, path: PurePosixPath) -> str:
        return "\\".join(("\\", self.host, self.share, *self.folder.parts, *path.parts))


class Share:
    """A share that we are signed in to. Paths are relative to the address's folder. Blocking, for one thread."""

    def __init__(self, tree: TreeConnect, folder: PurePosixPath) -> None:
        self._tree = tree
        self._folder = folder

    def name_of(self, path: PurePosixPath) -> str:
        """As the share itself calls it."""
        return "\\".join((*self._folder.parts, *path.parts))

    @contextmanager
    def opened(
        self, path: PurePosixPath, access: int, disposition: int, *, folder: bool = False, alone: bool = False
    ) -> Iterator[SmbFile]:
        """A file or folder, open until the block ends. `alone`: nobody else can open it meanwhile."""
        handle = Open(self._tree, self.name_of(path))
        handle.create(
            ImpersonationLevel.Impersonation,
            access,
            FileAttributes.FILE_ATTRIBUTE_DIRECTORY if folder else FileAttributes.FILE_ATTRIBUTE_NORMAL,
            0 if alone else _SHARED,
            disposition,
            CreateOptions.FILE_DIRECTORY_FILE if folder else CreateOptions.FILE_NON_DIRECTORY_FILE,
        )
        try:
            yield SmbFile(handle)
        except BaseException:
            with suppress(Exception):  # what went wrong first is what counts
                handle.close()
            raise
        handle.close()


@contextmanager
def connected(
    address: ShareAddress, account: Account, *, encrypt: bool, answer_s: float, pulse: Pulse
) -> Iterator[Share]:
    """A connection for this block alone: one that was lost is never met again, and cutting it frees the thread."""
    connection = _PatientConnection(address, answer_s)
    pulse.when_lost(lambda: _cut(connection))
    try:
        connection.connect(timeout=answer_s)
        session = Session(connection, account.user, account.password, require_encryption=encrypt)
        session.connect()
        tree = TreeConnect(session, rf"\\{address.host}\{address.share}")
        tree.connect()
        if tree.is_dfs_share:
            raise SMBException("the share is a DFS namespace: name the server that is behind it")
        yield Share(tree, address.folder)
    finally:
        pulse.when_lost(None)
        if connection.transport is not None:
            with suppress(Exception):
                connection.disconnect(close=False)


_SHARED: Final = ShareAccess.FILE_SHARE_READ | ShareAccess.FILE_SHARE_WRITE | ShareAccess.FILE_SHARE_DELETE


class _PatientConnection(Connection):  # type: ignore[misc]
    """Waits for an answer for so long and not longer: by itself smbprotocol would wait for ever."""

    def __init__(self, address: ShareAddress, answer_s: float) -> None:
        super().__init__(uuid4(), address.host, address.port, require_signing=True)
        self._answer_s = answer_s

    def receive(
        self, request: Any, wait: bool = True, timeout: float | None = None, resolve_symlinks: bool = True
    ) -> Any:
        return super().receive(request, wait, timeout or self._answer_s, resolve_symlinks)


def _cut(connection: Connection) -> None:
    """End the connection under a thread that may be in the middle of it. Its own `disconnect` would wait for a lock."""
    line = getattr(connection.transport, "_sock", None)
    if line is not None:
        with suppress(OSError):
            line.shutdown(socket.SHUT_RDWR)
