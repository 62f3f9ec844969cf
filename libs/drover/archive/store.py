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
    """A text that differs after every change of the file."""


class ArchiveStore(Protocol):
    """Files by name. Folders are separated by `/`. Whatever a method has written is durable when it returns.

    Reading raises FileMissing, FileDamaged or ArchiveUnreachable; writing ArchiveUnwritable or ArchiveUnreachable.
    """

    shared: bool
    """True for a bucket. There `locked` does not exclude other writers; they notice each other only in `replace`."""

    def place(self, name: str = "") -> str:
        """Return the full address of a file, for messages to people."""

    async def read(self, name: str, bytes_max: int) -> Found: ...

    async def write(self, name: str, data: bytes) -> None:
        """Write a file. Folders that are missing are made."""

    async def replace(self, name: str, data: bytes, version: str | None) -> str:
        """Replace a file in one step if it still has this version, and return the new version. `version`: None if the
        file must not exist yet. Raises ArchiveBusy if another writer has changed it."""

    def read_chunks(self, name: str) -> AsyncGenerator[bytes, None]: ...

    async def write_chunks(self, name: str, chunks: AsyncIterable[bytes]) -> None:
        """Write a file of any size. Readers see it only when all of it is written."""

    async def delete(self, name: str) -> None:
        """Delete a file. Harmless if there is none."""

    async def names(self, folder: str) -> list[str]:
        """List the files of a folder, without those in folders below it. Empty if there is no such folder."""

    async def folders(self) -> list[str]: ...

    async def remove(self, folder: str) -> None:
        """Delete a folder with all files and folders in it. Harmless if there is none. If it was interrupted, call it
        again."""

    def locked(self, folder: str) -> AbstractAsyncContextManager[None]:
        """Exclude other writers on this machine from a folder while the block runs. Raises ArchiveBusy if one is
        there."""
