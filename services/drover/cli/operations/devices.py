"""`drover devices`: lists and shows phones, resets, registers and moves them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import click
from rich.console import Group, RenderableType
from rich.text import Text

from drover.cli.exits import Exit
from drover.cli.operations.client import Row, client_of
from drover.cli.operations.formatting import (
    UNTITLED,
    ago,
    heading,
    moment_of,
    now,
    number,
    pairs,
    section,
    span,
    status,
    table,
    when,
)
from drover.cli.operations.listing import Listing, show_list
from drover.cli.operations.lookup import DEVICE, find
from drover.cli.operations.several import each, each_found
from drover.cli.operations.watching import show as show_document
from drover.cli.output import printable
from drover.cli.running import asynchronous
from drover.cli.server_options import Server

PATH: Final = "/api/devices"
ATTEMPTS_SHOWN: Final = 10
HIDDEN_REPORTS: Final = ("id", "serial_number", "status", "last_seen_at")
"""Fields of a phone's own report that the device shows already."""


@asynchronous
async def list_(
    statuses: tuple[str, ...],
    pc: str | None,
    group: str | None,
    serial: str | None,
    limit: int,
    watch: bool,
    as_json: bool,
    server: Server,
) -> Exit:
    async with client_of(server) as client:
        query = {"status": statuses, "pc_id": pc, "group_id": group, "serial": serial and serial.upper()}
        return await show_list(client, DEVICES, query, limit=limit, watch=watch, as_json=as_json)


@asynchronous
async def show(device: str, watch: bool, as_json: bool, server: Server) -> Exit:
    async with client_of(server) as client:
        found = await find(client, DEVICE, device)
        path = f"{PATH}/{found['id']}"
        return await show_document(lambda: client.get(path), _whole, as_json=as_json, watch=watch)


@asynchronous
async def reset(devices: tuple[str, ...], as_json: bool, server: Server) -> Exit:
    return await _change(devices, {"error": None}, "Reset", as_json, server)


@asynchronous
async def move(devices: tuple[str, ...], pc: str | None, group: str | None, as_json: bool, server: Server) -> Exit:
    change = {name: value for name, value in (("pc_id", pc), ("group_id", group)) if value is not None}
    if not change:
        raise click.UsageError("Say where to: name the new --pc, the new --group, or both.")
    where = " and ".join(f"{name.removesuffix('_id')} {value}" for name, value in change.items())
    return await _change(devices, change, "Moved", as_json, server, f" to {where}")


async def _change(
    devices: tuple[str, ...], change: Row, done: str, as_json: bool, server: Server, where: str = ""
) -> Exit:
    async with client_of(server) as client:

        async def one(found: Row) -> tuple[str, Any]:
            changed = await client.change(DEVICE.relation, "id", found["id"], change)
            return f"{done} {found['serial_number']}{where}.", changed

        return await each_found(client, DEVICE, devices, one, as_json=as_json)


@asynchronous
async def register(
    serials: tuple[str, ...], pc: str, group: str, capabilities: tuple[str, ...], as_json: bool, server: Server
) -> Exit:
    async with client_of(server) as client:

        async def one(serial: str) -> tuple[str, Any]:
            row = {"serial_number": serial, "pc_id": pc, "group_id": group, "capabilities": list(capabilities)}
            made = await client.create(DEVICE.relation, row)
            return f"Registered {made['serial_number']} on PC {pc} ({made['id']}).", made

        return await each(serials, one, as_json=as_json)


def _table(rows: list[Row]) -> RenderableType:
    at = now()
    return table(
        ("serial", "status", "pc", "group", "seen", "work*"),
        (
            (
                row["serial_number"],
                status(row["status"]),
                row["pc_id"],
                row["group_id"],
                ago(row["last_seen_at"], at),
                _occupation(row, at),
            )
            for row in rows
        ),
    )


DEVICES: Final = Listing(PATH, "devices", _table, hint="`drover devices register` adds one.")


def _occupation(device: Row, at: datetime) -> Text | None:
    """Say what a phone does, or why it does nothing."""
    if device["error_code"]:
        return Text(f"{device['error_code']}, {_error_end(device, at)}", "red")
    if work := device["work"]:
        progress = f" {work['progress_pct']} %" if work["phase"] == "running" else f" {work['phase']}"
        return Text(printable(work["job_title"] or UNTITLED) + progress)
    if (held := moment_of(device["held_until"])) is not None and held > at:
        return Text(f"held, ends {ago(device['held_until'], at)}", "yellow")
    return None


def _error_end(device: Row, at: datetime) -> str:
    """Say until when a phone is in error."""
    if device["error_until"]:
        return f"ends {ago(device['error_until'], at)}"
    return {"screen_locked": "until it is unlocked", "battery_low": "until it is charged"}.get(
        device["error_condition"] or "", "until it is reset"
    )


def _whole(document: Row) -> RenderableType:
    device, at = document["device"], now()
    known: list[tuple[str, str | Text | None]] = [
        ("id", device["id"]),
        ("pc", device["pc_id"]),
        ("group", device["group_id"]),
        ("capabilities", ", ".join(device["capabilities"]) or "none"),
        ("registered", when(device["created_at"], at)),
        ("last seen", when(device["last_seen_at"], at)),
    ]
    if device["error_code"]:
        known.append(("error", Text(f"{device['error_code']}, {_error_end(device, at)}", "red")))
    if work := device["work"]:
        known.append(("works on", f"{work['job_title'] or UNTITLED} ({work['job_id']})"))
        known.append(("", f"{work['phase']}, {work['progress_pct']} %, attempt {work['attempt']}"))
    reported = document["reported"] if isinstance(document["reported"], dict) else {}
    known += [(name.replace("_", " "), str(value)) for name, value in reported.items() if name not in HIDDEN_REPORTS]
    parts: list[RenderableType] = [heading("device", device["serial_number"], device["status"]), pairs(*known)]
    if attempts := document["attempts"][-ATTEMPTS_SHOWN:]:
        parts.append(section("Last attempts", _attempts(attempts[::-1], at)))
    return Group(*parts)


def _attempts(rows: list[Row], at: datetime) -> RenderableType:
    return table(
        ("job*", "attempt", "began", "took", "outcome", "error"),
        (
            (
                row["job_title"] or row["job_id"],
                number(row["attempt"]),
                ago(row.get("started_at") or row.get("offered_at"), at),
                _took(row, at),
                status((row.get("outcome") or "under way").lower().replace("succeeded", "completed")),
                row.get("error_code"),
            )
            for row in rows
        ),
        numbers=("attempt",),
    )


def _took(attempt: Row, at: datetime) -> str:
    began, ended = moment_of(attempt.get("started_at")), moment_of(attempt.get("ended_at"))
    return span(None if began is None else ((ended or at) - began).total_seconds())
