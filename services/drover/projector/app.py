"""Starts and stops all projections. Each one covers the partitions of its context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Final

from drover.bus.live import WANTED, announce, following_progress
from drover.bus.rows import NatsRows, PublishRows
from drover.bus.telemetry import TelemetryBatch, listening
from drover.domain.by_context import parts_in
from drover.domain.contexts import CONTEXTS
from drover.eventlog.figures import LogFigures
from drover.eventlog.log import ALL, OpenLog, Partition
from drover.hosting.host import Host
from drover.hosting.service import Assembly, Service
from drover.projection.errors import ProjectionStopped
from drover.projection.presence import PresenceTable, PresenceWriter
from drover.projection.presence_rows import PresenceRows
from drover.projection.projection import Projection
from drover.projection.runtime import Announce, Limits, Runner, announce_nothing
from drover.projector.figures import ReadModelFigures
from drover.projector.fleet.presence import FLEET_PRESENCE
from drover.projector.identity.key_uses import KEY_USES
from drover.projector.render.figures import RenderFigures
from drover.projector.render.workers import RENDER_WORKERS
from drover.projector.settings import NO_SCHEMA, ProjectorSettings
from drover.readmodel.form import schema_of
from drover.service.health import Check
from drover.service.lifecycle import Component, Phase
from drover.service.render_capacity import RenderCapacity

PROJECTIONS: Final[tuple[Projection, ...]] = parts_in("projector", "{}_PROJECTION")


class Projector:
    """Runs all projections. Start returns at once, without waiting for Postgres or for the projections' locks. Stop
    finishes the current batches.

    It needs the platform's own tables (`drover.postgres.migrate`), and retries until they exist.
    """

    def __init__(
        self,
        open_log: OpenLog,
        dsn: str,
        announce: Announce = announce_nothing,
        projections: Sequence[Projection] = PROJECTIONS,
        limits: Limits | None = None,
        partitions: Mapping[str, Sequence[Partition]] | None = None,
        publish: PublishRows | None = None,
        presence: Mapping[str, PresenceRows] | None = None,
        reader_schema: str | None = None,
    ) -> None:
        """`partitions`: the partitions of each context; a context that is not listed has one. `presence`: the changed
        presence of devices or workers that is published as rows, by context."""
        divided = partitions or {}
        seen = presence or {}
        self.runners = tuple(
            Runner(
                projection,
                open_log(partition),
                dsn,
                announce,
                limits,
                publish,
                seen.get(projection.context),
                reader_schema=reader_schema,
            )
            for projection in projections
            for partition in divided.get(projection.context, (Partition(projection.context),))
        )

    async def __aenter__(self) -> Projector:
        async with AsyncExitStack() as stack:
            for runner in self.runners:
                await stack.enter_async_context(runner)
            self._started = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._started.aclose()

    def hurry(self, context: str, partition: str, seq: int) -> None:
        """Let the projections hurry to this position, because a read waits for it. `partition`: may be `ALL`."""
        for runner in self.runners:
            if runner.partition.context == context and partition in (runner.partition.name, ALL):
                runner.hurry(seq)

    @property
    def stopped(self) -> list[ProjectionStopped]:
        """Return the projections that have stopped until a person acts. The others continue."""
        return [runner.stopped for runner in self.runners if runner.stopped is not None]


def assemble(host: Host) -> Assembly:
    client, pool = host.client, host.pool
    tables, schema = (FLEET_PRESENCE, RENDER_WORKERS, KEY_USES), host[ProjectorSettings].reader_schema
    presence = {table.context: PresenceRows(table.relation) for table in tables if table.relation is not None}

    async def announce_form(context: str, partition: str, seq: int) -> None:
        await announce(client, schema_of(context), partition, seq)

    projector = Projector(
        host.open_log,
        host.settings.postgres_url,
        announce_form,
        partitions=host.partitions,
        publish=NatsRows(client, schema_of),
        presence=presence,
        reader_schema=None if schema == NO_SCHEMA else schema,
    )
    host.forms  # noqa: B018 - not ready until they have caught up
    licences = host[RenderCapacity].licences
    components = [
        Component("projector", Phase.PROJECTOR, projector),
        Component("wanted", Phase.PROJECTOR, following_progress(client, projector.hurry, topic=WANTED)),
        Component("render figures", Phase.PROJECTOR, RenderFigures(pool, licences)),
        Component("figures", Phase.PROJECTOR, ReadModelFigures(pool)),
        Component("log figures", Phase.PROJECTOR, LogFigures(client, CONTEXTS)),
    ]
    for table in tables:
        components += _presence(host, table, presence.get(table.context))
    # In a process that also serves agents, a stopped read model must not make the process unready.
    ready: dict[str, Check] = {}
    if "gateway" not in host.services:
        ready["projector"] = lambda: "A projection has stopped." if projector.stopped else None
    return Assembly(components=components, ready=ready)


def _presence(host: Host, table: PresenceTable, rows: PresenceRows | None) -> list[Component]:
    """Make the components that write heartbeats of devices or workers into a table, which views join with the rows."""
    presence = PresenceWriter(host.pool, table, on_written=None if rows is None else rows.seen)

    def note(batch: TelemetryBatch) -> None:
        presence.note(batch.beats)

    name = f"presence of {table.context}"
    return [
        Component(name, Phase.PROJECTOR, presence, failure=presence.wait_failed),
        Component(f"{name}, telemetry", Phase.REACTOR, listening(host.client, table.context, note)),
    ]


SERVICE: Final = Service(
    name="projector", assemble=assemble, settings=(ProjectorSettings, RenderCapacity), reads_postgres=True
)
