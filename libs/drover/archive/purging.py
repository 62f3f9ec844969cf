"""Which commits may leave a stream, and their removal. A commit leaves only if the archive has it and nobody needs it
in the stream."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import Final

import msgspec
from nats.aio.client import Client

from drover.domain.errors import DroverError
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Partition, StoredCommit

PURGE_S: Final = 60.0
"""The time-out of one request."""
STEP: Final = 50_000
"""How many sequences one request removes. The server takes no commits meanwhile: 0.14 s for 90,000 messages."""
STEP_PAUSE_S: Final = 0.1
"""The pause between two requests, in which the server takes commits."""

ARCHIVER: Final = Partition("archiver")
"""The name of the lease of the process that purges. No stream has this name, because the archiver writes no events."""
# What may keep a commit in the stream. The archiver logs it as `held_by`.
LAST: Final = "the last commit"
ARCHIVE: Final = "the archive"
SNAPSHOT: Final = "the snapshot"
KEEP: Final = "DROVER_LOG_KEEP"


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one partition. All positions are sequences of commits; 0 means that there is none."""

    last: int
    """The last commit of the partition."""
    archived: int
    """Its newest commit in the archive. What leaves the stream is read back from the archive first."""
    snapshot: int
    """The last commit in its newest archived snapshot of the version that the writers of this release use."""
    positions: Mapping[str, int]
    """By name of the reader, the last commit of the partition that it has handled."""
    unwanted: int
    """The first commit that DROVER_LOG_KEEP keeps."""


class Limit(msgspec.Struct, frozen=True):
    """Commits with sequences below `below` may leave the stream. `reason` says what keeps the next one."""

    below: int
    reason: str


def purge_limit(standing: Standing) -> Limit:
    """Decide which commits of a partition may leave its stream.

    The commit at each position stays: the last one, because writers append after it; the newest archived one, because
    it shows that archive and stream belong together; those at snapshots and positions, because their id shows that the
    snapshot or the table belongs to this log.
    """
    limits = {
        LAST: standing.last,
        ARCHIVE: standing.archived,
        SNAPSHOT: standing.snapshot,
        **standing.positions,
        KEEP: standing.unwanted,
    }
    reason = min(limits, key=lambda name: limits[name])
    return Limit(limits[reason], reason)


class PurgeRefused(DroverError):
    """A purge would have removed a commit that must stay."""

    def __init__(self, partition: Partition, below: int, reason: str) -> None:
        super().__init__(f"Commits of {partition} below {below} must not leave the stream: {reason}.")
        self.partition = partition
        self.below = below


async def purge(client: Client, partition: Partition, *, below: int, archived: int) -> int:
    """Remove the commits of a partition below a position; return how many. `archived`: the newest archived commit of
    the partition.

    Raises PurgeRefused if that would remove the partition's last commit or its newest archived one, whatever the caller
    has computed.
    """
    log = JetStreamLog(client, partition)
    last = await log.last()
    if last is None or below > last.seq:
        raise PurgeRefused(partition, below, f"its last commit is {last.seq if last else 'missing'}")
    if below > archived:
        raise PurgeRefused(partition, below, f"its newest archived commit is {archived}")
    purged = 0
    # Begin each step at a commit: those of a partition that was idle are far from each other.
    while (first := await log.next_after(0)) is not None and first.seq < below:
        purged += await purge_unguarded(client, partition, min(below, first.seq + STEP))
        await asyncio.sleep(STEP_PAUSE_S)
    return purged


async def purge_unguarded(client: Client, partition: Partition, below: int) -> int:
    """Remove the commits of a partition below a position. Only for `purge`, and for the test that shows why it has
    guards."""
    question = msgspec.json.encode({"filter": partition.subject, "seq": below})
    reply = await client.request(f"$JS.API.STREAM.PURGE.{partition.stream}", question, timeout=PURGE_S)
    answer = msgspec.json.decode(reply.data, type=_Purged)
    if answer.error is not None:
        raise PurgeRefused(partition, below, answer.error.description)
    return answer.purged


class _Error(msgspec.Struct):
    description: str = ""


class _Purged(msgspec.Struct):
    purged: int = 0
    error: _Error | None = None


async def first_since(log: JetStreamLog, moment: datetime, last: StoredCommit) -> int:
    """Return the first commit in the stream that was stored at or after a moment; if there is none, the last one."""
    low, high = 0, last.seq - 1
    while low < high:
        middle = (low + high) // 2
        probe = await log.next_after(middle) or last
        if probe.stored_at >= moment:
            high = middle
        else:
            low = min(probe.seq, high)
    return (await log.next_after(low) or last).seq
