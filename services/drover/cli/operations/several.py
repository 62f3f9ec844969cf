"""Does the same with several things: each succeeds or fails on its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

from drover.cli.errors import KeyNotAccepted, ServerAway
from drover.cli.exits import Exit, exit_code_of
from drover.cli.operations.client import Client, Row
from drover.cli.operations.formatting import count
from drover.cli.operations.lookup import Kind, find
from drover.cli.output import print_json, printable
from drover.domain.errors import DroverError

T = TypeVar("T")
Act = Callable[[T], Awaitable[tuple[str, Any]]]


async def each(given: Sequence[str], act: Act[str], *, as_json: bool) -> Exit:
    """Act on each, as it was written on the command line."""
    return await each_of({one: one for one in given}, act, as_json=as_json)


async def each_found(client: Client, kind: Kind, given: Sequence[str], act: Act[Row], *, as_json: bool) -> Exit:
    """Find each and act on it, before the next one is looked for."""

    async def one(text: str) -> tuple[str, Any]:
        return await act(await find(client, kind, text))

    return await each(given, one, as_json=as_json)


async def each_of(given: Mapping[str, T], act: Act[T], *, as_json: bool) -> Exit:
    """Act on each, in order, and print what was done, or with --json one list of the results. `act` returns a sentence
    and a document. The exit code is that of the first error."""
    code = Exit.OK
    done: list[Any] = []
    for name, one in given.items():
        try:
            sentence, document = await act(one)
        except (ServerAway, KeyNotAccepted):
            raise  # holds for all others, too
        except DroverError as error:
            if len(given) == 1:
                raise
            click.echo(f"{click.style('Error:', fg='red')} {printable(name)}: {error}", err=True)
            code = code or exit_code_of(error)
            continue
        done.append(document)
        if not as_json:
            click.echo(printable(sentence))
    if as_json:
        print_json(done)
    return code


async def find_all(client: Client, kind: Kind, given: Sequence[str]) -> dict[str, Row]:
    """Find each before the first is changed. Raises the error of the first that is not found."""
    return {one: await find(client, kind, one) for one in given}


def these(kind: Kind, found: Mapping[str, Row]) -> str:
    """Name one, or say how many."""
    rows = list(found.values())
    return f"{kind.name} {kind.called(rows[0])}" if len(rows) == 1 else count(len(rows), kind.name)


def created(row: Row, sentence: str, *, key: str = "id", as_json: bool) -> Exit:
    """Print what was made: its id alone on standard output, for scripts, and a sentence on standard error."""
    if as_json:
        print_json(row)
    else:
        click.echo(printable(sentence), err=True)
        click.echo(row[key])
    return Exit.OK
