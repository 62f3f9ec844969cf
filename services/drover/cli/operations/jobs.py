"""`drover jobs`: lists and shows jobs, makes them, and changes their course."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import click
from rich.console import Group, RenderableType
from rich.text import Text

from drover.cli.confirmation import check_answerable, confirm
from drover.cli.errors import NothingFound
from drover.cli.exits import Exit
from drover.cli.operations.client import Client, Row, client_of
from drover.cli.operations.formatting import (
    UNTITLED,
    ago,
    count,
    heading,
    now,
    number,
    pairs,
    section,
    short_ids,
    status,
    table,
    when,
)
from drover.cli.operations.listing import Listing, show_list
from drover.cli.operations.lookup import DEVICE, JOB, find, title_of
from drover.cli.operations.several import Act, created, each_found, each_of, find_all, these
from drover.cli.operations.statuses import JOBS_OPEN, expanded
from drover.cli.operations.watching import show as show_document
from drover.cli.running import asynchronous
from drover.cli.server_options import Server

PATH: Final = "/api/jobs"
ASSIGNMENTS_SHOWN: Final = 10
FAILED_MAX: Final = 1_000
"""How many devices a job can name."""
ENDED: Final = ("cancelled", "completed", "deactivated", "expired")
_COUNTERS: Final = ("pending", "running", "retrying", "completed", "failed", "cancelled", "skipped")


@asynchronous
async def list_(statuses: tuple[str, ...], limit: int, watch: bool, as_json: bool, server: Server) -> Exit:
    async with client_of(server) as client:
        query = {"status": expanded(statuses, JOBS_OPEN)}
        return await show_list(client, JOBS, query, limit=limit, watch=watch, as_json=as_json)


@asynchronous
async def show(job: str, watch: bool, as_json: bool, server: Server) -> Exit:
    async with client_of(server) as client:
        found = await find(client, JOB, job)
        path = f"{PATH}/{found['id']}"
        return await show_document(lambda: client.get(path), _whole, as_json=as_json, watch=watch)


@asynchronous
async def assignments(
    job: str, statuses: tuple[str, ...], pc: str | None, limit: int, watch: bool, as_json: bool, server: Server
) -> Exit:
    async with client_of(server) as client:
        found = await find(client, JOB, job)
        listing = Listing(f"{PATH}/{found['id']}/assignments", "assignments", _assignments)
        query = {"status": statuses, "pc_id": pc}
        return await show_list(client, listing, query, limit=limit, watch=watch, as_json=as_json)


@asynchronous
async def create(
    target_url: str,
    title: str | None,
    script: str | None,
    duration: tuple[int, int] | None,
    like: int | None,
    comment: int | None,
    playlist: int | None,
    reward: float | None,
    group: str | None,
    pc: str | None,
    devices: tuple[str, ...],
    device_count: int | None,
    priority: int | None,
    not_before: datetime | None,
    paused: bool,
    as_json: bool,
    server: Server,
) -> Exit:
    async with client_of(server) as client:
        wanted = {
            "target_url": target_url,
            "title": title,
            "script_type": script,
            "duration_min_pct": duration and duration[0],
            "duration_max_pct": duration and duration[1],
            "prob_like": like,
            "prob_comment": comment,
            "prob_playlist": playlist,
            "base_reward": reward,
            "target": await _target(client, group, pc, devices, device_count),
            "priority": priority,
            "not_before": not_before and not_before.isoformat(),
        }
        row = {name: value for name, value in wanted.items() if value is not None}
        made = await client.create(JOB.relation, row | {"is_active": not paused})
    how = ", paused" if paused else ""
    how += f", not before {when(not_before.isoformat(), now())}" if not_before else ""
    return created(made, f"Created {title_of(made)}{how}.", as_json=as_json)


async def _target(
    client: Client, group: str | None, pc: str | None, devices: tuple[str, ...], device_count: int | None
) -> Row | None:
    ids = [(await find(client, DEVICE, one))["id"] for one in devices]
    wanted = {"group_id": group, "pc_id": pc, "device_ids": ids or None, "count": device_count}
    return {name: value for name, value in wanted.items() if value is not None} or None


@asynchronous
async def pause(jobs: tuple[str, ...], as_json: bool, server: Server) -> Exit:
    return await _change(jobs, {"status": "paused"}, "Paused {job}.", as_json, server)


@asynchronous
async def resume(jobs: tuple[str, ...], as_json: bool, server: Server) -> Exit:
    return await _change(jobs, {"is_active": True}, "Resumed {job}.", as_json, server)


@asynchronous
async def next_(jobs: tuple[str, ...], as_json: bool, server: Server) -> Exit:
    """Put jobs first. The one that was put first last is before the others, so the last job is the first to be put."""
    return await _change(jobs[::-1], {"run_next": True}, "Put {job} first.", as_json, server)


@asynchronous
async def prioritize(jobs: tuple[str, ...], priority: int, as_json: bool, server: Server) -> Exit:
    done = f"The priority of {{job}} is {priority}."
    return await _change(jobs, {"priority": priority}, done, as_json, server)


@asynchronous
async def schedule(jobs: tuple[str, ...], at: datetime | None, at_once: bool, as_json: bool, server: Server) -> Exit:
    if (at is None) is not at_once:
        raise click.UsageError("Say when: either --at TIME or --now.")
    if at is None:
        return await _change(jobs, {"not_before": None}, "{job} may start now.", as_json, server)
    done = f"{{job}} is scheduled for {when(at.isoformat(), now())}."
    return await _change(jobs, {"not_before": at.isoformat()}, done, as_json, server)


@asynchronous
async def cancel(jobs: tuple[str, ...], yes: bool, as_json: bool, server: Server) -> Exit:
    what = "Pending assignments are cancelled; running ones finish. This can't be undone."
    return await _end(jobs, "Cancel", "Cancelled {job}.", {"status": "cancelled"}, what, yes, as_json, server)


@asynchronous
async def deactivate(jobs: tuple[str, ...], yes: bool, as_json: bool, server: Server) -> Exit:
    what = "Pending assignments are cancelled; running ones finish."
    return await _end(jobs, "Deactivate", "Deactivated {job}.", {"is_active": False}, what, yes, as_json, server)


async def _end(
    jobs: tuple[str, ...], verb: str, done: str, change: Row, what: str, yes: bool, as_json: bool, server: Server
) -> Exit:
    check_answerable(yes=yes)
    async with client_of(server) as client:
        found = await find_all(client, JOB, jobs)
        confirm(f"{verb} {these(JOB, found)}? {what}", yes=yes)
        return await each_of(found, _changer(client, change, done), as_json=as_json)


async def _change(jobs: tuple[str, ...], change: Row, done: str, as_json: bool, server: Server) -> Exit:
    async with client_of(server) as client:
        return await each_found(client, JOB, jobs, _changer(client, change, done), as_json=as_json)


def _changer(client: Client, change: Row, done: str) -> Act[Row]:
    """`done`: the sentence about a job that was changed, with `{job}` for its name."""

    async def one(found: Row) -> tuple[str, Any]:
        changed = await client.change(JOB.relation, "id", found["id"], change)
        return done.format(job=JOB.called(found)), changed

    return one


@asynchronous
async def run_again(job: str, failed: bool, as_json: bool, server: Server) -> Exit:
    """Make a new job like one that has ended. The old one stays as it is."""
    async with client_of(server) as client:
        found = await find(client, JOB, job)
        whole = (await client.get(f"{PATH}/{found['id']}"))["job"]
        if whole["status"] not in ENDED:
            raise click.UsageError(
                f"{JOB.called(found)} is {whole['status']}. Only a job that has ended can run again; "
                "`drover jobs retry` repeats what failed in an open one."
            )
        row = {name: whole[name] for name in copied() if whole.get(name) is not None}
        if failed:
            row["target"] = {"device_ids": await _failed_devices(client, whole)}
        made = await client.create(JOB.relation, row)
    return created(made, f"Created {title_of(made)}, which runs {JOB.called(found)} again.", as_json=as_json)


def copied() -> tuple[str, ...]:
    """Return what a job that runs again has of the old one: all that a client can set, except the time, which has
    passed."""
    from drover.domain.fleet.job_spec import JobSpec  # imported here: the other commands start faster without it

    return tuple(name for name in JobSpec.__struct_fields__ if name != "not_before")


async def _failed_devices(client: Client, job: Row) -> list[str]:
    rows = await _failed(client, job["id"], "device_id")
    if not rows:
        raise click.UsageError(f"{JOB.called(job)} has not failed on any device. Leave out --failed.")
    return sorted({row["device_id"] for row in rows})


async def _failed(client: Client, job_id: str, columns: str) -> list[Row]:
    return await client.rows(
        "job_assignments", select=columns, job_id=f"eq.{job_id}", status="eq.failed", order="id", limit=FAILED_MAX
    )


@asynchronous
async def retry(job: str, devices: tuple[str, ...], as_json: bool, server: Server) -> Exit:
    async with client_of(server) as client:
        found = await find(client, JOB, job)
        if not devices:
            devices = tuple(await _failed_serials(client, found))
        return await each_found(client, DEVICE, devices, _assigner(client, found, "Retried"), as_json=as_json)


async def _failed_serials(client: Client, job: Row) -> list[str]:
    rows = await _failed(client, job["id"], "device_id,devices(serial_number)")
    if not rows:
        raise click.UsageError(f"{JOB.called(job)} has not failed on any device: there is nothing to retry.")
    return sorted({row["devices"]["serial_number"] if row["devices"] else row["device_id"] for row in rows})


@asynchronous
async def assign(job: str, devices: tuple[str, ...], as_json: bool, server: Server) -> Exit:
    async with client_of(server) as client:
        found = await find(client, JOB, job)
        return await each_found(client, DEVICE, devices, _assigner(client, found, "Assigned"), as_json=as_json)


def _assigner(client: Client, job: Row, done: str) -> Act[Row]:
    async def one(device: Row) -> tuple[str, Any]:
        made = await client.create("job_assignments", {"job_id": job["id"], "device_id": device["id"]})
        return f"{done} {title_of(job)} on {device['serial_number']}.", made

    return one


@asynchronous
async def unassign(job: str, devices: tuple[str, ...], yes: bool, as_json: bool, server: Server) -> Exit:
    check_answerable(yes=yes)
    async with client_of(server) as client:
        found = await find(client, JOB, job)
        phones = await find_all(client, DEVICE, devices)
        confirm(f"Cancel the pending assignment of {JOB.called(found)} on {these(DEVICE, phones)}?", yes=yes)

        async def one(device: Row) -> tuple[str, Any]:
            pending = await client.rows(
                "job_assignments", select="id", job_id=f"eq.{found['id']}", device_id=f"eq.{device['id']}", limit=1
            )
            if not pending:
                listing = f"drover jobs assignments {found['id']}"
                raise NothingFound("assignment on", device["serial_number"], (), listing)
            changed = await client.change("job_assignments", "id", pending[0]["id"], {"status": "cancelled"})
            return f"Cancelled {title_of(found)} on {device['serial_number']}.", changed

        return await each_of(phones, one, as_json=as_json)


def _table(rows: list[Row]) -> RenderableType:
    """The column `turn` is there if some job has a priority, was put first, or waits for a time."""
    short, at = short_ids(row["id"] for row in rows), now()
    turns = {row["id"]: _turn(row, at) for row in rows}
    shows_turns = any(turns.values())
    return table(
        ("id", "status", "title*", *(("turn",) if shows_turns else ()), "running", "done", "failed", "created"),
        (
            (
                short[row["id"]],
                status(row["status"]),
                row["title"] or Text(UNTITLED, "dim"),
                *((turns[row["id"]],) if shows_turns else ()),
                number(row["running"]),
                number(row["completed"]),
                Text(number(row["failed"]), "red" if row["failed"] else ""),
                ago(row["created_at"], at),
            )
            for row in rows
        ),
        numbers=("running", "done", "failed"),
    )


def _turn(job: Row, at: datetime) -> str:
    """Say what decides when the job has its turn. Nothing: its age alone."""
    known = [number(job["priority"])] if job["priority"] else []
    known += ["first"] if job["put_first"] else []
    known += [ago(job["not_before"], at)] if job["is_scheduled"] else []
    return ", ".join(known)


JOBS: Final = Listing(PATH, "jobs", _table, hint="`drover jobs create URL` makes one.")


def _whole(document: Row) -> RenderableType:
    job, at = document["job"], now()
    parts: list[RenderableType] = [
        heading("job", job["title"] or UNTITLED, job["status"]),
        pairs(
            ("id", job["id"]),
            ("address", job["target_url"]),
            ("script", job["script_type"]),
            ("for", target_words(job["target"])),
            *([("needs", ", ".join(job["needs"]))] if job["needs"] else []),
            ("priority", f"{job['priority']}{', put first' if job['put_first'] else ''}"),
            ("created", when(job["created_at"], at)),
            *_course(job, at),
            ("phones", ", ".join(f"{job[name]:,} {name}" for name in _COUNTERS if job[name]) or "none yet"),
        ),
    ]
    if failures := document["failures"]:
        lines = ((failure["error_code"] or "unknown", number(failure["assignments"])) for failure in failures)
        parts.append(section("Failures by error", table(("error", "phones"), lines, numbers=("phones",))))
    if rows := document["assignments"]["items"][:ASSIGNMENTS_SHOWN]:
        parts.append(section("Assignments", _assignments(rows)))
        if len(document["assignments"]["items"]) > ASSIGNMENTS_SHOWN:
            parts.append(Text(f"Only the first {ASSIGNMENTS_SHOWN}: `drover jobs assignments` lists all.", "dim"))
    return Group(*parts)


def _course(job: Row, at: datetime) -> list[tuple[str, str]]:
    told = []
    if job["not_before"]:
        told.append(("not before", when(job["not_before"], at)))
    if job["activated_at"]:
        told.append(("active since", when(job["activated_at"], at)))
    if job["ended_at"]:
        told.append(("ended", f"{when(job['ended_at'], at)}, {job['end_reason'] or job['status']}"))
    if job["paused_for"] and not job["ended_at"]:
        told.append(("paused for", job["paused_for"]))
    return told


def target_words(target: Row | None) -> str:
    """Say for which phones a job is."""
    known = {name: value for name, value in (target or {}).items() if value is not None}
    where = [f"group {known['group_id']}"] if "group_id" in known else []
    where += [f"PC {known['pc_id']}"] if "pc_id" in known else []
    where += [f"{count(len(known['device_ids']), 'named phone')}"] if "device_ids" in known else []
    most = f"at most {count(known['count'], 'phone')}" if "count" in known else ""
    return ", ".join(part for part in (most, " and ".join(where)) if part) or "all phones"


def _assignments(rows: list[Row]) -> RenderableType:
    at = now()
    return table(
        ("phone", "pc", "status", "progress", "attempt", "error*", "changed"),
        (
            (
                row["serial_number"] or row["device_id"],
                row["pc_id"],
                status(row["phase"]),
                f"{row['progress_pct']} %",
                number(row["attempt"]),
                row["error_code"],
                ago(row["updated_at"], at),
            )
            for row in rows
        ),
        numbers=("progress", "attempt"),
    )
