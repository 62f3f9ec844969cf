"""The interface to the store of finished files, which the NAS of the render service implements."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Protocol


class FilmStore(Protocol):
    """A store of finished files. Its methods raise only `DroverError`."""

    def inside(self, location: str) -> PurePosixPath | None:
        """Return the path of a file that the read model names. None: the file is not below this store's root."""

    async def read(self, path: PurePosixPath, start: int, bytes_max: int) -> tuple[int, bytes] | None:
        """Return the size of the whole file, and at most `bytes_max` of its bytes from `start` on. None: no such
        file."""
