"""A worker's dependencies: nexrender, NAS, folders and limits. Everything that does I/O is a port."""

from __future__ import annotations

import os
import shutil
from collections.abc import Awaitable, Callable, Sequence
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
    """The part of `drover.render.nexrender.client.NexrenderClient` that a worker needs."""

    async def health(self) -> None: ...

    async def find(self, uid: str) -> RemoteJob | None: ...

    async def submit(self, document: dict[str, Any]) -> RemoteJob: ...

    async def remove(self, uid: str) -> None: ...


class Unseal(Protocol):
    """The part of `drover.web.gfx_seal.GfxSeal` that a worker needs."""

    async def open(self, gfx_id: str, text: str) -> bytes: ...


@dataclass(frozen=True)
class Folders:
    """Where files are, as seen by the worker and by After Effects."""

    output: Path
    """The folder that nexrender writes into, as this process sees it."""
    output_there: str
    """The same folder, as nexrender sees it."""
    templates: str
    images: str

    def output_of(self, uid: str, render_id: int) -> Path:
        """Return the path of a job's result, as this process sees it. Each nexrender job has its own folder, so that an
        abandoned job cannot write into another job's file."""
        return self.output / uid / f"job_{render_id}.mp4"

    def make(self, uid: str) -> None:
        """Make the folder of a job, but not the output folder: if its share is not mounted, that would create it on the
        local disk."""
        (self.output / uid).mkdir(exist_ok=True)

    def output_there_of(self, uid: str, render_id: int) -> str:
        return joined(self.output_there, uid, f"job_{render_id}.mp4")

    def template(self, named: str) -> str:
        return joined(self.templates, named) if self.templates else named

    def jobs(self) -> list[Path]:
        """List the job folders that still exist."""
        return [path for path in self.output.iterdir() if path.name.startswith(UID_PREFIX) and path.is_dir()]

    def discard(self, uid: str) -> None:
        with suppress(FileNotFoundError):
            shutil.rmtree(self.output / uid)


def joined(folder: str, *parts: str) -> str:
    """Join paths in the style of the folder's machine (Windows or POSIX). An absolute part replaces what comes
    before."""
    flavour = PureWindowsPath if PureWindowsPath(folder).drive else PurePosixPath
    return flavour(folder, *parts).as_posix()


@dataclass(frozen=True)
class Workshop:
    nexrender: Nexrender
    nas: NasStore
    folders: Folders
    gfx_data: Unseal
    validate: Callable[[Path], Awaitable[FileFacts]]
    """Validates a rendered file, and returns facts about it. Raises OutputInvalid."""
    digest: Callable[[Path], Awaitable[Digest]]
    template: str = ""
    """The template for compositions that have none of their own."""
    follow_s: float = 5.0
    settle_s: float = TOTAL_S
    """How many seconds a job may take to arrive at nexrender after another worker began to submit it."""
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    """Wall clock for people to read. No decision uses it: it can jump, and the queue's clock differs."""
    elapsed: Callable[[], float] = SystemClock().elapsed_s
    compositions: CompositionCache = field(default_factory=CompositionCache)
    aside: Callable[..., Awaitable[Any]] = field(default_factory=LocalDisk)
    """Runs blocking calls on the folders. Raises FolderAway."""

    def fence(self, until: float) -> Fence:
        """Make a fence that closes at this time of the clock `elapsed`: from then on it raises TooLate."""

        def check() -> None:
            if self.elapsed() >= until:
                raise TooLate("The queue's answer is too old to act on")

        return check

    async def is_missing(self, template: str) -> bool:
        """Whether the template is missing. False if nexrender's folders are not visible from here."""
        try:
            return bool(await self.aside(_is_missing, template))
        except DroverError as error:
            log.warning("template_not_looked_for", template=template, error=str(error))
            return False

    async def missing_images(self, images: Sequence[str]) -> list[str]:
        """Return the images that are missing. Empty, too, if only nexrender sees the image folder and not this
        process."""
        try:
            found: list[str] = await self.aside(_missing_in, self.folders.images, list(images))
        except DroverError as error:
            log.warning("images_not_looked_for", folder=self.folders.images, error=str(error))
            return []
        return found

    async def discard(self, uid: str) -> None:
        """Remove a job's folder. If that fails now, a sweep removes it."""
        try:
            await self.aside(self.folders.discard, uid)
        except DroverError as error:
            log.warning("not_discarded", uid=uid, error=str(error))


def _is_missing(path: str) -> bool:
    return bool(_missing_in(os.path.dirname(path), [path]))


def _missing_in(folder: str, paths: Sequence[str]) -> list[str]:
    return [path for path in paths if not os.path.exists(path)] if os.path.isdir(folder) else []
