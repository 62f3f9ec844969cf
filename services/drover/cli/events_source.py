"""The source of events for a command: the log of a running platform, or an archive. Both are read in the same way."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final

import click
import msgspec

from drover.archive.archive import Archive
from drover.archive.log import ArchiveLog
from drover.archive.opening import open_store
from drover.archive.reading import ends_of, placed_commits
from drover.archive.text import Placed
from drover.archive.whole_log import open_log
from drover.cli.logs import logs_of
from drover.cli.record import Record, last_of, records
from drover.cli.seek import first_commit
from drover.cli.target import find_target, nats_of
from drover.cli.wanted import Wanted
from drover.eventlog.log import ALL, EventLog, OpenLog, Partition, StoredCommit

SLACK: Final = timedelta(minutes=1)
"""How far times may be out of order in a stream with several partitions. Searches by time read this much more."""


class Source(msgspec.Struct, frozen=True):
    """The logs of one context."""

    context: str
    asked: EventLog
    """The log that the command reads: that of one partition, or of all partitions together."""
    logs: list[EventLog]
    """The logs of the requested partitions, one for each."""
    partitions: list[str]
    """All partitions of the context."""

    @property
    def whole(self) -> bool:
        return len(self.logs) == len(self.partitions)


@asynccontextmanager
async def opened(
    data_dir: Path | None, archive_address: str | None, context: str, partition: str | None
) -> AsyncIterator[Source]:
    if archive_address is not None:
        archive = await Archive.open(open_store(archive_address), context)
        names = archive.index.partitions
        yield _source(context, names, partition, lambda where: ArchiveLog(archive, where))
        return
    target = find_target(data_dir)
    async with nats_of(target) as client:
        names = [log.partition.name for log in await logs_of(client, context, target.archive)]
        yield _source(context, names, partition, lambda where: open_log(client, where, target.archive))


def _source(context: str, names: list[str], partition: str | None, log_of: OpenLog) -> Source:
    asked = partition or (names[0] if len(names) == 1 else ALL)
    chosen = names if partition is None else [partition]
    return Source(
        context,
        log_of(Partition(context, asked)),
        [log_of(Partition(context, name)) for name in chosen],
        names,
    )


def refuse_many(source: Source) -> None:
    """Raise an error if several partitions are read: each counts its own events, so an ordinal would be ambiguous."""
    if len(source.logs) > 1:
        names = ", ".join(source.partitions)
        raise click.UsageError(
            f"Each partition of {source.context} counts its own events: name one with --partition ({names})."
        )


async def found_in(source: Source, wanted: Wanted) -> AsyncGenerator[Placed, None]:
    """Read commits that may contain wanted events, in order, up to the end of the log at the time of the call.

    Use it with `aclosing`: otherwise a caller that stops early leaves connections open.
    """
    ends = await ends_of(source.logs)
    after = 0
    if wanted.since is not None:
        first = await first_commit(source.asked, partial(_reaches, wanted))
        after = first.seq - 1 if first else max(ends.values())
    async with aclosing(placed_commits(source.logs, ends, after)) as commits:
        async for placed in commits:
            together = records(placed.commit) if wanted.until is not None else []
            if together and wanted.until is not None and together[0].envelope.at > wanted.until + SLACK:
                return
            yield placed


async def matching_in(
    source: Source, wanted: Wanted, limit: int | None
) -> AsyncGenerator[tuple[Placed, list[Record]], None]:
    """Read commits with their wanted events, at most `limit` events in all. Use it with `aclosing`."""
    found = 0
    async with aclosing(found_in(source, wanted)) as commits:
        async for placed in commits:
            matching = list(filter(wanted, records(placed.commit)))
            matching = matching[: None if limit is None else limit - found]
            found += len(matching)
            if matching:
                yield placed, matching
            if found == limit:
                return


def _reaches(wanted: Wanted, commit: StoredCommit) -> bool:
    assert wanted.since is not None
    return last_of(commit).envelope.at >= wanted.since - SLACK
