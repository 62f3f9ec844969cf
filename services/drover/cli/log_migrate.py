"""`drover log migrate`: recreates the streams of the log with today's configuration."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from nats.aio.client import Client
from nats.js.errors import NotFoundError
from rich.text import Text

from drover.archive.migrating import migrate
from drover.archive.opening import open_store
from drover.cli.archive_target import place_of
from drover.cli.bar import Tell, bar
from drover.cli.errors import NoSuchLog
from drover.cli.exits import Exit
from drover.cli.output import console, print_json
from drover.cli.running import asynchronous
from drover.domain.contexts import CONTEXTS
from drover.domain.deciders import DECIDERS
from drover.eventlog.streams import partitions_of
from drover.writer.migration_marker import read_marks
from drover.writer.snapshots import readable_versions


@asynchronous
async def migrate_command(
    address: str, contexts: tuple[str, ...], keep_since: datetime | None, as_json: bool, data_dir: Path | None
) -> Exit:
    store = open_store(address)
    async with place_of(data_dir, forget=False) as place:
        for context in contexts or await _contexts_of(place.client):
            with bar(f"archive {context}", quiet=as_json) as tell:
                stage: Callable[[str], Tell] = tell.stage
                try:
                    made = await migrate(
                        place.client,
                        store,
                        context,
                        keep_since=keep_since,
                        versions=readable_versions(DECIDERS[context]) if context in DECIDERS else (),
                        stage=stage,
                    )
                except NotFoundError:
                    raise NoSuchLog(context) from None
            if as_json:
                print_json(made)
            else:
                said = f"commits {made.first} to {made.last} are in the new stream"
                console().print(Text.assemble(f"{context:<10} ", (said, "green")))
    return Exit.OK


async def _contexts_of(client: Client) -> list[str]:
    """Return the contexts that have a log, or whose migration was interrupted. Raises NoSuchLog if there is none."""
    marked = await read_marks(client)
    found = []
    for context in CONTEXTS:
        with suppress(NotFoundError):
            if context not in marked:
                await partitions_of(client, context)
            found.append(context)
    if not found:
        raise NoSuchLog(CONTEXTS[0])
    return found
