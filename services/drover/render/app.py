"""The composition of the render service: the queue's writer, and workers where nexrender and a NAS are set."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

from nats.aio.client import Client

from drover.bus.client import CommandBus
from drover.bus.telemetry import TelemetryOut
from drover.domain.errors import DroverError
from drover.domain.render import render_decider
from drover.domain.render.policy import Policy
from drover.domain.render.polling import Pace
from drover.domain.render.state import RenderQueue
from drover.nas.opening import open_store
from drover.nas.source import digest_of
from drover.nas.store import NasStore
from drover.render.local_disk import LocalDisk
from drover.render.nexrender.client import NexrenderClient
from drover.render.validation import validate_output
from drover.render.workers import Workers
from drover.render.workshop import Folders, Workshop
from drover.service.config import Settings
from drover.service.sealing import Sealer
from drover.writer.nats_writer import nats_writer
from drover.writer.writer import Writer


class RenderSettingsMissing(DroverError):
    """Workers need more settings than there are."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        super().__init__(
            f"Render workers need {', '.join(names)}. Set {'it' if len(names) == 1 else 'them'}, or "
            "DROVER_RENDER_WORKERS=0 for a process without workers"
        )


def render_writer(client: Client, settings: Settings, lease_token: str | None = None) -> Writer[RenderQueue]:
    policy = Policy(
        lease_s=settings.render_lease_s,
        render_timeout_s=settings.render_timeout_s,
        retries=settings.render_retries,
        retry_base_s=settings.render_retry_base_s,
    )
    return nats_writer(client, render_decider(policy), instance=settings.instance, lease_token=lease_token)


def worker_ids(settings: Settings) -> list[str]:
    """The same after a restart: so a worker that died goes on with what it had, and nobody waits for its lease."""
    base = settings.render_worker_id or socket.gethostname()
    count = settings.render_workers
    return [base] if count == 1 else [f"{base}-{number}" for number in range(1, count + 1)]


class RenderWorkers:
    """The workers of this process, with the connections that they work over."""

    def __init__(self, client: Client, settings: Settings) -> None:
        needed = {
            "DROVER_RENDER_NEXRENDER_URL": settings.render_nexrender_url,
            "DROVER_RENDER_NAS": settings.render_nas,
            "DROVER_RENDER_OUTPUT_DIR": settings.render_output_dir,
            "DROVER_SEALING_KEYS": settings.sealing_keys,
            "DROVER_RENDER_WORKERS of at least 1": settings.render_workers,
        }
        if missing := [name for name, value in needed.items() if not value]:
            raise RenderSettingsMissing(missing)
        self._client = client
        self._settings = settings
        self._nexrender = NexrenderClient(str(settings.render_nexrender_url), secret=settings.render_nexrender_secret)
        self._telemetry = TelemetryOut(client, "render", settings.instance)
        self.workers = Workers(
            CommandBus(client),
            self._workshop(open_nas(settings)),
            self._telemetry,
            worker_ids(settings),
            lambda: Pace(settings.render_poll_s, settings.render_poll_idle_s),
        )

    def _workshop(self, nas: NasStore) -> Workshop:
        settings = self._settings
        output = str(settings.render_output_dir)
        disk = LocalDisk()
        return Workshop(
            nexrender=self._nexrender,
            nas=nas,
            folders=Folders(
                Path(output),
                settings.render_output_dir_nexrender or output,
                settings.render_template_dir or "",
                settings.render_image_dir or "",
            ),
            sealer=Sealer.from_settings(settings.sealing_keys),
            validate=partial(
                validate_output,
                codec=settings.render_codec,
                width=settings.render_width,
                height=settings.render_height,
            ),
            digest=partial(digest_of, blocking=disk.blocking),
            template=settings.render_template or "",
            follow_s=settings.render_follow_s,
            aside=disk,
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[RenderWorkers]:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._nexrender)
            await stack.enter_async_context(self._telemetry.running())
            await stack.enter_async_context(self.workers.running(self._client))
            yield self


def open_nas(settings: Settings) -> NasStore:
    return open_store(
        str(settings.render_nas),
        user=settings.render_nas_user,
        password=settings.render_nas_password,
        encrypt=settings.render_nas_encrypt,
        guard=settings.render_nas_guard,
        mounted_at=Path(settings.render_nas_mount) if settings.render_nas_mount else None,
    )
