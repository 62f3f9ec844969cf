"""`drover migrate`: updates the platform's own tables. Read models are not migrated but rebuilt."""

from __future__ import annotations

from pathlib import Path

import msgspec
from rich.text import Text

from drover.cli.exits import Exit
from drover.cli.output import console, print_json
from drover.cli.running import asynchronous
from drover.cli.target import find_target, postgres_of
from drover.postgres import migrate as migrations


class Migrated(msgspec.Struct):
    """What `migrate --json` prints."""

    applied: list[str]
    """The names of the migrations that were applied, in order; empty if the database had all of them."""
    known: int
    """How many migrations this version of Drover has."""


@asynchronous
async def migrate(as_json: bool, data_dir: Path | None) -> Exit:
    known = migrations.load_migrations()
    async with postgres_of(find_target(data_dir)) as connection:
        applied = [migration.file for migration in await migrations.migrate(connection, known)]
    if as_json:
        print_json(Migrated(applied, len(known)))
        return Exit.OK
    screen = console()
    for file in applied:
        screen.print(Text.assemble(("applied ", "green"), file))
    if not applied:
        screen.print(f"Nothing to do: the database has all migrations up to {known[-1].file}.")
    return Exit.OK
