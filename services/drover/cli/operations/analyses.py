"""`drover tests`: lists and shows the tests of users, ends them, cleans up stalled ones, and keeps users' accounts of
tests."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

import click
from rich.console import Group, RenderableType
from rich.text import Text

from drover.cli.confirmation import check_answerable, confirm
from drover.cli.exits import Exit
from drover.cli.operations.client import Client, Row, client_of
from drover.cli.operations.formatting import (
    ago,
    count,
    heading,
    moment_of,
    now,
    number,
    pairs,
    section,
    short_id,
    short_ids,
    span,
    status,
    table,
    when,
)
from drover.cli.operations.listing import Listing, show_list
from drover.cli.operations.lookup import TEST, find
from drover.cli.operations.several import Act, each_found, each_of, find_all, these
from drover.cli.operations.watching import show as show_document
from drover.cli.output import print_json, printable
from drover.cli.running import asynchronous
from drover.cli.server_options import Server

PATH: Final = "/api/analyses"
RUNS_PATH: Final = "/api/cleanup-runs"


@asynchronous
async def list_(
    statuses: tuple[str, ...], user: str | None, limit: int, watch: bool, as_json: bool, server: Server
) -> Exit:
    async with client_of(server) as client:
        query = {"status": statuses, "user_id": user}
        return await show_list(client, TESTS, query, limit=limit, watch=watch, as_json=as_json)


@asynchronous
async def show(test: str, watch: bool, as_json: bool, server: Server) -> Exit:
    async with client_of(server) as client:
        found = await find(client, TEST, test)

        async def read() -> Row:
            return (await client.rows(TEST.relation, id=f"eq.{found['id']}"))[0]

        return await show_document(read, _whole, as_json=as_json, watch=watch)


@asynchronous
async def complete(tests: tuple[str, ...], result: str | None, as_json: bool, server: Server) -> Exit:
    outcome = {"status": "completed", **({} if result is None else {"result_ref": result})}
    async with client_of(server) as client:
        return await each_found(client, TEST, tests, _ender(client, outcome, "Completed"), as_json=as_json)


@asynchronous
async def fail(
    tests: tuple[str, ...], code: str | None, message: str | None, yes: bool, as_json: bool, server: Server
) -> Exit:
    check_answerable(yes=yes)
    wanted = {"error_code": code, "error_message": message}
    outcome = {"status": "failed", **{name: value for name, value in wanted.items() if value is not None}}
    async with client_of(server) as client:
        found = await find_all(client, TEST, tests)
        confirm(f"End {these(TEST, found)} as failed? This can't be undone.", yes=yes)
        return await each_of(found, _ender(client, outcome, "Failed"), as_json=as_json)


def _ender(client: Client, outcome: Row, done: str) -> Act[Row]:
    async def one(found: Row) -> tuple[str, Any]:
        changed = await client.change(TEST.relation, "id", found["id"], outcome)
        return f"{done}: test {TEST.called(found)}.", changed

    return one


@asynchronous
async def cleanup(yes: bool, as_json: bool, server: Server) -> Exit:
    check_answerable(yes=yes)
    confirm("Fail and refund all stalled tests now, instead of at the next full hour?", yes=yes)
    async with client_of(server) as client:
        done = await client.send("POST", "/api/saju/cleanup-runs")
    if as_json:
        print_json(done)
    else:
        skipped = f" {done['skipped_count']} could not be refunded." if done["skipped_count"] else ""
        users = count(done["users_count"], "user")
        click.echo(f"Cleaned up {count(done['cleaned_count'], 'test')} of {users}.{skipped}")
    return Exit.OK


@asynchronous
async def runs(limit: int, watch: bool, as_json: bool, server: Server) -> Exit:
    async with client_of(server) as client:
        return await show_list(client, RUNS, {}, limit=limit, watch=watch, as_json=as_json)


@asynchronous
async def user(user_id: str, limit: int, watch: bool, as_json: bool, server: Server) -> Exit:
    async with client_of(server) as client:
        path = f"/api/users/{quote(user_id, safe='')}/ledger"
        return await show_document(lambda: client.get(path, limit=limit), _user, as_json=as_json, watch=watch)


@asynchronous
async def grant(user_id: str, tests: int, as_json: bool, server: Server) -> Exit:
    return await _change_user(user_id, {"grant_tests": tests}, f"granted {count(tests, 'test')}", as_json, server)


@asynchronous
async def freeze(user_id: str, as_json: bool, server: Server) -> Exit:
    return await _change_user(user_id, {"frozen": True}, "frozen", as_json, server)


@asynchronous
async def unfreeze(user_id: str, as_json: bool, server: Server) -> Exit:
    return await _change_user(user_id, {"frozen": False}, "no longer frozen", as_json, server)


async def _change_user(user_id: str, change: Row, done: str, as_json: bool, server: Server) -> Exit:
    async with client_of(server) as client:
        changed = await client.send("PATCH", f"/api/saju/users/{quote(user_id, safe='')}", change)
    if as_json:
        print_json(changed)
    else:
        click.echo(printable(f"User {user_id}: {done}."))
    return Exit.OK


def _table(rows: list[Row]) -> RenderableType:
    short, at = short_ids(row["id"] for row in rows), now()
    return table(
        ("id", "status", "user*", "started", "took", "outcome"),
        (
            (
                short[row["id"]],
                status(row["status"]),
                row["user_id"],
                ago(row["created_at"], at),
                _took(row),
                _outcome(row),
            )
            for row in rows
        ),
    )


TESTS: Final = Listing(PATH, "tests", _table)


def _took(test: Row) -> str:
    began, ended = moment_of(test["created_at"]), moment_of(test["completed_at"])
    return span(None if began is None or ended is None else (ended - began).total_seconds())


def _outcome(test: Row) -> str:
    refund = ["refunded"] if test["refunded"] else []
    return ", ".join([*filter(None, [test["error_code"] or test["reason"]]), *refund])


def _whole(test: Row) -> RenderableType:
    at = now()
    return Group(
        heading("test", test["id"], test["status"]),
        pairs(
            ("user", test["user_id"]),
            ("started", when(test["created_at"], at)),
            ("ended", when(test["completed_at"], at)),
            ("outcome", _outcome(test)),
            *([("message", test["error_message"])] if test["error_message"] else []),
            *([("result", test["result_ref"])] if test["result_ref"] else []),
            *([("not refunded", test["skipped"])] if test["skipped"] else []),
            *([("late report", test["late_report"])] if test["late_report"] else []),
            *([("cleanup", test["cleanup_run_id"])] if test["cleanup_run_id"] else []),
        ),
    )


def _runs(rows: list[Row]) -> RenderableType:
    short, at = short_ids(row["id"] for row in rows), now()
    return table(
        ("id", "status", "trigger", "by*", "started", "cleaned", "skipped", "users"),
        (
            (
                short[row["id"]],
                status(row["status"]),
                row["trigger"],
                row["by"],
                ago(row["started_at"], at),
                number(row["cleaned_count"]),
                number(row["skipped_count"]),
                number(row["users_count"]),
            )
            for row in rows
        ),
        numbers=("cleaned", "skipped", "users"),
    )


RUNS: Final = Listing(RUNS_PATH, "cleanups", _runs, hint="`drover tests cleanup` runs one now.")


def _user(document: Row) -> RenderableType:
    user, at = document["user"], now()
    if user is None:
        return Text("Nothing is known of this user.", "dim")
    parts: list[RenderableType] = [
        heading("user", user["id"], "frozen" if user["frozen"] else ""),
        pairs(
            ("tests left", number(user["remaining_tests"])),
            ("tier", user["tier"]),
            ("so far", ", ".join(f"{user[name]:,} {name}" for name in ("granted", "charged", "refunded", "adjusted"))),
            ("registered", when(user["created_at"], at)),
        ),
    ]
    if entries := document["items"]:
        parts.append(section("Ledger", _ledger(entries)))
    return Group(*parts)


def _ledger(rows: list[Row]) -> RenderableType:
    at = now()
    return table(
        ("when", "what", "tests", "left", "test", "by*"),
        (
            (
                ago(row["created_at"], at),
                row["kind"],
                number(row["amount"]),
                number(row["remaining_tests"]),
                row["test_id"] and short_id(row["test_id"]),
                row["by"],
            )
            for row in rows
        ),
        numbers=("tests", "left"),
    )
