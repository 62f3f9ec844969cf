"""Publishes the rows that a committed batch has changed. Decides what is published and when; the bus sends it.

A stream and its epoch last for one term of a runner. Whatever ends a term (a crash between commit and publication, a
fail-over, a rebuild's swap) begins a new epoch, and readers read the relations again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Final

import msgspec
import structlog
from uuid_utils import uuid4

from drover.bus.rows import PublishRows, RowsChanged, RowsHeartbeat
from drover.projection import metrics
from drover.projection.batch import Changes
from drover.projection.presence_rows import TURN_S, PresenceRows
from drover.readmodel.live import LiveRelation
from drover.readmodel.table import Key

ROWS_PER_BATCH_MAX: Final = 5_000
"""How many changed rows of a batch are published, over all relations. After a larger batch, readers must read the
relations again. A job that starts on 500 phones at once changes some 3,500 rows."""
MESSAGE_BYTES_MAX: Final = 512 * 1024
"""The maximum size of the rows in one message. Beyond it, readers must read the relation again. NATS accepts 1 MiB."""
PUBLISH_TIMEOUT_S: Final = 1.0
"""The time limit for all queries and messages after one batch: the projection does not wait longer for its readers."""
PRESENCE_TURNS_MAX: Final = 5
"""Presence rows are published in turns. After a time without batches, turns are late; at most this many of them are
published at once."""
HEARTBEAT_S: Final = 1.0
"""Interval of heartbeats while batches are written. During a catch-up, readers are asked to read again at most this
often."""

Select = Callable[[Mapping[LiveRelation, list[Key]]], Awaitable[Mapping[LiveRelation, list[str]]]]
"""Selects rows of relations as JSON, in any order, by the keys of their tables."""

log = structlog.get_logger("drover.projection")


class ChangedKeys(msgspec.Struct, frozen=True):
    keys: list[Key]
    """Keys of the rows to select again."""
    gone: list[Key]
    new: list[Key] = []
    """The part of `keys` whose rows did not exist before."""

    def __len__(self) -> int:
        return len(self.keys) + len(self.gone)


def changed_keys(live: LiveRelation, changes: Changes) -> ChangedKeys:
    """Return which rows of a relation a batch has changed, as keys of the relation's table."""
    name = live.table.name
    is_keyed = name in changes.upserts
    keys = dict.fromkeys(map(live.table.record_key_of, changes.upserts[name] if is_keyed else changes.appends[name]))
    new = changes.created.get(name, []) if is_keyed else [*keys]
    for part in live.parts:
        keys.update(dict.fromkeys(map(live.part_key_of(part), changes.appends[part])))
    return ChangedKeys([*keys], changes.deletes.get(name, []), new)


def is_changed(live: LiveRelation, changes: Changes) -> bool:
    """Whether a batch has changed rows of the relation."""
    kinds = (changes.upserts, changes.appends, changes.deletes)
    return any(kind.get(table) for table in live.tables for kind in kinds)


