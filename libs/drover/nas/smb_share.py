"""One connection to a share: signs in, opens files, and limits the time for every reply. `smb` decides what is done
there."""

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

# smbprotocol logs each lost connection with a traceback; we raise NasAway with the same information.
logging.getLogger("smbprotocol").setLevel(logging.CRITICAL)


class Account(NamedTuple):
    """The account to sign in with. `DOMAIN\\user` is a domain account, a plain name one of the NAS itself."""

    user: str | None
    password: str | None

    def __repr__(self) -> str:
        return f"Account({self.user!r})"

    def hidden_in(self, text: str) -> str:
        """Replace the password in a text, because the text ends up in a row that people read."""
        return text.replace(self.password, "•••") if self.password and len(self.password) > 3 else text


class ShareAddress(NamedTuple):
    """The address of a folder on a share: `smb://host:port/share/folder`."""

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
        """Return the name of the file within the share."""
        return "\\".join((*self._folder.parts, *path.parts))

    @contextmanager
    def opened(
        self, path: PurePosixPath, access: int, disposition: int, *, folder: bool = False, alone: bool = False
    ) -> Iterator[SmbFile]:
        """Open a file or folder for the length of the block. `alone`: whether nobody else can open it meanwhile."""
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
            with suppress(Exception):  # an error in the block must not be hidden by one from closing
                handle.close()
            raise
        handle.close()


@contextmanager
def connected(
    address: ShareAddress, account: Account, *, encrypt: bool, answer_s: float, pulse: Pulse
) -> Iterator[Share]:
    """Open a connection for this block only. So a lost connection is never used again, and a thread that waits for a
    reply can be freed by closing the socket."""
    connection = _PatientConnection(address, answer_s)
    pulse.when_lost(lambda: _cut(connection))
    try:
        connection.connect(timeout=answer_s)
        session = Session(connection, account.user, account.password, require_encryption=encrypt)
        session.connect()
        tree = TreeConnect(session, rf"\\{address.host}\{address.share}")
        tree.connect()
        if tree.is_dfs_share:
            raise SMBException("the share is a DFS namespace: use the address of the server behind it")
        yield Share(tree, address.folder)
    finally:
        pulse.when_lost(None)
        if connection.transport is not None:
            with suppress(Exception):
                connection.disconnect(close=False)


_SHARED: Final = ShareAccess.FILE_SHARE_READ | ShareAccess.FILE_SHARE_WRITE | ShareAccess.FILE_SHARE_DELETE


class _PatientConnection(Connection):  # type: ignore[misc]
    """Adds a time-out to every reply: smbprotocol itself would wait for ever."""

    def __init__(self, address: ShareAddress, answer_s: float) -> None:
        super().__init__(uuid4(), address.host, address.port, require_signing=True)
        self._answer_s = answer_s

    def receive(
        self, request: Any, wait: bool = True, timeout: float | None = None, resolve_symlinks: bool = True
    ) -> Any:
        return super().receive(request, wait, timeout or self._answer_s, resolve_symlinks)


def _cut(connection: Connection) -> None:
    """Close the socket although another thread may be using it. `disconnect` would wait for a lock."""
    line = getattr(connection.transport, "_sock", None)
    if line is not None:
        with suppress(OSError):
            line.shutdown(socket.SHUT_RDWR)
