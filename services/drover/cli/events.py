"""`drover events`: the log itself, followed or looked into. It asks NATS alone, so it works while Postgres is down."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import click
import msgspec
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js.errors import NotFoundError
from rich.text import Text

from drover.cli.errors import EventNotFound, NoSuchLog
from drover.cli.event_text import event_line, event_whole
from drover.cli.exits import Exit
from drover.cli.following import while_somebody_reads
from drover.cli.output import console, json_option, print_json, print_lines
from drover.cli.record import Record, last_of, records
from drover.cli.running import asynchronous
from drover.cli.seek import commit_from, commits_between, first_commit, last_records
from drover.cli.target import data_dir_option, find_target, nats_of
from drover.cli.wanted import Moment, Wanted
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import ALL, EventLog, LogUnreachable, Partition, StoredCommit
from drover.eventlog.streams import partitions_of

LAST_DEFAULT: Final = 20
LAST_MAX: Final = 100_000
"""They are held in memory until the oldest of them is found."""

Display = Callable[[Iterable[Record]], None]


class Name(click.ParamType[str]):
    """The name of a context or a partition, which becomes a part of a NATS subject."""

    name = "name"
    _form = re.compile(r"[a-z][a-z0-9_]{0,62}")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if self._form.fullmatch(str(value)) is None:
            self.fail(f"{value!r} is no name: small letters, digits and underscores, as in `fleet`.", param, ctx)
        return str(value)


class Reference(click.ParamType[int | tuple[int, int]]):
    """An ordinal, or (sequence, line) written `SEQ:LINE`."""

    name = "event"
    _form = re.compile(r"([1-9]\d{0,17})(?::(\d{1,9}))?")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | tuple[int, int]:
        if (match := self._form.fullmatch(str(value))) is None:
            self.fail(f"{value!r} is neither an ordinal (1042) nor a sequence and a line (512:0).", param, ctx)
        return int(match[1]) if match[2] is None else (int(match[1]), int(match[2]))


context_option = click.option("--context", type=Name(), default="fleet", show_default=True, help="Whose log.")
partition_option = click.option("--partition", type=Name(), help="Which part of it.  [default: all of it]")


@click.group()
def events() -> None:
    """Look into the log: every event, as it was stored."""


@events.command()
@context_option
@partition_option
@click.option("--from", "from_n", type=click.IntRange(1), metavar="N", help="Start at the event with ordinal N.")
@click.option("--since", type=Moment(), metavar="TIME", help="Start 30s, 10m, 2h, 7d ago, or at an ISO time.")
@click.option(
    "--last",
    type=click.IntRange(0, LAST_MAX),
    metavar="N",
    help=f"Start with the last N that match.  [default: {LAST_DEFAULT}]",
)
@click.option("--type", "types", multiple=True, metavar="T", help="Only this type; `Device*` works. Repeatable.")
@click.option("--entity", metavar="ID", help="Only events that name this device, PC, … id.")
@click.option("--by", metavar="ACTOR", help="Only what this actor did: anon, presence, user:…")
@click.option("--follow/--no-follow", default=True, show_default=True, help="Go on with what happens next.")
@json_option
@data_dir_option
@partial(asynchronous, on_interrupt=Exit.OK)
async def tail(
    context: str,
    partition: str | None,
    from_n: int | None,
    since: datetime | None,
    last: int | None,
    types: tuple[str, ...],
    entity: str | None,
    by: str | None,
    follow: bool,
    as_json: bool,
    data_dir: Path | None,
) -> Exit:
    """Show events that were (the last 20, unless told otherwise), then those to come, until Ctrl-C.

    With --json each line is an event exactly as it is stored.
    """
    if sum(given is not None for given in (from_n, since, last)) > 1:
        raise click.UsageError("--from, --since and --last each say where to start: give one of them.")
    wanted = Wanted(types=types, entity=entity, by=by, from_n=from_n or 0, since=since)
    async with _log_of(data_dir, context, partition, by_ordinal=from_n is not None) as log:
        count = LAST_DEFAULT if last is None else last
        await while_somebody_reads(show_tail(log, wanted, count, follow, _display(as_json)))
    return Exit.OK


async def show_tail(log: EventLog, wanted: Wanted, last: int, follow: bool, display: Display) -> None:
    """`last` counts only where `wanted` has no beginning of its own."""
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
    """Whether the beginning lies in this commit or before it. Ordinals and times never go backwards in a partition."""
    envelope = last_of(commit).envelope
    return envelope.n >= wanted.from_n and (wanted.since is None or envelope.at >= wanted.since)


def _display(as_json: bool) -> Display:
    if as_json:
        return lambda found: print_lines(record.raw for record in found)
    screen = console()

    def print_each(found: Iterable[Record]) -> None:
        for record in found:
            screen.print(event_line(record), soft_wrap=True)

    return print_each


class CommitPlace(msgspec.Struct):
    """Where an event stands."""

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


@events.command()
@click.argument("event", type=Reference(), metavar="N|SEQ:LINE")
@context_option
@partition_option
@json_option
@data_dir_option
@asynchronous
async def show(
    event: int | tuple[int, int], context: str, partition: str | None, as_json: bool, data_dir: Path | None
) -> Exit:
    """Show one event whole: its fields, its commit, and what else its command did.

    Name it by its ordinal N, or by the sequence of its commit and its line there, from 0.
    """
    async with _log_of(data_dir, context, partition, by_ordinal=isinstance(event, int)) as log:
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
            _display(as_json)(others)
    return Exit.OK


def _cause(record: Record) -> str:
    return record.envelope.cause


async def find_event(log: EventLog, reference: int | tuple[int, int]) -> tuple[StoredCommit, Record]:
    """By ordinal or by place. Raises EventNotFound."""
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


@asynccontextmanager
async def _log_of(
    data_dir: Path | None, context: str, partition: str | None, *, by_ordinal: bool
) -> AsyncIterator[EventLog]:
    async with nats_of(find_target(data_dir)) as client:
        divided = await _partitions_of(client, context)
        if partition is None and len(divided) > 1 and by_ordinal:
            names = ", ".join(one.name for one in divided)
            raise click.UsageError(
                f"Each part of {context} counts its own events: say which with --partition ({names})."
            )
        asked = Partition(context, partition or ALL) if partition or len(divided) > 1 else divided[0]
        yield JetStreamLog(client, asked)


async def _partitions_of(client: Client, context: str) -> tuple[Partition, ...]:
    """A stream that is missing is refused: a reader would wait for ever for somebody to make it."""
    try:
        return await partitions_of(client, context)
    except NotFoundError:
        raise NoSuchLog(context) from None
    except (NatsError, OSError) as error:
        raise LogUnreachable(repr(error)) from error
