"""Access to the folders that nexrender and this process share. They are often network shares, so calls may hang."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from drover.domain.errors import DroverError
from drover.nas.blocking import STALL_S, Blocking

T = TypeVar("T")


class FolderAway(DroverError):
    """The output folder, or a folder in it, is missing, full, not writable, or does not respond."""


class LocalDisk:
    """`await disk(call, *arguments)` runs the call in a thread, which is abandoned if it hangs."""

    def __init__(self, stall_s: float = STALL_S) -> None:
        self.blocking: Final = Blocking("output", stall_s=stall_s)

    async def __call__(self, call: Callable[..., T], *arguments: object) -> T:
        try:
            return await self.blocking.run(lambda _: call(*arguments))
        except OSError as error:  # includes the TimeoutError of `Blocking`
            where = f" ({error.filename})" if error.filename else ""
            raise FolderAway(f"The output folder cannot be used: {error.strerror or error}{where}") from error