class RowStream:
    """Publishes the changed rows of one projection. Never raises: if a message is lost, readers notice the gap and read
    again."""

    def __init__(
        self,
        context: str,
        partition: str,
        relations: tuple[LiveRelation, ...],
        *,
        publish: PublishRows,
        select: Select,
        at: int,
        presence: PresenceRows | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`at`: the partition's position. `presence`: rows that change without events. `now`: returns the date and time
        that messages carry."""
        self.epoch: Final = uuid4().hex[:16]
        self._context = context
        self._partition = partition
        self._relations = relations
        self._publish = publish
        self._select = select
        self._clock = clock
        self._now = now
        self._seq = at
        self._last = {live.name: at for live in relations}
        self._presence = presence
        self._presence_at = clock() - TURN_S
        self._is_behind = False
        self._to_reset: set[str] = set()
        """Relations whose readers must be asked to read again. Until that was sent, nothing else is published about
        them."""
        self._beat_at = float("-inf")
        self._rows = metrics.ROWS_PUBLISHED.labels(context)
        self._resets = metrics.ROW_RESETS.labels(context)
        self._failures = metrics.ROW_FAILURES.labels(context)

    async def beat(self) -> None:
        """Send pending resets first, then the position, so that a reader who gets the position has been told of every
        change up to it."""
        self._beat_at = self._clock()
        await self._bounded(self._beat)
        await self._tell_presence()

    async def written(self, changes: Changes, to: int, behind: int) -> None:
        """Publish the changes of the batch just committed. `to`: its position. `behind`: the lag in commits."""
        self._seq = to
        self._is_behind = behind > 0
        changed = [live for live in self._relations if is_changed(live, changes)]
        if behind:
            self._to_reset.update(live.name for live in changed)
        elif changed:
            await self._tell(changed, changes, to)
        if self._clock() - self._beat_at >= HEARTBEAT_S:
            await self.beat()
        else:
            await self._tell_presence()

    async def _tell(self, changed: list[LiveRelation], changes: Changes, to: int) -> None:
        found = {live: changed_keys(live, changes) for live in changed if live.name not in self._to_reset}
        if sum(map(len, found.values())) > ROWS_PER_BATCH_MAX:
            self._to_reset.update(live.name for live in found)
            return
        # The positions move before sending: if sending fails, the next message reveals the gap.
        after = {live: self._last[live.name] for live in found}
        at = self._now()
        self._last.update((live.name, to) for live in found)

        async def tell_all() -> None:
            rows = await self._select({live: changed.keys for live, changed in found.items()})
            left = len(found)
            for live, keys in found.items():
                left -= 1
                await self._changed(live, after[live], to, at, keys, rows[live], more=left > 0)

        await self._bounded(tell_all)

    async def _changed(
        self,
        live: LiveRelation,
        after: int,
        to: int,
        at: datetime,
        changed: ChangedKeys,
        rows: list[str],
        *,
        more: bool,
    ) -> None:
        raw = [msgspec.Raw(row.encode()) for row in rows]
        if len(raw) != len(changed.keys) or sum(map(len, raw)) > MESSAGE_BYTES_MAX:
            await self._reset(live.name, after, to)
            return
        message = RowsChanged(
            epoch=self.epoch,
            partition=self._partition,
            after=after,
            to=to,
            rows=raw,
            new=[live.told_key(key) for key in changed.new],
            gone=[live.told_key(key) for key in changed.gone],
            at=at,
            more=more,
        )
        await self._publish.changed(self._context, live.name, message)
        self._rows.inc(len(changed))

    async def _beat(self) -> None:
        resets, self._to_reset = self._to_reset, set()
        after = {name: self._last[name] for name in resets}
        self._last.update(dict.fromkeys(resets, self._seq))
        for name in resets:
            await self._reset(name, after[name], self._seq)
        message = RowsHeartbeat(epoch=self.epoch, partition=self._partition, seq=self._seq, last=dict(self._last))
        await self._publish.heartbeat(self._context, message)

    async def _tell_presence(self) -> None:
        """Publish the presence rows that are due. Only a few at a time, because the next batch waits for it."""
        if self._presence is None or self._is_behind:
            return
        due = int((self._clock() - self._presence_at) / TURN_S)
        if due > PRESENCE_TURNS_MAX:
            due, self._presence_at = PRESENCE_TURNS_MAX, self._clock()
        else:
            self._presence_at += due * TURN_S
        for _ in range(due):
            if keys := self._presence.take():
                await self._bounded(partial(self._presence_changed, self._presence.relation, keys))

    async def _presence_changed(self, relation: str, keys: list[Key]) -> None:
        """Publish rows at the relation's last position. No event changed them, so `from` equals `to`, and losing the
        message leaves no gap."""
        (live,) = (live for live in self._relations if live.name == relation)
        rows = (await self._select({live: keys}))[live]
        position = self._last[live.name]
        message = RowsChanged(
            epoch=self.epoch,
            partition=self._partition,
            after=position,
            to=position,
            rows=[msgspec.Raw(row.encode()) for row in rows],
            at=self._now(),
        )
        if rows:
            await self._publish.changed(self._context, live.name, message)
            self._rows.inc(len(rows))

    async def _reset(self, name: str, after: int, to: int) -> None:
        message = RowsChanged(epoch=self.epoch, partition=self._partition, after=after, to=to, reset=True)
        await self._publish.changed(self._context, name, message)
        self._resets.inc()

    async def _bounded(self, tell: Callable[[], Awaitable[None]]) -> None:
        try:
            async with asyncio.timeout(PUBLISH_TIMEOUT_S):
                await tell()
        except Exception as error:
            self._failures.inc()
            log.warning("rows_not_published", context=self._context, partition=self._partition, why=repr(error))
