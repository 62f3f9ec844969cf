"""`drover archive`: writes the log to compressed files with checksums, and restores it into an empty log."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import click
import msgspec
from nats.aio.client import Client
from rich.table import Table
from rich.text import Text

from drover.archive.archive import Archive, archived_contexts
from drover.archive.creating import Archived, create
from drover.archive.errors import FileDamaged
from drover.archive.index import Index
from drover.archive.opening import open_store
from drover.cli.archive_target import Whole, place_of
from drover.cli.audit import record_access
from drover.cli.bar import bar
from drover.cli.errors import NoSuchLog
from drover.cli.event_text import local
from drover.cli.exits import Exit
from drover.cli.logs import logs_of
from drover.cli.output import console, print_json, printable
from drover.cli.running import asynchronous
from drover.cli.target import find_target, nats_of
from drover.domain.contexts import CONTEXTS
from drover.domain.identity.audit import AccessKind


@asynchronous
async def create_command(
    address: str,
    contexts: tuple[str, ...],
    before: datetime | None,
    up_to: int | None,
    as_json: bool,
    data_dir: Path | None,
) -> Exit:
    if up_to is not None and len(contexts) != 1:
        raise click.UsageError("--up-to is a position in one context: name it with --context.")
    made: list[Archived] = []
    target = find_target(data_dir)
    async with nats_of(target) as client:
        named = contexts or await _contexts_of(client)
        await record_access(client, AccessKind.EXPORT, f"archive create {' '.join(named)}")
        for context in named:
            logs = await logs_of(client, context, target.archive)
            with bar(f"archive {context}", quiet=as_json) as tell:
                made.append(await create(open_store(address), logs, up_to=up_to, before=before, progress=tell))
            if as_json:
                print_json(made[-1])
    if not as_json:
        shown = _table("context", "new commits", "new events", "archived up to", "log", "segments")
        for one in made:
            row = (one.commits, one.events, one.last, one.log_last, one.segments)
            shown.add_row(one.context, *(f"{number:,}" for number in row))
        console().print(shown)
    return Exit.OK


@asynchronous
async def list_command(address: str, contexts: tuple[str, ...], each: bool, as_json: bool) -> Exit:
    archives = await _archives(address, contexts)
    if as_json:
        for one in archives:
            print_json(await _whole_index(one) if each else _summary(one))
        return Exit.OK
    if each:
        for one in archives:
            async for segment in one.segments():
                times = f"{_minute(segment.first_at)} to {_minute(segment.last_at)}"
                click.echo(f"{segment.file:<48} {segment.events:>9,} events  {segment.bytes:>11,} bytes  {times}")
        return Exit.OK
    shown = _table("context", "commits", "events", "from", "to", "bytes", "segments")
    for one in archives:
        s = _summary(one)
        first, last = _minute(s["first_at"]), _minute(s["last_at"])
        counts = (f"{s['commits']:,}", f"{s['events']:,}")
        shown.add_row(one.context, *counts, first, last, f"{s['bytes']:,}", f"{s['segments']:,}")
    console().print(shown)
    return Exit.OK


def _minute(at: datetime | None) -> str:
    return local(at)[: len("2026-01-31 08:00")] if at else "–"


async def _whole_index(one: Archive) -> Index:
    """Return the archive's index with the segments of all its volumes."""
    segments = [segment async for segment in one.segments()]
    return msgspec.structs.replace(one.index, segments=segments, volumes=[])


def _summary(one: Archive) -> dict[str, Any]:
    parts = one.index.parts
    return {
        "context": one.context,
        "last": one.index.last,
        "commits": one.index.commits,
        "events": one.index.events,
        "first_at": parts[0].first_at if parts else None,
        "last_at": parts[-1].last_at if parts else None,
        "bytes": one.index.bytes,
        "segments": one.index.count,
        "snapshots": len(one.index.snapshots),
        "bottom": one.first,
    }


@asynchronous
async def verify_command(address: str, contexts: tuple[str, ...], as_json: bool) -> Exit:
    damaged: list[FileDamaged] = []
    screen = console()
    for one in await _archives(address, contexts):
        with bar(f"verify {one.context}", quiet=as_json) as tell:
            found = await one.verify(tell)
        damaged += found
        if as_json:
            wrong = [{"file": str(damage.path), "reason": damage.reason} for damage in found]
            print_json({**_summary(one), "damaged": wrong})
        elif not found:
            said = f"whole: {one.index.commits:,} commits, {one.index.events:,} events"
            screen.print(Text.assemble(f"{one.context:<10} ", (said, "green")))
        for damage in [] if as_json else found:
            screen.print(Text(printable(str(damage)), "red"), soft_wrap=True)
    return Exit.FAILED if damaged else Exit.OK


@asynchronous
async def restore_command(
    address: str, contexts: tuple[str, ...], forget: bool, as_json: bool, data_dir: Path | None
) -> Exit:
    archives = await _archives(address, contexts)
    for one in archives:
        with bar(f"verify {one.context}", quiet=as_json) as tell:
            if damaged := await one.verify(tell):
                raise damaged[0]
    async with place_of(data_dir, forget=forget) as place:
        archives = [one for one in archives if one.last]
        wholes = [_whole(one) for one in archives]
        for whole in wholes:
            await place.look(whole, forget=forget)
        for one, whole in zip(archives, wholes, strict=True):
            with bar(f"restore {whole.context}", quiet=as_json, unit="commits") as tell:
                restored = await place.put(whole, tell, forget=forget)
            await place.put_snapshots(one)
            if as_json:
                print_json(restored)
            else:
                said = f"{restored.events:,} events restored, up to commit {restored.last}"
                console().print(Text.assemble(f"{whole.context:<10} ", (said, "green")))
    if not as_json:
        console().print("Reactors are off: run `drover reactors on` when you have checked the result.")
    return Exit.OK


def _whole(one: Archive) -> Whole:
    return Whole(one.context, one.index.partitions, one)


async def _archives(address: str, contexts: Sequence[str]) -> list[Archive]:
    store = open_store(address)
    return [await Archive.open(store, context) for context in contexts or await archived_contexts(store)]


async def _contexts_of(client: Client) -> list[str]:
    """Return the contexts that have a log. Raises NoSuchLog if none has one."""
    found = []
    for context in CONTEXTS:
        with suppress(NoSuchLog):
            await logs_of(client, context, None)
            found.append(context)
    if not found:
        raise NoSuchLog(CONTEXTS[0])
    return found


def _table(name: str, *numbers: str) -> Table:
    shown = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    shown.add_column(name, no_wrap=True)
    for number in numbers:
        shown.add_column(number, justify="right", no_wrap=True)
    return shown
