"""`drover key enrol|codes|withdraw`: one-time codes, by which the agents of PCs get keys for their phones."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg
import click

from drover.api.identity.enrolment_codes import LISTED, EnrolmentRecord, digest_of, is_pc_known, new_code, unknown_pc
from drover.cli.errors import NoSuchKey
from drover.cli.event_text import local
from drover.cli.exits import Exit
from drover.cli.key import seconds
from drover.cli.keys import HOUR_S, ORIGIN, aligned, identity_client, listed
from drover.cli.output import print_json
from drover.cli.running import asynchronous
from drover.cli.target import Target, find_target, postgres_of
from drover.domain.errors import Code
from drover.domain.identity.commands import CreateEnrolment, EndEnrolment


@asynchronous
async def enrol(pc_id: str, phones: int, hours: int, new: bool, days: int, data_dir: Path | None) -> Exit:
    target = find_target(data_dir)
    if not new:
        await _demand_known(target, pc_id)
    code = new_code()
    async with identity_client(target) as client:
        command = CreateEnrolment(str(uuid4()), pc_id, digest_of(code), phones, seconds(days), hours * HOUR_S)
        done = await client.send(command, ORIGIN)
    click.echo(f"id {done.result['enrolment_id']}", err=True)
    click.echo(code)
    return Exit.OK


@asynchronous
async def codes(everything: bool, as_json: bool, data_dir: Path | None) -> Exit:
    now = datetime.now(UTC)
    records = [EnrolmentRecord.of(row) for row in await listed(find_target(data_dir), LISTED)]
    shown = [record for record in records if everything or record.state(now) != "ended"]
    if as_json:
        print_json(shown)
    else:
        click.echo("\n".join(_lines(shown, now)))
        if not shown:
            click.echo("No codes. `drover key enrol PC` makes one; --all shows those that are over.", err=True)
    return Exit.OK


@asynchronous
async def withdraw(enrolment_id: UUID, data_dir: Path | None) -> Exit:
    async with identity_client(find_target(data_dir)) as client:
        await client.send(EndEnrolment(str(enrolment_id)), ORIGIN)
    click.echo("The code is withdrawn. Keys that it has given out stay valid.", err=True)
    return Exit.OK


async def _demand_known(target: Target, pc_id: str) -> None:
    async with postgres_of(target) as connection:
        try:
            is_known = await is_pc_known(connection, pc_id)
        except asyncpg.UndefinedTableError:  # the projector has not run yet
            is_known = False
    if not is_known:
        raise NoSuchKey(Code.NOT_FOUND, unknown_pc(pc_id, "--new"))


def _lines(records: list[EnrolmentRecord], now: datetime) -> list[str]:
    told = [("id", "pc", "state", "phones", "expires")]
    for record in records:
        phones = f"{record.devices}/{record.devices_max}"
        expires = local(record.expires_at)[: len("2026-01-31 12:00")]
        told.append((str(record.id), record.pc_id, record.state(now), phones, expires))
    return aligned(told)
