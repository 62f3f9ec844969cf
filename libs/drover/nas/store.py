"""The port: what a NAS can do, however it is reached. Adapters: `mounted` and `smb`, chosen in `opening`."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple, Protocol

from drover.domain.errors import DroverError

CHUNK_BYTES: Final = 1024 * 1024
FOLDERS_MAX: Final = 1_000
"""How many date folders, the latest first, a look for temporary files goes into."""
TEMPORARIES_MAX: Final = 10_000
"""How many a look returns. The next look finds the rest."""


Fence = Callable[[], None]
"""Called right before a deed, in the thread that does it. Raises TooLate where what its caller knew may not hold any
more: a whole process can sleep between asking whether a name is still its own and using it."""


def unfenced() -> None:
    """For what may be done at any time."""


class TooLate(DroverError):
    """What was known is too old to act upon. Nothing was done: ask again."""


class Digest(NamedTuple):
    """What a file holds, as far as it matters for telling two files apart."""

    size_bytes: int
    sha256: str
    """In hexadecimal, small letters."""


class Piece(NamedTuple):
    """A part of a file, and how long the whole is."""

    size_bytes: int
    data: bytes


class Digesting:
    """A digest in the making, chunk by chunk."""

    def __init__(self) -> None:
        self.size_bytes = 0
        self._sha256 = sha256()

    def update(self, chunk: bytes) -> None:
        self.size_bytes += len(chunk)
        self._sha256.update(chunk)

    def result(self) -> Digest:
        return Digest(self.size_bytes, self._sha256.hexdigest())


class NasAway(DroverError):
    """The NAS did not do what it was asked for: unreachable, refused the account, fell silent, lost a handle."""

    def __init__(self, operation: str, path: str, reason: str, code: int | None = None) -> None:
        super().__init__(f"NAS: {operation} of {path} failed: {reason}")
        self.operation = operation
        self.path = path
        self.reason = reason
        self.code = code
        """The errno of a mounted path, the NT status of SMB, where there is one."""


class NasFull(DroverError):
    """The NAS, or the account's share of it, has no room left for the file."""

    def __init__(self, operation: str, path: str, code: int) -> None:
        super().__init__(f"NAS is full: {operation} of {path} failed")
        self.operation = operation
        self.path = path
        self.code = code


class CopyMismatch(DroverError):
    """What stands on the NAS after the copy is not what was sent."""

    def __init__(self, path: str, expected: Digest, found: Digest) -> None:
        same_size = expected.size_bytes == found.size_bytes
        super().__init__("File content mismatch after copy" if same_size else "File size mismatch after copy")
        self.path = path
        self.expected = expected
        self.found = found


class SourceUnreadable(DroverError):
    """The rendered file could not be read while it was copied. Nothing is wrong with the NAS."""

    def __init__(self, source: Path, reason: str, code: int | None) -> None:
        super().__init__(f"Cannot read {source}: {reason}")
        self.source = source
        self.reason = reason
        self.code = code


class NasStore(Protocol):
    """Files below one folder of the NAS, the root. It must exist: only folders below it are made when needed.

    Paths are relative to the root (`naming`); one that could lead out of it is a ValueError. Every call ends: with its
    result, or with NasAway when the NAS has been silent for too long. A call that is cancelled stops at its next chunk.
    """

    async def put(self, source: Path, temporary: PurePosixPath, *, expected: Digest) -> None:
        """Copy a local file under a temporary name, have it on disk, read it back and compare.

        What stood there before is removed first. A copy that fails is removed again if the NAS still answers.
        Raises NasAway, NasFull, CopyMismatch or SourceUnreadable.
        """

    async def publish(self, temporary: PurePosixPath, final: PurePosixPath, *, fence: Fence = unfenced) -> bool:
        """Give the file its final name, in one step and never in place of another file.

        False: the final name is taken, and the temporary file stands where it was, if it stood there at all. After
        NasAway the step may have been done: ask again, and on False compare `digest(final)` with what was put.
        """

    async def digest(self, path: PurePosixPath) -> Digest | None:
        """Of the whole file, read from the NAS; None if there is none."""

    async def read(self, path: PurePosixPath, start: int, bytes_max: int) -> Piece | None:
        """What stands from there on; nothing after the end; None if there is no such file."""

    async def remove(self, path: PurePosixPath, *, fence: Fence = unfenced) -> None:
        """No error if there is no such file."""

    async def temporaries(self) -> list[PurePosixPath]:
        """Temporary files in the date folders, by name, of whatever run. Bounded: see the constants above."""

    async def free_bytes(self) -> int:
        """Room that this account may still fill."""

    def location(self, path: PurePosixPath) -> str:
        """Where people find the file: its whole path, in the NAS's own way of writing."""

    def inside(self, location: str) -> PurePosixPath | None:
        """The path of the finished file that a location tells of, also as another worker sees the NAS; else None."""
