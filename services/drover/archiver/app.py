"""Builds the archiver. Of all processes that run it, only the one with the lease archives."""

from __future__ import annotations

from typing import Final

import structlog
from uuid_utils import uuid4

from drover.archive.opening import open_store
from drover.archive.purging import ARCHIVER
from drover.archive.retention import parse_keep
from drover.archive.snapshots import ArchivedSnapshots
from drover.archiver.archiver import Archiver
from drover.archiver.context_archiver import ContextArchiver
from drover.archiver.keeper import ArchiveKeeper
from drover.archiver.newest_snapshots import StoredSnapshots
from drover.archiver.positions import ReaderPositions
from drover.archiver.settings import ArchiverSettings
from drover.domain.deciders import DECIDERS
from drover.eventlog.snapshots import JetStreamSnapshots
from drover.history.checkpoints import FoldCheckpoints
from drover.hosting.host import Host
from drover.hosting.service import Assembly, Service
from drover.service.lifecycle import Component, Phase
from drover.writer.clock import SystemClock
from drover.writer.nats_lease import NatsLease

NICENESS: Final = 10
"""By how much the priority of the archiver's own process is lowered: archiving can wait, commands cannot."""

log = structlog.get_logger("drover.archiver")


def assemble(host: Host) -> Assembly:
    if host.settings.archive is None:
        log.info("archiver_is_idle", setting="DROVER_ARCHIVE")
        return Assembly()
    settings, client = host[ArchiverSettings], host.client
    lease = NatsLease(
        client,
        ARCHIVER,
        instance=host.settings.instance,
        token=host.lease_token or str(uuid4()),
        clock=SystemClock(),
    )
    snapshots = StoredSnapshots(JetStreamSnapshots(client), DECIDERS)
    positions = ReaderPositions(client, host.pool, snapshots.version)
    store, keep = open_store(host.settings.archive), parse_keep(settings.log_keep)
    states = FoldCheckpoints(host.pool, ArchivedSnapshots(store))
    archiver = Archiver(
        [
            ContextArchiver(client, partitions, ArchiveKeeper(store, context), positions, snapshots, keep, states)
            for context, partitions in host.partitions.items()
        ],
        lease,
        every_s=settings.archive_every_s,
    )
    # In a process with other services, a full archive disk must not make those unready.
    alone = set(host.services) == {"archiver"}
    return Assembly(
        components=[Component("archiver", Phase.REACTOR, archiver.running(), failure=archiver.wait_failed)],
        ready={"archiver": archiver.why_not_ready} if alone else {},
    )


SERVICE: Final = Service(
    name="archiver", assemble=assemble, settings=(ArchiverSettings,), reads_postgres=True, niceness=NICENESS
)
