"""`drover alerts`: what needs a person's attention, or needed it; acknowledges and snoozes it."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from drover.cli.errors import Refused
from drover.cli.exits import Exit
from drover.cli.operations.client import Client, Row, client_of
from drover.cli.operations.formatting import ago, now, short_ids, status, when
from drover.cli.operations.listing import LIMIT_HINT
from drover.cli.operations.lookup import ALERT, names_of
from drover.cli.operations.names import UUID, named
from drover.cli.operations.several import each_found
from drover.cli.operations.watching import show as show_document
from drover.cli.output import printable
from drover.cli.running import asynchronous
from drover.cli.server_options import Server

PATH: Final = "/api/alerts"
FORBIDDEN: Final = 403
PEOPLE_ONLY: Final = (
    "Only operators and admins handle alerts, so that others see who did. Sign in with `drover token`, and use what it "
    "prints as DROVER_KEY (beside --data-dir as --key)"
)


@asynchronous
async def list_(everything: bool, kind: str | None, limit: int, watch: bool, as_json: bool, server: Server) -> Exit:
    async with client_of(server) as client:
        read = partial(_read, client, {"open": None if everything else "true", "kind": kind}, limit, as_json)
        return await show_document(read, partial(_view, limit), as_json=as_json, watch=watch)


@asynchronous
async def acknowledge(alerts: tuple[str, ...], note: str, as_json: bool, server: Server) -> Exit:
    return await _handle(alerts, "acknowledge", {"note": note}, "Acknowledged {alert}.", as_json, server)


@asynchronous
async def snooze(alerts: tuple[str, ...], until: datetime, note: str, as_json: bool, server: Server) -> Exit:
    body = {"until": until.isoformat(), "note": note}
    done = f"Snoozed {{alert}} until {when(until.isoformat(), now())}."
    return await _handle(alerts, "snooze", body, done, as_json, server)


@asynchronous
async def end_snooze(alerts: tuple[str, ...], as_json: bool, server: Server) -> Exit:
    return await _handle(alerts, "end-snooze", None, "Ended the snooze of {alert}.", as_json, server)


async def _handle(
    alerts: tuple[str, ...], what: str, body: Row | None, done: str, as_json: bool, server: Server
) -> Exit:
    """`done`: the sentence about an alert that was handled, with `{alert}` for its name."""
    async with client_of(server) as client:

        async def one(alert: Row) -> tuple[str, Any]:
            path = f"{PATH}/{quote(alert['context'], safe='')}/{quote(alert['id'], safe='')}/{what}"
            try:
                await client.send("POST", path, body)
            except Refused as error:
                if error.status == FORBIDDEN:
                    raise Refused(error.status, error.code, error.message, PEOPLE_ONLY) from error
                raise
            (changed,) = await client.rows(ALERT.relation, id=f"eq.{alert['id']}") if as_json else (alert,)
            return done.format(alert=ALERT.called(alert)), changed

        return await each_found(client, ALERT, alerts, one, as_json=as_json)


async def _read(client: Client, query: Row, limit: int, as_json: bool) -> list[Row]:
    rows, _ = await client.listed(PATH, limit, **query)
    if as_json:
        return rows
    names = await names_of(client, {row["subject"] for row in rows if UUID.fullmatch(row["subject"])})
    return [row | {"message": named(row["message"], names), "subject": names.get(row["subject"])} for row in rows]


def _view(limit: int, rows: list[Row]) -> RenderableType:
    if not rows:
        return Text("No alerts are open. --all shows resolved ones.", "dim")
    at, short = now(), short_ids(row["id"] for row in rows)
    lines = [_alert(row, short[row["id"]], at) for row in rows]
    return Group(*lines, *([Text(LIMIT_HINT.format(shown=limit), "dim")] if len(rows) >= limit else []))


def _alert(row: Row, id_: str, at: datetime) -> RenderableType:
    is_open = row["resolved_at"] is None
    raised = f"{ago(row['raised_at'], at):<10}"
    head = Text.assemble(status("open" if is_open else "resolved"), " ", (raised, "dim"), " ", (row["kind"], "bold"))
    if row["subject"]:
        head.append(f"  {printable(row['subject'])}")
    if not is_open:
        head.append(f"  resolved {ago(row['resolved_at'], at)}", "dim")
    head.append(f"  {id_}", "dim")
    lines = [Text(printable(row["message"])), *(Text(line, "dim") for line in _handling(row, at))]
    return Group(head, Padding(Group(*lines), (0, 0, 0, 2), expand=False))


def _handling(row: Row, at: datetime) -> list[str]:
    """Say what people did about an alert."""
    known = []
    if row["acknowledged_at"]:
        known.append((f"Acknowledged {ago(row['acknowledged_at'], at)}", "acknowledged_by", "acknowledged_note"))
    if row["snoozed_until"]:
        known.append((f"Snoozed until {when(row['snoozed_until'], at)}", "snoozed_by", "snooze_note"))
    return [
        printable(f"{did}{f' by {row[by]}' if row[by] else ''}{f': {row[note]}' if row[note] else ''}")
        for did, by, note in known
    ]
