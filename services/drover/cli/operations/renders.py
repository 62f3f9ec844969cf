"""`drover renders`: lists and shows renders, requests them, cancels, releases and retries them."""

from __future__ import annotations

import re
import sys
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import click
import msgspec
from rich.console import Group, RenderableType
from rich.text import Text

from drover.cli.confirmation import check_answerable, confirm
from drover.cli.exits import Exit
from drover.cli.operations.client import Client, Row, client_of
from drover.cli.operations.formatting import ago, heading, now, pairs, section, span, status, table, when
from drover.cli.operations.listing import Listing, show_list
from drover.cli.operations.lookup import RENDER, find
from drover.cli.operations.several import Act, created, each_found, each_of, find_all, these
from drover.cli.operations.statuses import RENDERS_OPEN, expanded
from drover.cli.operations.watching import show as show_document
from drover.cli.running import asynchronous
from drover.cli.server_options import Server

PATH: Final = "/api/renders"
CHANGES_SHOWN: Final = 10
GFX_BYTES_MAX: Final = 1024 * 1024
"""The platform takes no larger body."""
_SLOT: Final = re.compile(r"Slot (\d{1,6}) - (.+)")
_PARTS: Final = {"Single": "single_fields", "Flag": "flags"}
"""Where fields stand in gfx_data, by the beginning of their names in the mapping: `Slot 1 - name`, `Single - title`,
`Flag - live`. Other names are single fields."""


@asynchronous
async def list_(
    statuses: tuple[str, ...],
    composition: str | None,
    day: datetime | None,
    limit: int,
    watch: bool,
    as_json: bool,
    server: Server,
) -> Exit:
    async with client_of(server) as client:
        query = {
            "status": expanded(statuses, RENDERS_OPEN),
            "composition_id": composition,
            "broadcast_date": day and day.date().isoformat(),
        }
        return await show_list(client, RENDERS, query, limit=limit, watch=watch, as_json=as_json)


@asynchronous
async def show(render: int, watch: bool, as_json: bool, server: Server) -> Exit:
    async with client_of(server) as client:
        found = await find(client, RENDER, str(render))
        path = f"{PATH}/{found['id']}"
        return await show_document(lambda: client.get(path), _whole, as_json=as_json, watch=watch)


@asynchronous
async def workers(limit: int, watch: bool, as_json: bool, server: Server) -> Exit:
    async with client_of(server) as client:

        async def read() -> list[Row]:
            found: list[Row] = (await client.get("/api/render-workers"))["items"][:limit]
            return found

        return await show_document(read, _workers, as_json=as_json, watch=watch)


@asynchronous
async def request(
    composition: str,
    data: str | None,
    fields: tuple[str, ...],
    cue: str | None,
    day: datetime | None,
    as_json: bool,
    server: Server,
) -> Exit:
    wanted = {
        "composition_id": composition,
        "gfx_data": gfx_data(data, fields),
        "cue_item_id": cue,
        "broadcast_date": day and day.date().isoformat(),
    }
    async with client_of(server) as client:
        row = {name: value for name, value in wanted.items() if value is not None}
        made = await client.create(RENDER.relation, row)
    return created(made, f"Requested “{made['composition_name']}”.", as_json=as_json)


def gfx_data(data: str | None, fields: tuple[str, ...]) -> Row:
    """Make what is to be drawn: a JSON object, to which fields are added by their names in the mapping."""
    made = {} if data is None else _object(_text(data))
    try:
        return _with_fields(made, fields) if fields else made
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise click.UsageError("--data has slots or fields of another form. Leave out --field.") from error


def _with_fields(made: Row, fields: tuple[str, ...]) -> Row:
    slots = {slot["slot_number"]: dict(slot.get("fields") or {}) for slot in made.get("slots") or ()}
    others = {part: dict(made.get(part) or {}) for part in _PARTS.values()}
    for field in fields:
        name, equals, value = field.partition("=")
        if not equals or not name:
            raise click.UsageError(f"--field {field!r} has no value. Write it as name=value.")
        if (slot := _SLOT.fullmatch(name)) is not None:
            slots.setdefault(int(slot[1]), {})[slot[2]] = value
        else:
            kind, _, rest = name.partition(" - ")
            part = _PARTS.get(kind) if rest else None
            others[part or "single_fields"][rest if part else name] = value
    numbered = [{"slot_number": number, "fields": known} for number, known in sorted(slots.items())]
    return made | ({"slots": numbered} if numbered else {}) | {part: known for part, known in others.items() if known}


def _text(data: str) -> str:
    if not data.startswith("@"):
        return data
    try:
        if data == "@-":
            return sys.stdin.read(GFX_BYTES_MAX)
        with Path(data[1:]).open(encoding="utf-8") as file:
            return file.read(GFX_BYTES_MAX)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise click.UsageError(f"{data[1:]} of --data cannot be read ({reason}).") from error


