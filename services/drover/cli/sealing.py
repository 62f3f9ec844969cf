"""`drover sealing`: backs up and restores the keys of personal data, through the leaders that serve them."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO, Final

import click
import msgspec
from nats.aio.client import Client
from nats.js.errors import NotFoundError

from drover.bus.subject_keys import SEALING_S, TOKENS_MAX, KeyQuestion, asking
from drover.cli.account import rekey_accounts
from drover.cli.errors import BackupUnreadable
from drover.cli.exits import Exit
from drover.cli.key_rotation import rotate_partition, stored_keys
from drover.cli.output import print_json
from drover.cli.platform_secrets import identity_secrets, sealing_keys
from drover.cli.ring_use import (
    ACCOUNTS,
    KEYS,
    RingUse,
    ids_of,
    missing,
    sealed_uses,
    stored_uses,
    unneeded,
)
from drover.cli.running import asynchronous
from drover.cli.target import find_target, nats_of, postgres_of
from drover.domain.contexts import CONTEXTS, SUBJECT_CONTEXTS
from drover.eventlog.log import Partition
from drover.eventlog.streams import partitions_of
from drover.service.sealing import Ring
from drover.service.subject_sealing import WrappedKey

KEPT_FOR: Final = timedelta(days=30)
"""How long a backup of keys is kept. With a backup, people who were erased after it could be read again."""
_STAMP: Final = "%Y%m%dT%H%M%SZ"
_NAME: Final = re.compile(r"keys-(\d{8}T\d{6}Z)\.(?:ndjson|partial)")
"""The name of a backup, or of the unfinished file of a command that was killed: it has keys, too."""


class SavedKey(msgspec.Struct):
    """One line of a backup."""

    context: str
    partition: str
    key: WrappedKey


_decode: Final = msgspec.json.Decoder(SavedKey).decode


@asynchronous
async def backup(folder: Path, data_dir: Path | None) -> Exit:
    now = datetime.now(UTC)
    path = folder / f"keys-{now.strftime(_STAMP)}.ndjson"
    count = 0
    async with _leaders(data_dir) as (client, partitions):
        with _new_file(path) as file:
            for partition in partitions:
                async for key in stored_keys(client, partition):
                    file.write(msgspec.json.encode(SavedKey(partition.context, partition.name, key)) + b"\n")
                    count += 1
    removed = remove_outdated(folder, now)
    click.echo(f"{path}: {count} keys. Removed backups older than {KEPT_FOR.days} days: {removed}.")
    return Exit.OK


@asynchronous
async def restore(file: Path, data_dir: Path | None) -> Exit:
    saved = [*_saved(file)]
    put_back = erased = 0
    async with _leaders(data_dir) as (client, partitions):
        for partition in partitions:
            keys = [one.key for one in saved if (one.context, one.partition) == (partition.context, partition.name)]
            for start in range(0, len(keys), TOKENS_MAX):
                some = keys[start : start + TOKENS_MAX]
                question = KeyQuestion(create=some)
                answer = await asking(client, partition.context)(partition.name, question, SEALING_S)
                put_back += sum(key in some for key in answer.keys)
                erased += sum(key.generation < answer.erased.get(key.token, 0) for key in some)
    click.echo(f"{put_back} of {len(saved)} keys are stored now. Erased since the backup, not put back: {erased}.")
    return Exit.OK


@asynchronous
async def rotate(data_dir: Path | None) -> Exit:
    unreadable = 0
    async with _leaders(data_dir) as (client, partitions):
        for context in SUBJECT_CONTEXTS:
            ring = _ring(data_dir, context)
            done = Counter[str]()
            for partition in (one for one in partitions if one.context == context):
                done += (await rotate_partition(client, partition, ring)).done
            click.echo(f"{context}: {done['wrapped']} of {done.total()} keys are wrapped anew, with {ring.current}.")
            if left := done["unreadable"]:
                click.echo(f"{context}: {left} keys cannot be opened: see `drover sealing status`.", err=True)
            unreadable += left
    if identity_secrets(data_dir, embedded=find_target(data_dir).embedded):
        changed, accounts = await rekey_accounts(data_dir)
        click.echo(f"identity: {changed} of {accounts} accounts are sealed anew.")
    return Exit.FAILED if unreadable else Exit.OK


@asynchronous
async def status(as_json: bool, data_dir: Path | None) -> Exit:
    target = find_target(data_dir)
    async with nats_of(target) as client, postgres_of(target) as postgres:
        uses = sorted([*await stored_uses(client, all_pages=True), *await sealed_uses(postgres)])
    rings = rings_of(data_dir, embedded=target.embedded)
    gone = missing(uses, rings)
    if as_json:
        print_json([{"missing": use in gone, **msgspec.to_builtins(use)} for use in uses])
    else:
        for use in uses:
            click.echo(f"{use.context}: {use.kid} opens {use.count} {use.what}{_remark(use, rings, gone)}")
        for context, kid in unneeded(uses, rings):
            click.echo(f"{context}: {kid} opens no key and nothing in the tables any more.")
    return Exit.FAILED if gone else Exit.OK


def rings_of(
    data_dir: Path | None, *, embedded: bool, environ: Mapping[str, str] = os.environ
) -> dict[str, tuple[str, ...]]:
    """Return the ids of the sealing keys in the settings, by context. The first one seals."""
    return {
        context: ids_of(sealing_keys(data_dir, embedded=embedded, context=context, environ=environ))
        for context in CONTEXTS
    }


def _remark(use: RingUse, rings: Mapping[str, tuple[str, ...]], gone: Sequence[RingUse]) -> str:
    if use in gone:
        return ". It is NOT in the settings: put it back."
    if use.kid == rings[use.context][0]:
        return "."
    if use.what in (KEYS, ACCOUNTS):
        return ". `drover sealing rotate` changes that."
    return ". That stays so: they are in the log."


def _ring(data_dir: Path | None, context: str) -> Ring:
    return Ring.from_settings(sealing_keys(data_dir, embedded=find_target(data_dir).embedded, context=context))


def remove_outdated(folder: Path, now: datetime) -> int:
    """Remove the backups in a folder that are too old, and return how many."""
    found = ((path, _NAME.fullmatch(path.name)) for path in folder.iterdir())
    outdated = [path for path, named in found if named and now - _made_at(named[1]) > KEPT_FOR]
    for path in outdated:
        path.unlink()
    return len(outdated)


@contextmanager
def _new_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file that only its owner can read. It gets its name when it is complete; after an error it is removed."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    try:
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.rename(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _made_at(stamp: str) -> datetime:
    return datetime.strptime(stamp, _STAMP).replace(tzinfo=UTC)


def _saved(file: Path) -> Iterator[SavedKey]:
    for number, line in enumerate(file.read_bytes().splitlines(), 1):
        try:
            yield _decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise BackupUnreadable(file, number) from error


@asynccontextmanager
async def _leaders(data_dir: Path | None) -> AsyncIterator[tuple[Client, Sequence[Partition]]]:
    async with nats_of(find_target(data_dir)) as client:
        partitions: list[Partition] = []
        for context in SUBJECT_CONTEXTS:
            with suppress(NotFoundError):  # no service has ever used this context
                partitions += await partitions_of(client, context)
        yield client, partitions
