"""A writer as production runs it: log, lease, snapshots and commands all on one NATS connection."""

from __future__ import annotations

from typing import TypeVar

from nats.aio.client import Client
from uuid_utils import uuid4

from drover.domain.decider import Decider
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Partition
from drover.eventlog.snapshots import JetStreamSnapshots
from drover.eventlog.streams import ensure_stream
from drover.writer.clock import SystemClock
from drover.writer.door import commands_over
from drover.writer.nats_lease import LeaseTimes, NatsLease, ensure_bucket
from drover.writer.snapshots import Snapshotter
from drover.writer.writer import Writer

S = TypeVar("S")


async def prepare(client: Client, contexts: tuple[str, ...], *, replicas: int = 1) -> None:
    """Make the streams and the bucket that writers need, or refuse those that are not as they must be."""
    for context in contexts:
        await ensure_stream(client, context, replicas=replicas)
    await ensure_bucket(client, replicas=replicas)
    await JetStreamSnapshots(client).ensure(replicas=replicas)


def nats_writer(
    client: Client,
    decider: Decider[S],
    *,
    instance: str,
    partition: str = "main",
    lease_times: LeaseTimes | None = None,
    lease_token: str | None = None,
) -> Writer[S]:
    """`lease_token`: for whoever excludes any other holder by other means, as `drover up` does with its lock."""
    where = Partition(decider.context, partition)
    clock = SystemClock()
    return Writer(
        decider,
        JetStreamLog(client, where),
        NatsLease(client, where, instance=instance, token=lease_token or str(uuid4()), clock=clock, times=lease_times),
        Snapshotter(decider, where, JetStreamSnapshots(client)),
        instance=instance,
        clock=clock,
        serve=commands_over(client),
    )