def _object(text: str) -> Row:
    try:
        made = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise click.UsageError(f"--data is not JSON: {error}.") from error
    if not isinstance(made, dict):
        raise click.UsageError("--data is not a JSON object. Write it as {…}, or as @FILE.")
    return made


@asynchronous
async def cancel(renders: tuple[int, ...], yes: bool, as_json: bool, server: Server) -> Exit:
    check_answerable(yes=yes)
    async with client_of(server) as client:
        found = await find_all(client, RENDER, _texts(renders))
        confirm(f"Cancel {these(RENDER, found)}? Work in progress is lost.", yes=yes)
        return await each_of(found, _changer(client, "cancelled", "Cancelled"), as_json=as_json)


@asynchronous
async def release(renders: tuple[int, ...], yes: bool, as_json: bool, server: Server) -> Exit:
    check_answerable(yes=yes)
    async with client_of(server) as client:
        found = await find_all(client, RENDER, _texts(renders))
        confirm(f"Take {these(RENDER, found)} from its worker? It begins again from the start.", yes=yes)
        return await each_of(found, _changer(client, "pending", "Released"), as_json=as_json)


@asynchronous
async def retry(renders: tuple[int, ...], as_json: bool, server: Server) -> Exit:
    async with client_of(server) as client:
        act = _changer(client, "pending", "Queued again")
        return await each_found(client, RENDER, _texts(renders), act, as_json=as_json)


def _texts(renders: tuple[int, ...]) -> list[str]:
    return [str(render) for render in renders]


def _changer(client: Client, to: str, done: str) -> Act[Row]:
    async def one(found: Row) -> tuple[str, Any]:
        changed = await client.change(RENDER.relation, "id", found["id"], {"status": to})
        return f"{done}: {RENDER.called(found)}.", changed

    return one


def _table(rows: list[Row]) -> RenderableType:
    at = now()
    return table(
        ("id", "status", "composition*", "progress", "worker", "requested", "error"),
        (
            (
                str(row["id"]),
                status(row["status"]),
                row["composition_name"],
                f"{row['progress']} %",
                row["worker_id"],
                ago(row["created_at"], at),
                row["error_code"],
            )
            for row in rows
        ),
        numbers=("id", "progress"),
    )


RENDERS: Final = Listing(PATH, "renders", _table, hint="`drover renders request COMPOSITION` makes one.")


def _workers(rows: list[Row]) -> RenderableType:
    if not rows:
        return Text("No render workers yet.", "dim")
    at = now()
    return table(
        ("worker", "status", "seen", "render", "render status"),
        (
            (
                row["worker_id"],
                status(row["status"]),
                ago(row["last_seen_at"], at),
                None if row["render_id"] is None else str(row["render_id"]),
                status(row["render_status"]),
            )
            for row in rows
        ),
    )


def _whole(document: Row) -> RenderableType:
    render, at = document["render"], now()
    known: list[tuple[str, str | Text | None]] = [
        ("composition", f"{render['composition_name']} ({render['composition_id']})"),
        ("cue", None if render["cue_item_id"] is None else str(render["cue_item_id"])),
        ("for", render["broadcast_date"]),
        ("requested", when(render["created_at"], at)),
        ("progress", f"{render['progress']} %"),
        ("worker", render["worker_id"]),
    ]
    if render["error_code"]:
        message = render["error_message"]
        known.append(("error", Text(f"{render['error_code']}{': ' if message else ''}{message or ''}", "red")))
    if render["retry_due_at"]:
        known.append(("next try", when(render["retry_due_at"], at)))
    if render["unmapped_fields"]:
        known.append(("not mapped", ", ".join(map(str, render["unmapped_fields"]))))
    if render["completed_at"]:
        known.append(("ended", when(render["completed_at"], at)))
    if render["output_file_path"]:
        known.append(("file", render["output_file_path"]))
    parts: list[RenderableType] = [heading("render", str(render["id"]), render["status"]), pairs(*known)]
    if stages := document["stages"]:
        lines = (
            (stage["stage"], span(stage["seconds"]), f"{span(stage['seconds_min'])} to {span(stage['seconds_max'])}")
            for stage in stages
        )
        parts.append(section("Stages", table(("stage", "took", "usual"), lines)))
    if changes := document["audit"][:CHANGES_SHOWN]:
        parts.append(section("Last changes", _changes(changes, at)))
    return Group(*parts)


def _changes(rows: list[Row], at: datetime) -> RenderableType:
    return table(
        ("when", "from", "to", "by", "reason*"),
        (
            (
                ago(row["changed_at"], at),
                row["status_from"],
                status(row["status_to"]),
                row["changed_by"],
                row["reason"],
            )
            for row in rows
        ),
    )
