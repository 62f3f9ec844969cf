"""The interface of the places where archives are kept: a folder (`folder_store`) or a bucket (`s3_store`). They store
bytes by name and know nothing of commits."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol

from drover.domain.errors import DroverError


class FileMissing(DroverError):
    """There is no file of this name."""


class Found(NamedTuple):
    data: bytes
    version: str
    """A text that changes with every change of the file."""


class ArchiveStore(Protocol):
    """Files by name. Folders are separated by `/`. Whatever a method has written is durable when it returns.

    Reading raises FileMissing, FileDamaged or ArchiveUnreachable; writing ArchiveUnwritable or ArchiveUnreachable.
    """

    shared: bool
    """True for a bucket: `locked` keeps nobody away, so writers notice each other only by `replace`."""

    def place(self, name: str = "") -> str:
        """Return the full address of a file, for messages to people."""

    async def read(self, name: str, bytes_max: int) -> Found: ...

    async def write(self, name: str, data: bytes) -> None: ...

    async def replace(self, name: str, data: bytes, version: str | None) -> str:
        """Replace a file in one step if it still has this version (None: if there is none); return the new version.
        Raises ArchiveBusy if another writer has changed it."""

    def read_chunks(self, name: str) -> AsyncGenerator[bytes, None]: ...

    async def write_chunks(self, name: str, chunks: AsyncIterable[bytes]) -> None:
        """Write a file of any size. It appears when all of it is written."""

    async def delete(self, name: str) -> None:
        """Delete a file. Harmless if there is none."""

    async def names(self, folder: str) -> list[str]:
        """List the files of a folder, without those in folders below it. Empty if there is no such folder."""

    async def folders(self) -> list[str]: ...

    def locked(self, folder: str) -> AbstractAsyncContextManager[None]:
        """Keep other writers of this machine away from a folder. Raises ArchiveBusy."""
