"""`drover projection detach`, `attach` and `detached`: the oldest rows of events and attempts leave the read models,
and come back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Final

from rich.table import Table

from drover.cli.exits import Exit
from drover.cli.output import console, print_json
from drover.cli.running import asynchronous
from drover.cli.target import NAME, find_target
from drover.postgres.pool import Connection, connect
from drover.projection.detaching import (
    SCHEMA,
    Detached,
    attach_again,
    detach_before,
    detached,
    forget_detached,
)
from drover.projection.projection import Projection
from drover.projection.rebuild import Rebuild
from drover.projector.app import PROJECTIONS

SETTINGS: Final = {"statement_timeout": "0"}


@asynchronous
async def detach(context: str, before: int | datetime, as_json: bool, data_dir: Path | None) -> Exit:
    async with _unbuilt(context, data_dir) as (projection, connection):
        found = await detach_before(connection, projection, before)
    if not found and not as_json:
        console().print("No partition is that old. Nothing was detached.")
    _print(found, "detached", as_json)
    return Exit.OK if found else Exit.NOT_FOUND


@asynchronous
async def attach(context: str, fold_again: bool, as_json: bool, data_dir: Path | None) -> Exit:
    async with _unbuilt(context, data_dir) as (projection, connection):
        forgotten = await forget_detached(connection, projection) if fold_again else []
        found = await attach_again(connection, projection)
    _print(found, "attached", as_json)
    if forgotten and not as_json:
        console().print(f"Run `drover projection rebuild {context}` now: it makes the dropped rows again from the log.")
    return Exit.OK if found or forgotten else Exit.NOT_FOUND


@asynchronous
async def list_detached(as_json: bool, data_dir: Path | None) -> Exit:
    async with connect(find_target(data_dir).postgres_url, NAME, SETTINGS) as connection:
        _print(await detached(connection), "detached", as_json)
    return Exit.OK


@asynccontextmanager
async def _unbuilt(context: str, data_dir: Path | None) -> AsyncIterator[tuple[Projection, Connection]]:
    """Open a connection, and keep others from rebuilding this read model meanwhile. Drops what an interrupted rebuild
    has built, because that may have rows of other ranges."""
    (projection,) = (one for one in PROJECTIONS if one.context == context)
    dsn = find_target(data_dir).postgres_url
    async with Rebuild(projection, (), dsn) as rebuild, connect(dsn, NAME, SETTINGS, command_s=None) as connection:
        await rebuild.drop()
        yield projection, connection


def _print(found: Sequence[Detached], what: str, as_json: bool) -> None:
    if as_json:
        for one in found:
            print_json(one)
        return
    if not found:
        return
    shown = Table("context", "table", "commits", "until", f"in {SCHEMA}", title=what, title_justify="left")
    for one in found:
        until = "" if one.until is None else one.until.isoformat(timespec="seconds")
        there = one.name if one.is_there or what == "attached" else f"{one.name} (dropped)"
        shown.add_row(one.context, one.table, f"{one.first} to {one.after - 1}", until, there)
    console().print(shown)
