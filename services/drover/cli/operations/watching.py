"""Shows a document once, or again and again (`--watch`): as a table for people, or as JSON for programs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import click
from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from drover.cli.errors import PlatformTroubled, ServerAway
from drover.cli.exits import Exit
from drover.cli.following import while_somebody_reads
from drover.cli.output import console, print_json

WATCH_EVERY_S: Final = 2.0
PIPE_COLUMNS: Final = 10_000
"""The width of output that is no terminal: nothing is cut off there."""

Document = TypeVar("Document")
Read = Callable[[], Awaitable[Document]]
View = Callable[[Document], RenderableType]


async def show(read: Read[Document], view: View[Document], *, as_json: bool, watch: bool = False) -> Exit:
    if watch:
        await while_somebody_reads(_watch(read, view, as_json))
    _print(await read(), view, as_json)
    return Exit.OK


def print_view(view: RenderableType) -> None:
    """Print for people. Into a pipe, lines have no spaces at their ends."""
    screen = console()
    if screen.is_terminal:
        screen.print(view)
        return
    screen.width = PIPE_COLUMNS
    with screen.capture() as captured:
        screen.print(view)
    click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


def _print(document: Document, view: View[Document], as_json: bool) -> None:
    if as_json:
        print_json(document)
    else:
        print_view(view(document))


async def _watch(read: Read[Document], view: View[Document], as_json: bool) -> None:
    """Redraw a terminal in place until Ctrl-C; a pipe gets one document after the other. If the platform is away for a
    while, the last document stays, with the reason. The first read must succeed."""
    document = await read()
    screen = console()
    if as_json or not screen.is_terminal:
        while True:
            _print(document, view, as_json)
            document = await _next(read)
    with Live(console=screen, auto_refresh=False) as live:
        trouble = ""
        while True:
            shown = view(document)
            live.update(Group(shown, Text(f"\n! {trouble}", "red")) if trouble else shown, refresh=True)
            await asyncio.sleep(WATCH_EVERY_S)
            try:
                document, trouble = await read(), ""
            except (ServerAway, PlatformTroubled) as error:
                trouble = str(error)


async def _next(read: Read[Document]) -> Document:
    said = False
    while True:
        await asyncio.sleep(WATCH_EVERY_S)
        try:
            return await read()
        except (ServerAway, PlatformTroubled) as error:
            if not said:
                click.echo(f"{error} Trying again.", err=True)
            said = True
