"""Builds the render service: the queue's writer, and workers if their number and nexrender's URL are set."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final

from nats.aio.client import Client

from drover.bus.client import CommandBus
from drover.bus.subject_keys import SubjectKeys, asking
from drover.bus.telemetry import TelemetryOut
from drover.domain.errors import DroverError
from drover.domain.render import RENDER, render_decider
from drover.domain.render.policy import Policy
from drover.domain.render.polling import Pace
from drover.domain.render.state import RenderQueue
from drover.eventlog.log import OpenLog
from drover.eventlog.snapshots import SnapshotSource
from drover.hosting.host import Host
from drover.hosting.service import Assembly, Service
from drover.nas.opening import open_nas
from drover.nas.settings import NasSettings
from drover.nas.source import digest_of
from drover.nas.store import NasStore
from drover.render.audit import Audit
from drover.render.health import WorkerProbe
from drover.render.local_disk import LocalDisk
from drover.render.nexrender.client import NexrenderClient
from drover.render.settings import RenderPolicySettings, RenderSettings
from drover.render.validation import validate_output
from drover.render.workers import Workers
from drover.render.workshop import Folders, Workshop
from drover.service.config import Configuration, Settings
from drover.service.lifecycle import Component, Phase
from drover.service.render_capacity import RenderCapacity
from drover.service.sealing import Ring
from drover.web.gfx_seal import GfxSeal
from drover.writer.nats_writer import nats_writer
from drover.writer.writer import Writer


class RenderSettingsMissing(DroverError):
    """Settings that workers need are missing."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        super().__init__(
            f"Render workers need {', '.join(names)}. Set {'it' if len(names) == 1 else 'them'}, or "
            "DROVER_RENDER_WORKERS=0 for a process without workers"
        )


def render_writer(
    client: Client,
    settings: RenderPolicySettings,
    *,
    instance: str,
    lease_token: str | None = None,
    open_log: OpenLog | None = None,
    archived: SnapshotSource | None = None,
) -> Writer[RenderQueue]:
    policy = Policy(
        lease_s=settings.render_lease_s,
        render_timeout_s=settings.render_timeout_s,
        retries=settings.render_retries,
        retry_base_s=settings.render_retry_base_s,
    )
    return nats_writer(
        client,
        render_decider(policy),
        instance=instance,
        lease_token=lease_token,
        open_log=open_log,
        archived=archived,
    )


def worker_ids(base: str | None, count: int) -> list[str]:
    """Make the ids of this process's workers. They stay the same after a restart, so a crashed worker resumes its
    render at once, without waiting until its lease expires."""
    base = base or socket.gethostname()
    return [base] if count == 1 else [f"{base}-{number}" for number in range(1, count + 1)]


def _gfx_seal(client: Client, settings: Settings) -> GfxSeal:
    ring = Ring.from_settings(settings.sealing_ring(RENDER.context))
    return GfxSeal(SubjectKeys(RENDER.context, ring, asking(client, RENDER.context)))


class RenderWorkers:
    """The workers of this process, with their connections."""

    def __init__(self, client: Client, configuration: Configuration) -> None:
        settings, nas = configuration[RenderSettings], configuration[NasSettings]
        general, capacity = configuration[Settings], configuration[RenderCapacity]
        needed = {
            "DROVER_RENDER_NEXRENDER_URL": capacity.render_nexrender_url,
            "DROVER_RENDER_NAS": nas.render_nas,
            "DROVER_RENDER_OUTPUT_DIR": settings.render_output_dir,
            "DROVER_RENDER_SEALING_KEYS": general.sealing_ring(RENDER.context),
            "DROVER_RENDER_WORKERS of at least 1": capacity.render_workers,
        }
        if missing := [name for name, value in needed.items() if not value]:
            raise RenderSettingsMissing(missing)
        self._client = client
        self._settings = settings
        self._nexrender = NexrenderClient(str(capacity.render_nexrender_url), secret=settings.render_nexrender_secret)
        self._telemetry = TelemetryOut(client, "render", general.instance)
        self.workers = Workers(
            CommandBus(client),
            self._workshop(open_nas(nas), _gfx_seal(client, general)),
            self._telemetry,
            worker_ids(settings.render_worker_id, capacity.render_workers),
            lambda: Pace(settings.render_poll_s, settings.render_poll_idle_s),
        )

    def _workshop(self, nas: NasStore, gfx_data: GfxSeal) -> Workshop:
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
            gfx_data=gfx_data,
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


def assemble(host: Host) -> Assembly:
    """Build the queue's writer, and workers if their number and nexrender's URL are set. Raises RenderSettingsMissing
    if workers lack another setting."""
    capacity = host[RenderCapacity]
    writer = render_writer(
        host.client,
        host[RenderPolicySettings],
        instance=host.settings.instance,
        lease_token=host.lease_token,
        open_log=host.open_log,
        archived=host.archived_snapshots,
    )
    audit = Audit(host.log(RENDER.context), writer)
    writing = Component("render writer", Phase.WRITER, writer.running(), failure=writer.wait_failed)
    auditing = Component("render log lines", Phase.REACTOR, audit.running(), failure=audit.wait_failed)
    has_workers = capacity.render_workers and capacity.render_nexrender_url
    workers = assemble_worker(host) if has_workers else Assembly()
    return Assembly(handlers=workers.handlers, components=[writing, auditing, *workers.components], writers=[writer])


def assemble_worker(host: Host) -> Assembly:
    """Build the workers without the queue's writer."""
    if host.has_reactors_off(RENDER.context):
        return Assembly()
    workers = RenderWorkers(host.client, host.configuration)
    return Assembly(
        handlers=[WorkerProbe(workers.workers)],
        components=[Component("render workers", Phase.REACTOR, workers.running())],
    )


_OF_WORKERS: Final = (RenderSettings, RenderCapacity, NasSettings)
_HANDLERS: Final = (WorkerProbe,)

SERVICE: Final = Service(
    name="render", assemble=assemble, handlers=_HANDLERS, settings=(RenderPolicySettings, *_OF_WORKERS)
)
WORKER: Final = Service(
    name="render-worker",
    assemble=assemble_worker,
    handlers=_HANDLERS,
    settings=_OF_WORKERS,
    is_outside=True,
    reacts_to=(RENDER.context,),
    is_part=True,
)
