"""Builds the scheduler: the writer of the fleet, and the watch for silent devices."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from nats.aio.client import Client

from drover.domain.fleet import FLEET
from drover.domain.fleet.state import Fleet
from drover.eventlog.log import OpenLog
from drover.eventlog.snapshots import SnapshotSource
from drover.hosting.host import Host
from drover.hosting.service import Assembly, Service
from drover.scheduler.watch import PresenceWatch
from drover.service.lifecycle import Component, Phase
from drover.writer.nats_writer import nats_writer
from drover.writer.writer import Writer


class Scheduler:
    """The part of the service that runs in each process. One process leads; the others can take over at once."""

    def __init__(
        self,
        client: Client,
        *,
        instance: str,
        lease_token: str | None = None,
        open_log: OpenLog | None = None,
        archived: SnapshotSource | None = None,
    ) -> None:
        self._client = client
        self.writer: Writer[Fleet] = nats_writer(
            client, FLEET, instance=instance, lease_token=lease_token, open_log=open_log, archived=archived
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Scheduler]:
        """Run the writer and the watch. On exit, stop the watch first, because a stopping writer accepts no
        commands."""
        async with self.writer.running(), PresenceWatch(self.writer).running(self._client):
            yield self


def assemble(host: Host) -> Assembly:
    scheduler = Scheduler(
        host.client,
        instance=host.settings.instance,
        lease_token=host.lease_token,
        open_log=host.open_log,
        archived=host.archived_snapshots,
    )
    writer = scheduler.writer
    return Assembly(
        components=[Component("scheduler", Phase.WRITER, scheduler.running(), failure=writer.wait_failed)],
        writers=[writer],
    )


SERVICE: Final = Service(name="scheduler", assemble=assemble)
