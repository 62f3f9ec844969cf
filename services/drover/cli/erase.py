"""`drover erase`: erases a person, or the content of a render, from a shell."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final

import click

from drover.bus.client import CommandBus
from drover.bus.subject_keys import asking
from drover.cli.errors import ErasureRefused, NothingToErase
from drover.cli.exits import Exit
from drover.cli.running import asynchronous
from drover.cli.target import find_target, nats_of, postgres_of
from drover.domain.contexts import SUBJECT_CONTEXTS
from drover.domain.errors import Code
from drover.eventlog.streams import partitions_of
from drover.web.commands import Origin
from drover.web.erasing import ErasedUser, Eraser
from drover.web.errors import ApiError

ORIGIN: Final = Origin(by="cli")


@asynchronous
async def user(user_id: str, yes: bool, data_dir: Path | None) -> Exit:
    async with _eraser(data_dir) as eraser:
        _confirm(f"Erase user {user_id} for ever?", yes=yes)
        done = (await eraser.erase_user(user_id, ORIGIN)).answer
    click.echo(told(done))
    if not done.is_complete:
        click.echo("Some alarms are left; nobody can read their texts. Run the command again to delete them.", err=True)
        return Exit.FAILED
    return Exit.OK


@asynchronous
async def render(render_id: int, yes: bool, data_dir: Path | None) -> Exit:
    async with _eraser(data_dir) as eraser:
        _confirm(f"Erase the gfx_data of render {render_id} for ever?", yes=yes)
        await eraser.erase_render(render_id, ORIGIN)
    click.echo(f"Erased: the key of render {render_id} is destroyed.")
    return Exit.OK


def told(done: ErasedUser) -> str:
    """Return the sentences that say what was erased. An id that nobody has is erased, too: texts of deleted alarms may
    be in the log. So a mistyped id looks like success unless these sentences say that nothing was found."""
    erased = f"Erased: the keys of {done.user_id} are destroyed."
    if not (done.had_account or done.alarms):
        return f"{erased} No account and no alarm has this id now: check it if you expected some."
    account = " Their account is removed." if done.had_account else ""
    return f"{erased}{account} Alarms deleted: {done.alarms}."


def _confirm(question: str, *, yes: bool) -> None:
    if not yes:
        click.confirm(question, abort=True)


@asynccontextmanager
async def _eraser(data_dir: Path | None) -> AsyncIterator[Eraser]:
    target = find_target(data_dir)
    async with nats_of(target) as client, postgres_of(target) as postgres:
        partitions = {
            context: [partition.name for partition in await partitions_of(client, context)]
            for context in SUBJECT_CONTEXTS
        }
        try:
            yield Eraser(CommandBus(client), postgres, partial(asking, client), partitions)
        except ApiError as error:
            kind = NothingToErase if error.code == Code.NOT_FOUND else ErasureRefused
            raise kind(error.code, error.message) from error
