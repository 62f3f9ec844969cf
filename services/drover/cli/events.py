"""`drover events tail` and `drover events show`: read the log directly, so they work while Postgres is down.

The other commands of the group are in `events_grep`, `events_export` and `events_import`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial
from pathlib import Path

import click
import msgspec
from rich.text import Text

from drover.cli.errors import EventNotFound
from drover.cli.event_text import event_line, event_whole
from drover.cli.events_options import LAST_DEFAULT
from drover.cli.events_source import opened, refuse_many
from drover.cli.exits import Exit
from drover.cli.following import while_somebody_reads
from drover.cli.output import console, print_json, print_lines
from drover.cli.record import Record, last_of, records
from drover.cli.running import asynchronous
from drover.cli.seek import commit_from, commits_between, first_commit, last_records
from drover.cli.wanted import Wanted
from drover.eventlog.log import EventLog, StoredCommit

Display = Callable[[Iterable[Record]], None]


@partial(asynchronous, on_interrupt=Exit.OK)
async def tail(
    context: str,
    partition: str | None,
    from_n: int | None,
    last: int | None,
    wanted: Wanted,
    follow: bool,
    archive_address: str | None,
    as_json: bool,
    data_dir: Path | None,
) -> Exit:
    if sum(given is not None for given in (from_n, wanted.since, last)) > 1:
        raise click.UsageError("--from, --since and --last each set the start: give only one of them.")
    wanted = msgspec.structs.replace(wanted, from_n=from_n or 0)
    follow = follow and archive_address is None and wanted.until is None
    async with opened(data_dir, archive_address, context, partition) as source:
        if from_n is not None:
            refuse_many(source)
        count = LAST_DEFAULT if last is None else last
        await while_somebody_reads(show_tail(source.asked, wanted, count, follow, display_as(as_json)))
    return Exit.OK


async def show_tail(log: EventLog, wanted: Wanted, last: int, follow: bool, display: Display) -> None:
    """Print the last events, and new ones if `follow` is set. `last`: how many to print if `wanted` does not say where
    to start."""
    newest = await log.last()
    end = newest.seq if newest else 0
    begin = end
    if wanted.from_n or wanted.since:
        first = await first_commit(log, partial(_reaches, wanted))
        begin = first.seq - 1 if first else end
    else:
        display(await last_records(log, end, last, wanted))
    if not follow:
        async for commit in commits_between(log, begin, end):
            display(filter(wanted, records(commit)))
        return
    async with log.read(begin) as reader:
        while True:
            batch = await reader.next()
            display(record for commit in batch for record in records(commit) if wanted(record))


def _reaches(wanted: Wanted, commit: StoredCommit) -> bool:
    """Whether the start that `wanted` gives is in this commit or before it. Ordinals and times never decrease in a
    partition."""
    envelope = last_of(commit).envelope
    return envelope.n >= wanted.from_n and (wanted.since is None or envelope.at >= wanted.since)


def display_as(as_json: bool) -> Display:
    if as_json:
        return lambda found: print_lines(record.raw for record in found)
    screen = console()

    def print_each(found: Iterable[Record]) -> None:
        for record in found:
            screen.print(event_line(record), soft_wrap=True)

    return print_each


class CommitPlace(msgspec.Struct):
    """The position of an event in the log, and the commit that contains it."""

    sequence: int
    line: int
    events: int
    id: str
    epoch: int
    stored_at: datetime


class EventDetail(msgspec.Struct):
    """What `events show --json` prints."""

    context: str
    partition: str
    event: msgspec.Raw
    commit: CommitPlace
    same_command: list[msgspec.Raw]


@asynchronous
async def show(
    event: int | tuple[int, int],
    context: str,
    partition: str | None,
    archive_address: str | None,
    as_json: bool,
    data_dir: Path | None,
) -> Exit:
    async with opened(data_dir, archive_address, context, partition) as source:
        if isinstance(event, int):
            refuse_many(source)
        log = source.asked
        commit, record = await find_event(log, event)
    together = records(commit)
    others = [o for o in together if o.line != record.line and o.envelope.cause and _cause(o) == _cause(record)]
    if as_json:
        place = CommitPlace(commit.seq, record.line, len(together), commit.id, commit.epoch, commit.stored_at)
        raw = msgspec.Raw(record.raw)
        print_json(EventDetail(context, log.partition.name, raw, place, [msgspec.Raw(other.raw) for other in others]))
    else:
        screen = console()
        screen.print(event_whole(record, commit, len(together)))
        if others:
            screen.print(Text("\nOther events of the same command", "bold"))
            display_as(as_json)(others)
    return Exit.OK


def _cause(record: Record) -> str:
    return record.envelope.cause


async def find_event(log: EventLog, reference: int | tuple[int, int]) -> tuple[StoredCommit, Record]:
    """Find an event by its ordinal or its position. Raises EventNotFound."""
    newest = await log.last()
    commit: StoredCommit | None = None
    if isinstance(reference, int):
        commit = await first_commit(log, lambda probe: last_of(probe).envelope.n >= reference)
    elif newest is not None and reference[0] <= newest.seq:
        commit = await commit_from(log, reference[0])
    for record in records(commit) if commit else ():
        if reference in (record.envelope.n, (record.seq, record.line)):
            assert commit is not None
            return commit, record
    written = str(reference) if isinstance(reference, int) else f"{reference[0]}:{reference[1]}"
    raise EventNotFound(written, last_of(newest).envelope.n if newest else 0)
