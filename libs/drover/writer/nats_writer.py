"""Builds a writer for production: log, lease, snapshots and commands on one NATS connection."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeVar

import structlog
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js.errors import APIError
from uuid_utils import uuid4

from drover.bus.commits import announcing_commits
from drover.domain.contexts import context_named
from drover.domain.decider import Decider
from drover.eventlog.bucket import ensure_bucket
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import LogUnreachable, OpenLog, Partition
from drover.eventlog.snapshots import STREAM as SNAPSHOTS
from drover.eventlog.snapshots import JetStreamSnapshots, SnapshotSource
from drover.eventlog.streams import StreamRefused, ensure_stream, refuse_too_few
from drover.eventlog.subject_keys import ensure_key_stream
from drover.writer.bus_intake import bus_intake
from drover.writer.clock import Clock, SystemClock
from drover.writer.lease import Lease
from drover.writer.migration_marker import refuse_half_migrated
from drover.writer.nats_lease import BUCKET, LeaseTimes, NatsLease
from drover.writer.peers import Peers
from drover.writer.shared_lease import SharedLease
from drover.writer.snapshots import Snapshotter
from drover.writer.writer import Writer

S = TypeVar("S")
T = TypeVar("T")

PREPARE_S: Final = 30.0
"""How many seconds to wait for the servers of a starting cluster. They need some seconds to elect a leader and to learn
how many servers there are."""
RETRY_PAUSE_S: Final = 0.5
NOT_CLUSTERED: Final = 10074
"""The NATS error code when several replicas are requested from a single server."""

_UNDIVIDED: Final[Mapping[str, int]] = MappingProxyType({})

log = structlog.get_logger("drover.writer")


async def prepare(
    client: Client,
    contexts: tuple[str, ...],
    *,
    replicas: int = 1,
    partitions: Mapping[str, int] = _UNDIVIDED,
    purges: bool = False,
    log_max: int | None = None,
) -> dict[str, tuple[Partition, ...]]:
    """Create the streams and the bucket that writers need, and refuse existing ones with a wrong configuration. Returns
    the partitions of each context, by context.

    `partitions`: how many partitions a newly created stream gets. `log_max`: how many bytes it may have. `purges`:
    whether old commits will be purged from the streams.
    """

    async def create() -> dict[str, tuple[Partition, ...]]:
        try:
            return await _prepare(client, contexts, replicas, partitions, purges=purges, log_max=log_max)
        except APIError as error:
            if error.err_code == NOT_CLUSTERED:
                raise StreamRefused(replicas) from error
            raise

    return await patiently(create)


async def patiently(ask: Callable[[], Awaitable[T]]) -> T:
    """Call `ask`, and again while the servers refuse, because a starting cluster needs some seconds. Raises
    LogUnreachable after `PREPARE_S`."""
    loop = asyncio.get_running_loop()
    give_up_at = loop.time() + PREPARE_S
    while True:
        try:
            return await ask()
        except NatsError as error:
            if loop.time() > give_up_at:
                raise LogUnreachable(f"the servers would not list or create the streams: {error}") from error
            log.info("streams_not_ready", why=repr(error))
        await asyncio.sleep(RETRY_PAUSE_S)


async def _prepare(
    client: Client,
    contexts: tuple[str, ...],
    replicas: int,
    partitions: Mapping[str, int],
    *,
    purges: bool,
    log_max: int | None,
) -> dict[str, tuple[Partition, ...]]:
    await refuse_half_migrated(client, contexts)
    divided = {
        context: await ensure_stream(
            client,
            context,
            replicas=replicas,
            partitions=partitions.get(context, 1),
            purges=purges,
            max_bytes=log_max,
        )
        for context in contexts
    }
    for context in contexts:
        if context_named(context).has_subjects:
            await ensure_key_stream(client, context, replicas=replicas)
    await ensure_bucket(client, BUCKET, replicas=replicas)
    await JetStreamSnapshots(client).ensure(replicas=replicas)
    refuse_too_few((await client.jetstream().stream_info(SNAPSHOTS)).config, replicas)
    return divided


def nats_writer(
    client: Client,
    decider: Decider[S],
    *,
    instance: str,
    partition: str = "main",
    lease_times: LeaseTimes | None = None,
    lease_token: str | None = None,
    peers: Peers | None = None,
    clock: Clock | None = None,
    open_log: OpenLog | None = None,
    archived: SnapshotSource | None = None,
) -> Writer[S]:
    """Build the writer of one partition.

    - `lease_token`: identifies the holder of the lease. A process with the same token takes the lease over at once. Use
      it only if other holders are excluded in another way, as `drover up` does with its lock.
    - `peers`: the processes that share the partitions of this context.
    - `clock`: a clock other than the machine's, for simulations.
    - `open_log`: opens the log. By default, only commits in the stream are read, not those in the archive.
    - `archived`: where to look for a snapshot that this program can read, if NATS has none.
    """
    where = Partition(decider.context, partition)
    clock = clock or SystemClock()
    token = lease_token or str(uuid4())
    lease: Lease = NatsLease(client, where, instance=instance, token=token, clock=clock, times=lease_times)
    return Writer(
        decider,
        JetStreamLog(client, where) if open_log is None else open_log(where),
        lease if peers is None else SharedLease(lease, partition, peers),
        Snapshotter(decider, where, JetStreamSnapshots(client), clock=clock, archived=archived),
        instance=instance,
        clock=clock,
        serve=bus_intake(client),
        committed=announcing_commits(client, decider.context, partition),
    )
