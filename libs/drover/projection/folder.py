"""Turns a decoded batch into changes of rows: loads the rows that the batch needs, and applies its events. Writes
nothing."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from datetime import datetime
from typing import Any

import msgspec

from drover.eventlog.log import Partition
from drover.projection.batch import BatchTables, Changes
from drover.projection.checkpoint import Checkpoint
from drover.projection.errors import ProjectionStopped
from drover.projection.feed import Batch, Feed
from drover.projection.projection import Projection
from drover.projection.spans import traces_of
from drover.projection.store import Store
from drover.readmodel.table import Key, KeyedTable
from drover.service import tracing


class Folded(msgspec.Struct, frozen=True):
    """The changes of one batch, which are written in one transaction."""

    old: Checkpoint
    new: Checkpoint
    changes: Changes
    behind: int
    """How many more commits the log had after this batch when the batch was collected."""
    since: datetime | None = None
    """The time of the batch's first event."""
    traces: dict[str, int] = {}
    """By trace of a request that has events in this batch: the position of its last commit in the batch. Empty unless
    spans are recorded."""


class Folder:
    """Turns one batch after another into changes. Each batch starts from the rows as the batch before it left them,
    whether these are written yet or not."""

    def __init__(
        self, projection: Projection, partition: Partition, feed: Feed, store: Store, tables: BatchTables
    ) -> None:
        self._projection = projection
        self._partition = partition
        self._feed = feed
        self._store = store
        self._tables = tables

    async def next(self) -> Folded:
        batch = await self._feed.batch()
        await self._store.load(self._tables, self._touched(batch))
        await self._fold(batch)
        since = next((event.at for commit in batch.commits for event in commit.events), None)
        traces = traces_of(batch) if tracing.recorder is not None else {}
        return Folded(batch.old, batch.new, self._tables.take(), batch.behind, since, traces)

    def _touched(self, batch: Batch) -> dict[KeyedTable[Any], set[Key]]:
        reads = self._projection.reads
        touched: dict[KeyedTable[Any], set[Key]] = defaultdict(set)
        for commit in batch.commits:
            line, event = 0, None
            try:
                for line, event in enumerate(commit.events):  # noqa: B007 - for the error message
                    for table, key_of in reads[type(event)]:
                        touched[table].add(key_of(event))
            except Exception as error:
                raise self._stopped(commit.seq, line, event, error) from error
        return touched

    async def _fold(self, batch: Batch) -> None:
        fold, tables = self._projection.fold, self._tables
        for commit in batch.commits:
            seq, lines, line, event = commit.seq, commit.lines, 0, None
            try:
                for line, event in enumerate(commit.events):
                    fold(tables, event, lines[line], (seq, line))
            except Exception as error:
                raise self._stopped(seq, line, event, error) from error
            await asyncio.sleep(0)  # the event loop is shared with edges that must respond

    def _stopped(self, seq: int, line: int, event: Any, error: Exception) -> ProjectionStopped:
        where = {"seq": seq, "line": line, "type": type(event).__name__}
        return ProjectionStopped(self._partition.context, self._partition.name, "fold", **where, what=repr(error))
