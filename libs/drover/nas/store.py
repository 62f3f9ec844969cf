"""The interface of a NAS. Implementations: `mounted` and `smb`, chosen in `opening`."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple, Protocol

from drover.domain.errors import DroverError

CHUNK_BYTES: Final = 1024 * 1024
FOLDERS_MAX: Final = 1_000
"""How many date folders a search for temporary files looks into, the latest first."""
TEMPORARIES_MAX: Final = 10_000
"""How many files a search returns. The next search finds the rest."""


Fence = Callable[[], None]
"""Called right before an action, in the thread that does it. It raises TooLate if the caller's knowledge may be
outdated. This is needed because the process may be paused after it has checked that a file name is still its own, and
before it uses the name."""


def unfenced() -> None:
    """A fence that allows the action at any time."""


class TooLate(DroverError):
    """What the caller knows is too old to act on. Nothing was done: check again."""


class Digest(NamedTuple):
    """Size and hash of a file, to compare two files."""

    size_bytes: int
    sha256: str
    """The hash in lowercase hexadecimal."""


class Piece(NamedTuple):
    """A part of a file, and the size of the whole."""

    size_bytes: int
    data: bytes


class Digesting:
    """Computes a digest chunk by chunk."""

    def __init__(self) -> None:
        self.size_bytes = 0
        self._sha256 = sha256()

    def update(self, chunk: bytes) -> None:
        self.size_bytes += len(chunk)
        self._sha256.update(chunk)

    def result(self) -> Digest:
        return Digest(self.size_bytes, self._sha256.hexdigest())


class NasAway(DroverError):
    """The NAS failed: it was unreachable, refused the account, did not answer, or lost a handle."""

    def __init__(self, operation: str, path: str, reason: str, code: int | None = None) -> None:
        super().__init__(f"NAS: {operation} of {path} failed: {reason}")
        self.operation = operation
        self.path = path
        self.reason = reason
        self.code = code
        """The errno of a mounted path or the NT status of SMB, if there is one."""


class NasFull(DroverError):
    """The NAS, or the account's quota, has no space left for the file."""

    def __init__(self, operation: str, path: str, code: int) -> None:
        super().__init__(f"NAS is full: {operation} of {path} failed")
        self.operation = operation
        self.path = path
        self.code = code


class CopyMismatch(DroverError):
    """The file on the NAS differs from the source after the copy."""

    def __init__(self, path: str, expected: Digest, found: Digest) -> None:
        same_size = expected.size_bytes == found.size_bytes
        super().__init__("File content mismatch after copy" if same_size else "File size mismatch after copy")
        self.path = path
        self.expected = expected
        self.found = found


class SourceUnreadable(DroverError):
    """The rendered file could not be read during the copy. The NAS is not at fault."""

    def __init__(self, source: Path, reason: str, code: int | None) -> None:
        super().__init__(f"Cannot read {source}: {reason}")
        self.source = source
        self.reason = reason
        self.code = code


class NasStore(Protocol):
    """Files below one folder of the NAS, the root. The root must exist: only folders below it are created.

    Paths are relative to the root (`naming`); a path that could leave it is a ValueError. Every call ends: with its
    result, or with NasAway after a time-out. A cancelled call stops at its next chunk.
    """

    async def put(self, source: Path, temporary: PurePosixPath, *, expected: Digest) -> None:
        """Copy a local file to a temporary name, sync it, read it back and compare.

        An earlier file of that name is removed first. A failed copy is removed if the NAS still answers. Raises
        NasAway, NasFull, CopyMismatch or SourceUnreadable.
        """

    async def publish(self, temporary: PurePosixPath, final: PurePosixPath, *, fence: Fence = unfenced) -> bool:
        """Rename the file to its final name, atomically and without replacing another file. Returns False if the final
        name is taken; the temporary file, if there was one, is unchanged then.

        After NasAway the rename may have happened. So try again; if that returns False, compare `digest(final)` with
        the source.
        """

    async def digest(self, path: PurePosixPath) -> Digest | None:
        """Compute the digest of the whole file, read from the NAS; None if there is no file."""

    async def read(self, path: PurePosixPath, start: int, bytes_max: int) -> Piece | None:
        """Read up to `bytes_max` bytes from `start` on; none after the end. Returns None if there is no file."""

    async def remove(self, path: PurePosixPath, *, fence: Fence = unfenced) -> None:
        """Delete a file. It is no error if there is none."""

    async def temporaries(self) -> list[PurePosixPath]:
        """Find the temporary files of all runs in the date folders, by their names. Bounded by `FOLDERS_MAX` and
        `TEMPORARIES_MAX`."""

    async def free_bytes(self) -> int:
        """Return the free space for this account, in bytes."""

    def location(self, path: PurePosixPath) -> str:
        """Return the full path of the file to show to people, in the notation of this kind of NAS."""

    def inside(self, location: str) -> PurePosixPath | None:
        """Return the path, below the root, of the finished file at a location. Another worker may have reported the
        location. None if it is not that of a finished file."""
