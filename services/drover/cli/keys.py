"""`drover key create|list|rotate|revoke|adopt`: API keys that the platform knows. `key` signs keys without it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TextIO
from uuid import UUID, uuid4

import asyncpg
import click
import msgspec

from drover.api.identity.adoption import adoption_of
from drover.api.identity.client import IdentityClient
from drover.api.identity.issued_keys import LISTED, KeyRecord, sign
from drover.bus.client import CommandBus
from drover.cli.errors import KeyRefused, key_refused
from drover.cli.event_text import local
from drover.cli.exits import Exit
from drover.cli.key import check_device, seconds
from drover.cli.output import print_json, printable
from drover.cli.platform_secrets import identity_secrets, shared_secrets
from drover.cli.running import asynchronous
from drover.cli.target import Target, find_target, nats_of, postgres_of
from drover.domain.identity.commands import CreateApiKey, RevokeApiKey, RotateApiKey
from drover.embedded.credentials import Credentials
from drover.projection.readable import contexts_being_built
from drover.readmodel.form import placed
from drover.service.identity_keys import IdentityKeys
from drover.service.verified_keys import verified_claims
from drover.web.commands import Origin
from drover.web.errors import ApiError

ORIGIN: Final = Origin(by="cli")
HOUR_S: Final = 3600


@asynchronous
async def create(role: str, device_id: UUID | None, name: str | None, days: int, data_dir: Path | None) -> Exit:
    check_device(role, device_id)
    target = find_target(data_dir)
    keys = _signing_keys(target, data_dir)
    device = None if device_id is None else str(device_id)
    async with identity_client(target) as client:
        command = CreateApiKey(str(uuid4()), name or role, role, seconds(days), device)
        done = await client.send(command, ORIGIN)
    _print_key(done.result, keys)
    return Exit.OK


@asynchronous
async def rotate(key_id: UUID, grace_hours: int, days: int, data_dir: Path | None) -> Exit:
    target = find_target(data_dir)
    keys = _signing_keys(target, data_dir)
    async with identity_client(target) as client:
        command = RotateApiKey(str(key_id), str(uuid4()), seconds(days), grace_hours * HOUR_S)
        done = await client.send(command, ORIGIN)
    _print_key(done.result, keys)
    until = f"stays valid for {grace_hours} h and is then revoked" if grace_hours else "is revoked"
    click.echo(f"{key_id} {until}.", err=True)
    return Exit.OK


@asynchronous
async def revoke(key_id: UUID, data_dir: Path | None) -> Exit:
    async with identity_client(find_target(data_dir)) as client:
        await client.send(RevokeApiKey(str(key_id)), ORIGIN)
    click.echo(f"{key_id} is revoked.", err=True)
    return Exit.OK


@asynchronous
async def adopt(file: TextIO, name: str, data_dir: Path | None) -> Exit:
    target = find_target(data_dir)
    signing = identity_secrets(data_dir, embedded=target.embedded)
    shared = shared_secrets(data_dir, embedded=target.embedded)
    commands = []
    for token in _tokens(file.read()):
        known = verified_claims(token, IdentityKeys(signing) if signing else None, shared)
        if known is None:
            raise KeyRefused("", f"{_shown(token)} is not a valid API key of this platform; nothing was adopted")
        commands.append(adoption_of(name, token, known))
    async with identity_client(target) as client:
        for command in commands:
            done = await client.send(command, ORIGIN)
            click.echo(done.result["key_id"])
    return Exit.OK


@asynchronous
async def list_(everything: bool, as_json: bool, data_dir: Path | None) -> Exit:
    records = [KeyRecord.of(row) for row in await listed(find_target(data_dir), LISTED)]
    now = datetime.now(UTC)
    shown = [record for record in records if everything or record.state(now) in ("active", "ending")]
    if as_json:
        print_json(shown)
    else:
        click.echo("\n".join(_lines(shown, now)))
        if not shown:
            click.echo("No keys. `drover key create` makes one; --all shows revoked and expired ones.", err=True)
    return Exit.OK


def _signing_keys(target: Target, data_dir: Path | None) -> IdentityKeys:
    return IdentityKeys(identity_secrets(data_dir, embedded=target.embedded))


@asynccontextmanager
async def identity_client(target: Target) -> AsyncIterator[IdentityClient]:
    """Connect to the platform, and turn its refusal into an error of the command."""
    async with nats_of(target) as client:
        try:
            yield IdentityClient(CommandBus(client))
        except ApiError as error:
            raise key_refused(error.code, error.message) from error


def _print_key(result: dict[str, Any], keys: IdentityKeys) -> None:
    """Print the key alone on standard output, for scripts, and its id on standard error."""
    click.echo(f"id {result['key_id']}", err=True)
    click.echo(sign(keys, result))


def _tokens(text: str) -> list[str]:
    try:
        credentials = msgspec.json.decode(text, type=Credentials)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return [line.strip() for line in text.splitlines() if line.strip()]
    return [credentials.anon_key, credentials.service_key]


def _shown(token: str) -> str:
    """Return the beginning of a token. It is part of the header, so it reveals nothing."""
    return printable(token[:8]) + "…"


async def listed(target: Target, query: str) -> list[Any]:
    """Return all rows of a list of the read model."""
    async with postgres_of(target) as connection:
        try:
            if "identity" in await contexts_being_built(connection):
                raise KeyRefused("READ_MODEL_REBUILDING", "The list of keys is being built; try again later")
            rows: list[Any] = await connection.fetch(placed(query), None, 0)
        except asyncpg.UndefinedTableError:  # the projector has not run yet
            return []
    return rows


def _lines(records: list[KeyRecord], now: datetime) -> list[str]:
    told = [("id", "role", "state", "expires", "last used", "name")]
    for record in records:
        device = f" {record.device_id}" if record.device_id else ""
        expires = local(record.expires_at)[: len("2026-01-31")]
        used = "–" if record.last_used_at is None else _minute(record.last_used_at)
        role, name = f"{record.role}{device}", printable(record.name)
        told.append((str(record.id), role, _state(record, now), expires, used, name))
    return aligned(told)


def _state(record: KeyRecord, now: datetime) -> str:
    state = record.state(now)
    return f"until {_minute(record.ends_at)}" if state == "ending" and record.ends_at else state


def _minute(moment: datetime) -> str:
    return local(moment)[: len("2026-01-31 12:00")]


def aligned(told: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*told, strict=True)]
    return ["  ".join(map(str.ljust, line, widths)).rstrip() for line in told]
