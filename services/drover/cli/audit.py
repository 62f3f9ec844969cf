"""`drover audit`: shows who accessed what. Also records what is copied or read with the command line."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Mapping, Sequence
from datetime import datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final

import asyncpg
import click
from nats.aio.client import Client
from uuid_utils import uuid7

from drover.api.audit.listing import ACCESSES, CONTEXT, AuditEntry, entry_of
from drover.api.audit.network_addresses import NetworkAddresses, OpenNetworkAddress, open_nothing
from drover.api.reads.parameters import Asked
from drover.bus.audit import Access, NatsRecorder, NotRecorded
from drover.bus.subject_keys import SubjectKeys, asking
from drover.cli.errors import AuditUnreadable
from drover.cli.event_text import local
from drover.cli.exits import Exit
from drover.cli.output import print_json, printable
from drover.cli.platform_secrets import sealing_keys
from drover.cli.running import asynchronous
from drover.cli.target import Target, find_target, nats_of, postgres_of
from drover.domain.identity.audit import AccessKind
from drover.projection.readable import contexts_being_built
from drover.readmodel.form import placed
from drover.readmodel.identity import AccessRow
from drover.service.reasons import reason_of
from drover.service.sealing import Ring
from drover.service.subject_sealing import KeysUnreachable

RECORD_S: Final = 1.0
"""How many seconds a command waits until its access is recorded. After that it goes on without a record: see
`record_access`."""
NAME_CHARS_MAX: Final = 64
USER_AGENT: Final = "drover-cli"


@asynchronous
async def list_(
    by: str | None,
    kinds: tuple[str, ...],
    since: datetime | None,
    until: datetime | None,
    limit: int,
    as_json: bool,
    data_dir: Path | None,
) -> Exit:
    target = find_target(data_dir)
    ring = sealing_keys(data_dir, embedded=target.embedded)
    asked = Asked({"by": by, "kind": kinds or None, "from": since, "to": until, "limit": limit})
    async with nats_of(target) as client:
        await record_access(client, AccessKind.AUDIT, "audit list")
        rows = await _rows(target, asked, limit)
        open_ = await _opener(client, ring, rows)
    entries = [entry_of(row, open_) for row in rows]
    if as_json:
        for entry in entries:
            print_json(entry)
    else:
        click.echo("\n".join(_lines(entries)))
        if not entries:
            click.echo("No entries match.", err=True)
    return Exit.OK


async def _opener(client: Client, ring: tuple[str, ...], rows: Sequence[AccessRow]) -> OpenNetworkAddress:
    """Get the keys of the rows' addresses, and return the function that opens the addresses. If no process serves the
    keys, the list is shown without addresses."""
    keys = SubjectKeys(CONTEXT, Ring.from_settings(ring), asking(client, CONTEXT)) if ring else None
    try:
        return await NetworkAddresses.of(keys).opener(row.address_sealed for row in rows)
    except KeysUnreachable as error:
        click.echo(f"Addresses are not shown: {error.reason}. Is the api service running?", err=True)
        return open_nothing


async def record_access(client: Client, kind: AccessKind, what: str) -> None:
    """Record what the person at this shell does. If nobody records it, say so and go on.

    A backup must work while all services are down. And whoever can connect to NATS as an operator can read the streams
    without Drover, so a refusal would protect nothing.
    """
    access = Access(
        id=str(uuid7()), by=_operator(), kind=kind, what=what, address=_ssh_address(), user_agent=USER_AGENT
    )
    try:
        await NatsRecorder(client).record(access, within_s=RECORD_S)
    except NotRecorded as error:
        click.echo(f"This is not in the audit: {error.reason}. Is the api service running?", err=True)


def _operator() -> str:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a user id without a name, as in a container
        user = str(os.getuid())
    return f"operator:{user[:NAME_CHARS_MAX]}@{socket.gethostname()[:NAME_CHARS_MAX]}"


def _ssh_address(environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the address from which the person has logged in to this machine by SSH. None: the person did not use
    SSH."""
    text = environ.get("SSH_CONNECTION", "").partition(" ")[0]
    try:
        return str(ip_address(text))
    except ValueError:
        return None


async def _rows(target: Target, asked: Asked, limit: int) -> list[Any]:
    statement = ACCESSES.statement(asked)
    async with postgres_of(target) as connection:
        try:
            if CONTEXT in await contexts_being_built(connection):
                raise AuditUnreadable("it is being built; try again later")
            records = await connection.fetch(placed(statement.sql), *statement.values)
        except asyncpg.UndefinedTableError:  # the projector has not run yet
            return []
        except asyncpg.PostgresError as error:
            raise AuditUnreadable(reason_of(error)) from error
    return ACCESSES.paged(records, limit).items


def _lines(entries: list[AuditEntry]) -> list[str]:
    """Format a table, with columns as wide as needed: a truncated id or address would be useless."""
    told = [("time", "who", "kind", "from", "with", "what")]
    for entry in entries:
        at = local(entry.at)[: len("2026-01-31 08:00:00")]
        told.append((at, entry.by, entry.kind.value, entry.address or "–", entry.user_agent, entry.what))
    widths = [max(map(len, column)) for column in zip(*told, strict=True)]
    return [printable("  ".join(map(str.ljust, line, widths)).rstrip()) for line in told]
