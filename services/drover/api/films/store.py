"""The port to the store of finished files. The NAS of the render service is one."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Protocol


class FilmStore(Protocol):
    """Every failure is a DroverError."""

    def inside(self, location: str) -> PurePosixPath | None:
        """The path of a file that the read model names. None: it is not below this store's root."""

    async def read(self, path: PurePosixPath, start: int, bytes_max: int) -> tuple[int, bytes] | None:
        """The size of the whole file, and its bytes from `start` on. None: there is no such file."""
