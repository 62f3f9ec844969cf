"""What a worker works with: its machines, its folders, its numbers. Everything that talks to the outside is a port."""

from __future__ import annotations

import os
import shutil
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Final, Protocol

import structlog

from drover.domain.errors import DroverError
from drover.nas.store import Digest, Fence, NasStore, TooLate
from drover.render.composition_cache import CompositionCache
from drover.render.local_disk import LocalDisk
from drover.render.nexrender.client import RemoteJob
from drover.render.nexrender.wire import TOTAL_S
from drover.render.validation import FileFacts
from drover.writer.clock import SystemClock

UID_PREFIX: Final = "drover-"

log = structlog.get_logger("drover.render")


class Nexrender(Protocol):
    """What is needed of `drover.render.nexrender.client.NexrenderClient`."""

    async def health(self) -> None: ...

    async def find(self, uid: str) -> RemoteJob | None: ...

    async def submit(self, document: dict[str, Any]) -> RemoteJob: ...

    async def remove(self, uid: str) -> None: ...


class Unseal(Protocol):
    """What is needed of `drover.service.sealing.Sealer`."""

    def open(self, sealed: str, *, context: str, subject: str) -> bytes: ...


@dataclass(frozen=True)
class Folders:
    """Where files are, as the worker and as After Effects sees them."""

    output: Path
    """As this process sees the folder that nexrender writes into."""
    output_there: str
    """As nexrender sees the same folder."""
    templates: str
    images: str

    def output_of(self, uid: str, render_id: int) -> Path:
        """One folder for each job at nexrender: what goes on behind our back does not write into another's file."""
        return self.output / uid / f"job_{render_id}.mp4"

    def make(self, uid: str) -> None:
        """The folder above is never made: a share that is not mounted would be, on this machine's own disk."""
        (self.output / uid).mkdir(exist_ok=True)

    def output_there_of(self, uid: str, render_id: int) -> str:
        return joined(self.output_there, uid, f"job_{render_id}.mp4")

    def template(self, named: str) -> str:
        return joined(self.templates, named) if self.templates else named

    def jobs(self) -> list[Path]:
        """Folders of jobs that left something behind."""
        return [path for path in self.output.iterdir() if path.name.startswith(UID_PREFIX) and path.is_dir()]

    def discard(self, uid: str) -> None:
        with suppress(FileNotFoundError):
            shutil.rmtree(self.output / uid)


def joined(folder: str, *parts: str) -> str:
    """As the machine writes it that the folder belongs to. An absolute part stands for itself."""
    flavour = PureWindowsPath if PureWindowsPath(folder).drive else PurePosixPath
    return flavour(folder, *parts).as_posix()


@dataclass(frozen=True)
class Workshop:
    nexrender: Nexrender
    nas: NasStore
    folders: Folders
    sealer: Unseal
    validate: Callable[[Path], Awaitable[FileFacts]]
    """Raises OutputInvalid."""
    digest: Callable[[Path], Awaitable[Digest]]
    template: str = ""
    """For compositions that have none of their own."""
    follow_s: float = 5.0
    settle_s: float = TOTAL_S
    """So long a job that somebody has begun to submit may take to arrive."""
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    """For people to read. Nothing is decided by it: it can jump, and the queue has another."""
    elapsed: Callable[[], float] = SystemClock().elapsed_s
    compositions: CompositionCache = field(default_factory=CompositionCache)
    aside: Callable[..., Awaitable[Any]] = field(default_factory=LocalDisk)
    """For what blocks: the folders. Raises FolderAway."""

    def fence(self, until: float) -> Fence:
        """Closed from then on, by `elapsed`."""

        def check() -> None:
            if self.elapsed() >= until:
                raise TooLate("What the queue said is too old to act upon")

        return check

    async def is_missing(self, template: str) -> bool:
        """False as well where nexrender's folders cannot be seen from here."""
        try:
            return bool(await self.aside(_is_missing, template))
        except DroverError as error:
            log.warning("template_not_looked_for", template=template, error=str(error))
            return False

    async def discard(self, uid: str) -> None:
        """What is left of a job in the output folder. If it cannot be had now, a sweep takes it."""
        try:
            await self.aside(self.folders.discard, uid)
        except DroverError as error:
            log.warning("not_discarded", uid=uid, error=str(error))


def _is_missing(path: str) -> bool:
    return os.path.isdir(os.path.dirname(path)) and not os.path.exists(path)
