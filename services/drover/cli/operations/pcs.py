"""`drover pcs`: lists and shows PCs, and sets how many phones of one may work at once."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import click
from rich.console import Group, RenderableType
from rich.text import Text

from drover.cli.errors import NotThere
from drover.cli.exits import Exit
from drover.cli.operations.client import Client, Row, client_of
from drover.cli.operations.formatting import UNTITLED, ago, heading, moment_of, now, number, pairs, section, table, when
from drover.cli.operations.listing import Listing, show_list
from drover.cli.operations.lookup import PC, find
from drover.cli.operations.watching import show as show_document
from drover.cli.output import print_json, printable
from drover.cli.running import asynchronous
from drover.cli.server_options import Server

PATH: Final = "/api/pcs"
STATUSES: Final = ("online", "busy", "offline", "error")


@asynchronous
async def list_(limit: int, watch: bool, as_json: bool, server: Server) -> Exit:
    async with client_of(server) as client:
        return await show_list(client, PCS, {}, limit=limit, watch=watch, as_json=as_json)


@asynchronous
async def show(pc: str, watch: bool, as_json: bool, server: Server) -> Exit:
    async with client_of(server) as client:
        found = await find(client, PC, pc)
        return await show_document(lambda: _read(client, found["id"]), _whole, as_json=as_json, watch=watch)


async def _read(client: Client, pc_id: str) -> Row:
    rows, _ = await client.listed(PATH, 1, id=pc_id)
    if not rows:
        raise NotThere(404, "NOT_FOUND", f"PC {pc_id} not found")
    return rows[0]


@asynchronous
async def capacity(pc: str, phones: int, as_json: bool, server: Server) -> Exit:
    async with client_of(server) as client:
        found = await find(client, PC, pc)
        changed = await client.change(PC.relation, "id", found["id"], {"capacity": phones})
    if as_json:
        print_json(changed)
    else:
        click.echo(f"Up to {phones} phones of {printable(found['id'])} may work at once.")
    return Exit.OK


def _table(rows: list[Row]) -> RenderableType:
    at = now()
    return table(
        ("id", "phones", *STATUSES, "slots in use", "held"),
        (
            (
                row["id"],
                number(row["devices"]),
                *(Text(number(row[name]), "red" if name == "error" and row[name] else "") for name in STATUSES),
                f"{len(row['in_use'])} of {row['slots']}",
                _held(row, at),
            )
            for row in rows
        ),
        numbers=("phones", *STATUSES, "slots in use"),
    )


PCS: Final = Listing(PATH, "PCs", _table, hint="Registering a phone adds its PC.")


def _held(pc: Row, at: datetime) -> Text | None:
    until = moment_of(pc["held_until"])
    return None if until is None or until <= at else Text(f"ends {ago(pc['held_until'], at)}", "yellow")


def _whole(pc: Row) -> RenderableType:
    at = now()
    parts: list[RenderableType] = [
        heading("PC", pc["id"], "held" if _held(pc, at) else ""),
        pairs(
            ("phones", ", ".join(f"{pc[name]:,} {name}" for name in STATUSES if pc[name]) or "none"),
            ("capacity", f"{pc['capacity']} phones at once"),
            ("registered", when(pc["created_at"], at)),
            *([("held until", when(pc["held_until"], at))] if _held(pc, at) else []),
        ),
    ]
    if pc["in_use"]:
        lines = (
            (
                slot["serial_number"],
                slot["work"]["job_title"] or UNTITLED,
                slot["work"]["phase"],
                f"{slot['work']['progress_pct']} %",
                ago(slot["work"]["started_at"] or slot["work"]["assigned_at"], at),
            )
            for slot in pc["in_use"]
        )
        parts.append(
            section(
                "Slots in use", table(("phone", "job*", "phase", "progress", "since"), lines, numbers=("progress",))
            )
        )
    return Group(*parts)
