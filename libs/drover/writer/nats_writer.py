"""A writer as production runs it: log, lease, snapshots and commands all on one NATS connection."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeVar

from nats.aio.client import Client
from uuid_utils import uuid4

from drover.domain.decider import Decider
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Partition
from drover.eventlog.snapshots import JetStreamSnapshots
from drover.eventlog.streams import ensure_stream
from drover.writer.clock import SystemClock
from drover.writer.door import commands_over
from drover.writer.lease import Lease
from drover.writer.nats_lease import LeaseTimes, NatsLease, ensure_bucket
from drover.writer.peers import Peers
from drover.writer.shared_lease import SharedLease
from drover.writer.snapshots import Snapshotter
from drover.writer.writer import Writer

S = TypeVar("S")

_UNDIVIDED: Final[Mapping[str, int]] = MappingProxyType({})


async def prepare(
    client: Client, contexts: tuple[str, ...], *, replicas: int = 1, partitions: Mapping[str, int] = _UNDIVIDED
) -> dict[str, tuple[Partition, ...]]:
    """Make the streams and the bucket that writers need, or refuse those that are not as they must be.

    `partitions`: in how many a context is divided whose stream is made now. Returns how they are divided.
    """
    divided = {
        context: await ensure_stream(client, context, replicas=replicas, partitions=partitions.get(context, 1))
        for context in contexts
    }
    await ensure_bucket(client, replicas=replicas)
    await JetStreamSnapshots(client).ensure(replicas=replicas)
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
) -> Writer[S]:
    """`lease_token`: for whoever excludes any other holder by other means, as `drover up` does with its lock.

    `peers`: those with whom the partitions of this context are shared out.
    """
    where = Partition(decider.context, partition)
    clock = SystemClock()
    token = lease_token or str(uuid4())
    lease: Lease = NatsLease(client, where, instance=instance, token=token, clock=clock, times=lease_times)
    return Writer(
        decider,
        JetStreamLog(client, where),
        lease if peers is None else SharedLease(lease, partition, peers),
        Snapshotter(decider, where, JetStreamSnapshots(client)),
        instance=instance,
        clock=clock,
        serve=commands_over(client),
    )
