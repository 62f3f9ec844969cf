"""What both implementations share: a store whose blocking calls run in threads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Final, TypeVar

from drover.nas.blocking import Blocking, Pulse
from drover.nas.metrics import copy_timed
from drover.nas.naming import parse_location
from drover.nas.store import Digest, Fence, Piece, unfenced

T = TypeVar("T")


class ThreadedStore(ABC):
    """A `NasStore` made of blocking methods, which may hang. Each method gets a `Pulse`, through which it sends
    heartbeats."""

    def __init__(self, *, stall_s: float) -> None:
        self._blocking: Final = Blocking("nas", stall_s=stall_s)
        self._quick: Final = Blocking("nas", stall_s=stall_s)
        """Threads for calls that must not wait until copies have ended: what their callers have checked before is valid
        for seconds only."""

    async def put(self, source: Path, temporary: PurePosixPath, *, expected: Digest) -> None:
        with copy_timed():
            await self._run("put", temporary, lambda pulse: self._put(source, temporary, expected, pulse))

    async def publish(self, temporary: PurePosixPath, final: PurePosixPath, *, fence: Fence = unfenced) -> bool:
        if temporary.parent != final.parent:
            raise ValueError(f"{temporary} and {final} are not in the same folder")
        return await self._run(
            "publish", final, lambda pulse: self._publish(temporary, final, pulse, fence), self._quick
        )

    async def digest(self, path: PurePosixPath) -> Digest | None:
        return await self._run("digest", path, lambda pulse: self._digest(path, pulse))

    async def read(self, path: PurePosixPath, start: int, bytes_max: int) -> Piece | None:
        return await self._run("read", path, lambda pulse: self._read(path, start, bytes_max, pulse), self._quick)

    async def remove(self, path: PurePosixPath, *, fence: Fence = unfenced) -> None:
        await self._run("remove", path, lambda pulse: self._remove(path, pulse, fence), self._quick)

    async def temporaries(self) -> list[PurePosixPath]:
        return await self._run("list", None, self._temporaries)

    async def free_bytes(self) -> int:
        return await self._run("free space", None, self._free_bytes)

    def inside(self, location: str) -> PurePosixPath | None:
        return parse_location(location)

    async def _run(
        self, operation: str, path: PurePosixPath | None, call: Callable[[Pulse], T], lane: Blocking | None = None
    ) -> T:
        where = self.root if path is None else self.location(path)  # `location` raises if the path leaves the root
        try:
            return await (lane or self._blocking).run(call)
        except Exception as error:
            translated = self._translated(error, operation, where)
            if translated is error:
                raise
            raise translated from error

    @property
    @abstractmethod
    def root(self) -> str: ...

    @abstractmethod
    def location(self, path: PurePosixPath) -> str: ...

    @abstractmethod
    def _translated(self, error: Exception, operation: str, where: str) -> Exception:
        """Translate an error of an implementation into one of `store`. Other errors stay as they are."""

    @abstractmethod
    def _put(self, source: Path, temporary: PurePosixPath, expected: Digest, pulse: Pulse) -> None: ...

    @abstractmethod
    def _publish(self, temporary: PurePosixPath, final: PurePosixPath, pulse: Pulse, fence: Fence) -> bool: ...

    @abstractmethod
    def _digest(self, path: PurePosixPath, pulse: Pulse) -> Digest | None: ...

    @abstractmethod
    def _read(self, path: PurePosixPath, start: int, bytes_max: int, pulse: Pulse) -> Piece | None: ...

    @abstractmethod
    def _remove(self, path: PurePosixPath, pulse: Pulse, fence: Fence) -> None: ...

    @abstractmethod
    def _temporaries(self, pulse: Pulse) -> list[PurePosixPath]: ...

    @abstractmethod
    def _free_bytes(self, pulse: Pulse) -> int: ...
