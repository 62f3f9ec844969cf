"""The target of a restore: the servers that the environment names, or embedded ones, started only for the restore."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import click
import msgspec
from nats.aio.client import Client
from nats.js.errors import NotFoundError

from drover.archive.archive import Archive
from drover.archive.errors import LogNotEmpty, OtherBeginning, OtherPartitions, ReadModelAhead
from drover.archive.read_models import forget_read_models, read_model_position
from drover.archive.restoring import Restored, Source, already_there, restore
from drover.archive.snapshots import put_snapshots_back
from drover.bus.connection import connected
from drover.cli.bar import Bar
from drover.cli.errors import PostgresUnreachable
from drover.cli.options import DATA_DIR_DEFAULT
from drover.cli.target import NAME, Target, find_target, names_servers, nats_of, postgres_of
from drover.embedded.directory import DataDirectory
from drover.embedded.nats import nats_server
from drover.embedded.postgres import postgres_server
from drover.eventlog.reactor_switch import switch_reactors
from drover.eventlog.refill import Refill
from drover.eventlog.snapshots import JetStreamSnapshots
from drover.eventlog.streams import ensure_stream, last_seq, partitions_of
from drover.platform.settings import load
from drover.postgres.pool import Connection, connect
from drover.service import config


class Whole(msgspec.Struct, frozen=True):
    """The log of a context, which is to be restored."""

    context: str
    partitions: list[str]
    source: Source


class Place:
    """The servers to restore into: NATS, and Postgres if there is one."""

    def __init__(self, client: Client, postgres: Connection | None, replicas: int = 1) -> None:
        self.client = client
        self._postgres = postgres
        self._replicas = replicas

    async def look(self, whole: Whole, *, forget: bool) -> None:
        """Raise an error if the restore cannot succeed. Called before anything is written."""
        with suppress(NotFoundError):
            await partitions_of(self.client, whole.context)
            await already_there(Refill(self.client, whole.context), whole.source)
        if self._postgres is not None and not forget:
            position = await read_model_position(self._postgres, whole.context)
            if position > whole.source.last:
                raise ReadModelAhead(whole.context, position, whole.source.last)

    async def put(self, whole: Whole, bar: Bar, *, forget: bool) -> Restored:
        """Create the stream and write the log into it, with reactors off: no reminder, render or alert starts until
        somebody switches them on."""
        context = whole.context
        wanted = len(whole.partitions)
        first = whole.source.first
        made = await ensure_stream(self.client, context, replicas=self._replicas, partitions=wanted, first_seq=first)
        refill = Refill(self.client, context)
        if [one.name for one in made] != whole.partitions:
            last = await refill.last()
            if last is not None:
                raise LogNotEmpty(context, last.seq, "it has other partitions")
            raise OtherPartitions(context, [one.name for one in made], whole.partitions)
        if await refill.last() is None:
            if (end := await last_seq(self.client, context)) != first - 1:
                raise OtherBeginning(context, end + 1, first)
            await switch_reactors(self.client, context, on=False)
            await JetStreamSnapshots(self.client).forget(context)
        restored = await restore(refill, whole.source, progress=bar, checking=bar.stage(f"check {context}"))
        if self._postgres is not None and forget:
            await forget_read_models(self._postgres, context)
        return restored

    async def put_snapshots(self, archive: Archive) -> None:
        """Store the newest archived snapshots, from which writers start."""
        snapshots = JetStreamSnapshots(self.client)
        await snapshots.ensure(replicas=self._replicas)
        await put_snapshots_back(archive, snapshots)


@asynccontextmanager
async def place_of(data_dir: Path | None, *, forget: bool) -> AsyncIterator[Place]:
    """Connect to the servers that the environment names. If it names none, or if `data_dir` is given, start
    those of the data directory.

    `forget`: read models will be dropped, so a database is required.
    """
    async with AsyncExitStack() as stack:
        if data_dir is None and names_servers(os.environ):
            target = find_target(None)
            client = await stack.enter_async_context(nats_of(target))
            replicas = load(os.environ, without=config.REQUIRED)[config.Settings].nats_replicas
            yield Place(client, await _postgres(stack, target, must=forget), replicas)
            return
        directory = stack.enter_context(DataDirectory(data_dir or DATA_DIR_DEFAULT)).path
        server = await stack.enter_async_context(nats_server(directory))
        postgres: Connection | None = None
        if (directory / "postgres" / "data").exists():
            database = await stack.enter_async_context(postgres_server(directory))
            postgres = await stack.enter_async_context(connect(database.dsn, NAME))
        yield Place(await stack.enter_async_context(connected(server.url, NAME)), postgres)


async def _postgres(stack: AsyncExitStack, target: Target, *, must: bool) -> Connection | None:
    """Connect to the database. Without `must`, returns None if there is none: the log can be restored without it."""
    try:
        return await stack.enter_async_context(postgres_of(target))
    except (PostgresUnreachable, config.ConfigurationError) as error:
        if must:
            raise
        click.echo(f"{error} So it is not known whether its tables are ahead of the restored log.", err=True)
        return None
