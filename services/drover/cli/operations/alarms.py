"""`drover alarms`: lists and shows the alarms of pages, reschedules, sends and deletes them."""

from __future__ import annotations

from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from drover.cli.confirmation import check_answerable, confirm
from drover.cli.exits import Exit
from drover.cli.operations.client import Client, Row, client_of
from drover.cli.operations.formatting import ago, count, heading, now, number, pairs, section, status, table, when
from drover.cli.operations.listing import Listing, show_list
from drover.cli.operations.lookup import ALARM, REMINDERS, alarm_path, find
from drover.cli.operations.several import each, each_of
from drover.cli.operations.watching import show as show_document
from drover.cli.running import asynchronous
from drover.cli.server_options import Server

COMMANDS: Final = "/api/reminder"
HISTORY_SHOWN: Final = 10


@asynchronous
async def list_(state: str | None, user: str | None, limit: int, watch: bool, as_json: bool, server: Server) -> Exit:
    async with client_of(server) as client:
        query = {"state": state, "user_id": user}
        return await show_list(client, ALARMS, query, limit=limit, watch=watch, as_json=as_json)


@asynchronous
async def show(alarm: str, watch: bool, as_json: bool, server: Server) -> Exit:
    async with client_of(server) as client:
        found = await alarm_of(client, alarm)
        path = alarm_path(found["user_id"], found["page_id"])
        return await show_document(lambda: client.get(path), _whole, as_json=as_json, watch=watch)


@asynchronous
async def reschedule(alarm: str, time: str, as_json: bool, server: Server) -> Exit:
    async with client_of(server) as client:

        async def one(given: str) -> tuple[str, Any]:
            found = await alarm_of(client, given)
            done = await client.send("POST", f"{COMMANDS}/schedule/v2", {**found, "next_alarm_time": time})
            return f"{capitalized(called(found))} is due {when(done['next_alarm_time'], now())}.", done

        return await each([alarm], one, as_json=as_json)


@asynchronous
async def send(alarms: tuple[str, ...], as_json: bool, server: Server) -> Exit:
    async with client_of(server) as client:

        async def one(given: str) -> tuple[str, Any]:
            found = await alarm_of(client, given)
            # Its existence was checked: otherwise this request would make a new alarm.
            done = await client.send("POST", f"{COMMANDS}/register-by-page", found)
            return f"{capitalized(called(found))} is due now.", done

        return await each(alarms, one, as_json=as_json)


@asynchronous
async def delete(alarms: tuple[str, ...], yes: bool, as_json: bool, server: Server) -> Exit:
    check_answerable(yes=yes)
    async with client_of(server) as client:
        found = {given: await alarm_of(client, given) for given in alarms}
        what = called(found[alarms[0]]) if len(found) == 1 else count(len(found), "alarm")
        confirm(f"Delete {what}? This can't be undone.", yes=yes)

        async def one(alarm: Row) -> tuple[str, Any]:
            body = {"user_id": alarm["user_id"], "page_ids": [alarm["page_id"]]}
            done = await client.send("POST", f"{COMMANDS}/pages-deleted", body)
            return f"Deleted {called(alarm)}.", done

        return await each_of(found, one, as_json=as_json)


async def alarm_of(client: Client, given: str) -> Row:
    """Find an alarm by its page, or by `USER/PAGE`."""
    found = await find(client, ALARM, given)
    return {"user_id": found["user_id"], "page_id": found["page_id"]}


def called(alarm: Row) -> str:
    return f"the alarm of page {alarm['page_id']} (user {alarm['user_id']})"


def capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def _table(rows: list[Row]) -> RenderableType:
    at = now()
    return table(
        ("page*", "user*", "state", "due", "send no.", "last error*"),
        (
            (
                row["page_id"],
                row["user_id"],
                status("retrying" if row["retry_at"] and row["state"] == "upcoming" else row["state"]),
                ago(row["retry_at"] or row["next_alarm_time"], at),
                number(row["sent_count"]),
                Text(row["last_error"], "red") if row["last_error"] else None,
            )
            for row in rows
        ),
        numbers=("send no.",),
    )


ALARMS: Final = Listing(REMINDERS, "alarms", _table)


def _whole(document: Row) -> RenderableType:
    alarm, at = document["reminder"], now()
    known: list[tuple[str, str | Text | None]] = [
        ("user", alarm["user_id"]),
        ("title", alarm["title"]),
        ("due", when(alarm["next_alarm_time"], at)),
        ("time zone", alarm["timezone"]),
        ("send no.", number(alarm["sent_count"])),
        ("last sent", when(alarm["last_sent_at"], at)),
    ]
    if alarm["processed_at"]:
        known.append(("claimed", when(alarm["processed_at"], at)))
    if alarm["retry_at"]:
        known.append(("next try", when(alarm["retry_at"], at)))
    if alarm["recover_at"]:
        known.append(("tried again", when(alarm["recover_at"], at)))
    if alarm["last_error"]:
        known.append(("last error", Text(alarm["last_error"], "red")))
    parts: list[RenderableType] = [heading("alarm of", alarm["page_id"], alarm["state"]), pairs(*known)]
    if events := document["history"]["items"][:HISTORY_SHOWN]:
        lines = (
            (ago(event["created_at"], at), event["event_type"], event["by"], event["error_code"] or event["message"])
            for event in events
        )
        parts.append(section("History", table(("when", "what", "by", "message*"), lines)))
    return Group(*parts)
