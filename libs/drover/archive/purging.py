"""Decides which commits may be purged from a stream, and purges them. A commit may go only if the archive has it and
nobody needs it in the stream."""

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
"""How many sequences one request removes at most. The server stores no commits meanwhile; purging 90,000 messages took
0.14 s."""
STEP_PAUSE_S: Final = 0.1
"""The pause between two requests, in seconds. In it the server can store commits."""

ARCHIVER: Final = Partition("archiver")
"""The name of the lease that the purging process holds. It is no stream, because the archiver writes no events."""
# The reasons for which a commit stays in the stream. The archiver logs them as `held_by`.
LAST: Final = "the last commit"
ARCHIVE: Final = "the archive"
SNAPSHOT: Final = "the snapshot"
KEEP: Final = "DROVER_LOG_KEEP"


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """What decides how much of a partition may be purged. All positions are sequences of commits; 0 means that there is
    none."""

    last: int
    """The last commit of the partition."""
    archived: int
    """The partition's newest commit in the archive. Before commits are purged, they are read back from the archive."""
    snapshot: int
    """The last commit that is part of the partition's newest archived snapshot. Only snapshots of the version that this
    release's writers use count."""
    positions: Mapping[str, int]
    """By name of the reader, the last commit of the partition that it has handled."""
    unwanted: int
    """The first commit that DROVER_LOG_KEEP keeps."""


class Limit(msgspec.Struct, frozen=True):
    """Commits with sequences below `below` may be purged. `reason` says why the commit at `below` must stay."""

    below: int
    reason: str


def purge_limit(standing: Standing) -> Limit:
    """Decide which commits of a partition may be purged. These commits stay, and all after the first of them:

    - the last one, because writers append after it
    - the newest archived one, because it shows that archive and stream belong together
    - those at snapshots and at the positions of readers, because their id shows that the snapshot or the table belongs
      to this log
    - those that DROVER_LOG_KEEP keeps
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
    """Remove the commits of a partition below a position; return how many were removed. `archived`: the newest archived
    commit of the partition.

    To be safe, this checks again what the caller has computed: it raises PurgeRefused if the purge would remove the
    partition's last commit or its newest archived one.
    """
    log = JetStreamLog(client, partition)
    last = await log.last()
    if last is None or below > last.seq:
        raise PurgeRefused(partition, below, f"its last commit is {last.seq if last else 'missing'}")
    if below > archived:
        raise PurgeRefused(partition, below, f"its newest archived commit is {archived}")
    purged = 0
    # Begin each step at a commit, because the commits of an idle partition are far from each other.
    while (first := await log.next_after(0)) is not None and first.seq < below:
        purged += await purge_unguarded(client, partition, min(below, first.seq + STEP))
        await asyncio.sleep(STEP_PAUSE_S)
    return purged


async def purge_unguarded(client: Client, partition: Partition, below: int) -> int:
    """Remove the commits of a partition below a position, without checks. Only for `purge`, and for the test that shows
    why the checks are needed."""
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
