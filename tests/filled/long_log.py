"""A long history of the fleet in its stream, written in batches, with the snapshot that its writer would have."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime
from typing import Any, NamedTuple
from uuid import uuid4

import msgspec
from nats.aio.client import Client

from drover.domain.event import UNSTAMPED, Event
from drover.domain.fleet import FLEET
from drover.domain.fleet.events import JobArchived
from drover.eventlog.codec import Codec
from drover.eventlog.log import Partition, StoredCommit
from drover.eventlog.refill import Refill, Returning
from drover.eventlog.snapshots import JetStreamSnapshots, SnapshotStore
from drover.writer.fold import Fold, encode_image
from drover.writer.snapshots import SNAPSHOT_EVERY_EVENTS, snapshot_version
from tests.chunks import each
from tests.filled.log import DEVICES, DEVICES_PER_PC, history

COMMIT_EVENTS = 13
"""As on the simulated farm: about as many as an assignment has."""
POPULATION = DEVICES + DEVICES // DEVICES_PER_PC
"""How many events register the devices and their PCs."""
AFTER_SNAPSHOT = SNAPSHOT_EVERY_EVENTS - 1_000
"""How many events a start has to read after the snapshot: nearly as many as there ever are."""


class Place(NamedTuple):
    """A commit, and the number of its last event."""

    seq: int
    n: int
    commit: str


class LongLog(msgspec.Struct):
    """What was written."""

    last: Place
    bytes: int
    """Of the payloads, before compression."""
    snapshot: Fold[Any]
    """The state that was saved."""
    middle: datetime
    """The time of an event in the middle."""
    job_ended: Place
    """The end of the last job before the newest events."""

    async def save_state(self, store: SnapshotStore) -> None:
        fold = self.snapshot
        data = each(encode_image(fold))
        await store.save(Partition("fleet"), snapshot_version(FLEET), data, seq=fold.seq, commit=fold.commit)


async def fill_long_log(
    client: Client, events: int, *, newest: int, populated: Callable[[Place], Awaitable[None]]
) -> LongLog:
    """Fill the empty stream of the fleet, and save the state before its last events. Other streams stay empty.

    `newest`: how many events are the newest ones. `populated` is awaited when all devices are in the log, and no job.
    """
    refill, fold = Refill(client, "fleet"), Fold(FLEET)
    await refill.prepare()
    filled = LongLog(Place(0, 0, ""), 0, fold, UNSTAMPED, Place(0, 0, ""))
    batch: list[Returning] = []
    for returning, last in _commits(events):
        commit = returning.commit
        before, place = filled.last, Place(commit.seq, last.n, commit.id)
        if before.n < events // 2 <= last.n:
            filled.middle = commit.stored_at
        if isinstance(last, JobArchived) and last.n <= events - newest:
            filled.job_ended = place
        if last.n <= events - AFTER_SNAPSHOT:
            fold.apply(commit)
        filled.last, filled.bytes = place, filled.bytes + len(commit.payload)
        batch.append(returning)
        if len(batch) == refill.batch_commits or last.n == POPULATION:
            await refill.put(refill.pack(batch))
            batch = []
            if last.n == POPULATION:
                await populated(place)
    if batch:
        await refill.put(refill.pack(batch))
    await filled.save_state(JetStreamSnapshots(client))
    return filled


def _commits(events: int) -> Iterator[tuple[Returning, Event]]:
    """Each commit, and its last event."""
    codec = Codec.of(FLEET)
    for seq, made in enumerate(history(events, COMMIT_EVENTS, command_events=1, at_once=True), 1):
        commit = StoredCommit(seq, str(uuid4()), 1, made[-1].at, codec.encode(made))
        yield Returning("main", commit, seq - 1), made[-1]
