"""`drover account`: manages accounts from a shell, for the first admin and for people who cannot sign in."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid4

import asyncpg
import click
import msgspec
from nats.aio.client import Client

from drover.api.identity.accounts import new_account
from drover.api.identity.addresses import Addresses, OpenAddress
from drover.api.identity.client import IdentityClient, KnownAccount
from drover.api.identity.passwords import Passwords
from drover.api.identity.personal_data import PersonalData
from drover.bus.client import CommandBus
from drover.bus.subject_keys import SubjectKeys, asking
from drover.cli.errors import AccountRefused, NoSuchAccount
from drover.cli.event_text import local
from drover.cli.exits import Exit
from drover.cli.key_rotation import rotate_partition
from drover.cli.output import print_json, printable
from drover.cli.platform_secrets import identity_secrets, sealing_keys
from drover.cli.running import asynchronous
from drover.cli.target import Target, find_target, nats_of, postgres_of
from drover.domain.decider import Command
from drover.domain.identity.commands import (
    ChangePassword,
    ChangeRole,
    DisableAccount,
    EnableAccount,
    ResealAccount,
)
from drover.domain.identity.policy import AccountRole
from drover.domain.identity.subjects import CONTEXT, person_token
from drover.eventlog.streams import partitions_of
from drover.projection.readable import contexts_being_built
from drover.readmodel.form import placed
from drover.service.identity_keys import IdentityKeys
from drover.service.sealing import Ring
from drover.service.subject_sealing import Erased
from drover.web.commands import Origin
from drover.web.errors import ApiError

ORIGIN: Final = Origin(by="cli")

_LISTED: Final = """
SELECT id, email_sealed, role, disabled, created_at, last_sign_in_at FROM rm_identity.account_rows
ORDER BY created_at, id
"""


@asynchronous
async def add(email: str, role: str, password_stdin: bool, data_dir: Path | None) -> Exit:
    find_target(data_dir)  # fail before anybody types a password for nothing
    password = _password(password_stdin)
    async with _office(data_dir) as office, _told():
        command = await new_account(
            office.addresses, office.passwords, str(uuid4()), email, password, AccountRole(role)
        )
        await office.client.send(command, ORIGIN)
    click.echo(command.account_id)
    return Exit.OK


@asynchronous
async def role(who: str, role: str, data_dir: Path | None) -> Exit:
    return await _change(data_dir, who, lambda known: ChangeRole(known.account_id, role))


@asynchronous
async def disable(who: str, data_dir: Path | None) -> Exit:
    return await _change(data_dir, who, lambda known: DisableAccount(known.account_id))


@asynchronous
async def enable(who: str, data_dir: Path | None) -> Exit:
    return await _change(data_dir, who, lambda known: EnableAccount(known.account_id))


@asynchronous
async def password(who: str, password_stdin: bool, data_dir: Path | None) -> Exit:
    find_target(data_dir)  # fail before anybody types a password for nothing
    new = _password(password_stdin)
    async with _office(data_dir) as office, _told():
        known = await office.find(who)
        sealed = await office.passwords.sealed(new, known.account_id)
        await office.client.send(ChangePassword(known.account_id, sealed), ORIGIN)
    return Exit.OK


@asynchronous
async def list_(as_json: bool, data_dir: Path | None) -> Exit:
    target = find_target(data_dir)
    listed = await _listed(target)
    async with nats_of(target) as client:
        open_ = await _opener(_addresses(client, target, data_dir), listed)
    rows = [_row(row, open_) for row in listed]
    if as_json:
        print_json(rows)
    else:
        click.echo("\n".join(_lines(rows)))
    return Exit.OK


@asynchronous
async def rekey(data_dir: Path | None) -> Exit:
    wrapped_anew = await _rotate_keys(data_dir)
    changed, accounts = await rekey_accounts(data_dir, wrapped_anew)
    click.echo(f"{changed} of {accounts} accounts now use the current keys.")
    return Exit.OK


async def _rotate_keys(data_dir: Path | None) -> set[str]:
    """Encrypt (wrap) the keys of people with the first sealing key. Return the names of those that were wrapped with
    another one before."""
    target = find_target(data_dir)
    async with nats_of(target) as client:
        partitions = await partitions_of(client, CONTEXT)
        ring = _ring(target, data_dir)
        return set().union(*[(await rotate_partition(client, one, ring)).tokens for one in partitions])


async def rekey_accounts(data_dir: Path | None, wrapped_anew: Collection[str] = ()) -> tuple[int, int]:
    """Hash the addresses of all accounts with the current secret. What an earlier version sealed is sealed again, with
    the key of its person. Return how many accounts changed, and how many there are. `wrapped_anew`: names of keys that
    were just wrapped again; accounts with one of them count as changed."""
    target = find_target(data_dir)
    listed = await _listed(target)
    changed = 0
    async with _office(data_dir) as office, _told():
        for row in listed:
            known = await office.client.read(str(row["id"]))
            if known is None:
                continue
            if (command := await office.rekeyed(known)) is not None:
                await office.client.send(command, ORIGIN)
            changed += command is not None or person_token(known.account_id) in wrapped_anew
    return changed, len(listed)


@dataclass(frozen=True)
class _Office:
    client: IdentityClient
    addresses: Addresses
    passwords: Passwords

    async def find(self, who: str) -> KnownAccount:
        known = await self.client.read(who) if _is_id(who) else await self.client.find(self.addresses.hashes(who))
        if known is None:
            raise NoSuchAccount(who)
        return known

    async def rekeyed(self, known: KnownAccount) -> ResealAccount | None:
        try:
            hashes, email_sealed = await self.addresses.resealed(known.email_sealed, known.account_id)
        except Erased:  # the key of the account is lost: nothing of it can be read
            return None
        password_sealed = await self.passwords.resealed(known.password_sealed, known.account_id)
        made = ResealAccount(known.account_id, known.revision, hashes[0], email_sealed, password_sealed)
        before = (known.email_hash, known.email_sealed, known.password_sealed)
        return None if before == (made.email_hash, made.email_sealed, made.password_sealed) else made


@asynccontextmanager
async def _office(data_dir: Path | None) -> AsyncIterator[_Office]:
    target = find_target(data_dir)
    async with nats_of(target) as client:
        passwords = Passwords(_personal(client, target, data_dir))
        async with passwords.running():
            yield _Office(IdentityClient(CommandBus(client)), _addresses(client, target, data_dir), passwords)


def _addresses(client: Client, target: Target, data_dir: Path | None) -> Addresses:
    """Make `Addresses` with the keys from the environment. For a platform of `drover up`, keys that the environment
    lacks are read from the data directory."""
    secrets = identity_secrets(data_dir, embedded=target.embedded)
    return Addresses(IdentityKeys(secrets), _personal(client, target, data_dir))


def _personal(client: Client, target: Target, data_dir: Path | None) -> PersonalData:
    return PersonalData(SubjectKeys(CONTEXT, _ring(target, data_dir), asking(client, CONTEXT)))


def _ring(target: Target, data_dir: Path | None) -> Ring:
    return Ring.from_settings(sealing_keys(data_dir, embedded=target.embedded))


async def _opener(addresses: Addresses, rows: Sequence[Any]) -> OpenAddress:
    """Get the keys of the rows' addresses, and return the function that opens the addresses. If no process serves the
    keys, the list is shown without addresses."""
    try:
        return await addresses.opener(row["email_sealed"] for row in rows)
    except ApiError as error:
        click.echo(f"Addresses are not shown: {error.message}. Is the api service running?", err=True)
        return _open_nothing


def _open_nothing(sealed: str, account_id: str) -> None:
    return None


async def _change(data_dir: Path | None, who: str, command: Any) -> Exit:
    async with _office(data_dir) as office, _told():
        wanted: Command = command(await office.find(who))
        await office.client.send(wanted, ORIGIN)
    return Exit.OK


@asynccontextmanager
async def _told() -> AsyncIterator[None]:
    """Turn a refusal of the platform into an error of the command."""
    try:
        yield
    except ApiError as error:
        raise AccountRefused(error.code, error.message) from error


async def _listed(target: Target) -> list[Any]:
    async with postgres_of(target) as connection:
        try:
            if "identity" in await contexts_being_built(connection):
                raise AccountRefused("READ_MODEL_REBUILDING", "The list of accounts is being built; try again later")
            return list(await connection.fetch(placed(_LISTED)))
        except asyncpg.UndefinedTableError:  # the projector has not run yet
            return []


class Row(msgspec.Struct):
    id: UUID
    email: str | None
    role: str
    disabled: bool
    created_at: Any
    last_sign_in_at: Any


def _row(row: Any, open_: OpenAddress) -> Row:
    email = open_(row["email_sealed"], str(row["id"]))
    return Row(UUID(str(row["id"])), email, row["role"], row["disabled"], row["created_at"], row["last_sign_in_at"])


def _lines(rows: list[Row]) -> list[str]:
    """Format a table of accounts, with columns as wide as needed: a truncated address would be useless."""
    told = [("id", "role", "state", "last sign-in", "e-mail")]
    for row in rows:
        seen = local(row.last_sign_in_at)[: len("2026-01-31 08:00")] if row.last_sign_in_at else "never"
        email = printable(row.email or "(its key is missing)")
        told.append((str(row.id), row.role, "disabled" if row.disabled else "active", seen, email))
    widths = [max(map(len, column)) for column in zip(*told, strict=True)]
    return ["  ".join(map(str.ljust, line, widths)).rstrip() for line in told]


def _password(from_stdin: bool) -> str:
    """Read the password from a prompt or standard input. The command line is never used, because other users of the
    machine can see it."""
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    if not sys.stdin.isatty():
        raise click.UsageError("There is no terminal to ask for the password. Give it with --password-stdin.")
    return str(click.prompt("Password", hide_input=True, confirmation_prompt=True))


def _is_id(who: str) -> bool:
    try:
        return str(UUID(who)) == who.lower()
    except ValueError:
        return False
