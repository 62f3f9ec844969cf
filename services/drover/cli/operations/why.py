"""`drover why`: finds out what an id is, and says in plain words why it waits, or how it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from drover.cli.errors import IdAmbiguous, NotExplained, NothingFound, NotThere, Refused
from drover.cli.exits import Exit
from drover.cli.operations.client import Client, Row, client_of
from drover.cli.operations.formatting import heading, now, short_id
from drover.cli.operations.lookup import (
    ALARM,
    ASSIGNMENT,
    DEVICE,
    JOB,
    MATCHING_SHOWN_MAX,
    RENDER,
    TEST,
    Kind,
    matching,
    names_of,
    near,
)
from drover.cli.operations.names import at_local_times, ids_in, named
from drover.cli.operations.watching import show as show_document
from drover.cli.output import printable
from drover.cli.running import asynchronous
from drover.cli.server_options import Server

FORBIDDEN: Final = 403


class Explained(msgspec.Struct, frozen=True):
    """A kind of thing, and where the platform explains it."""

    kind: Kind
    path: str
    """With the columns of a row in braces."""

    def path_of(self, row: Row) -> str:
        return self.path.format_map({name: quote(str(value), safe="") for name, value in row.items()})


EXPLAINED: Final[Mapping[str, Explained]] = {
    "job": Explained(JOB, "/rest/v1/rpc/why?job_id={id}"),
    "assignment": Explained(ASSIGNMENT, "/rest/v1/rpc/why?assignment_id={id}"),
    "device": Explained(DEVICE, "/rest/v1/rpc/why?device_id={id}"),
    "render": Explained(RENDER, "/api/why/renders/{id}"),
    "test": Explained(TEST, "/api/why/tests/{id}"),
    "alarm": Explained(ALARM, "/api/why/reminders/{user_id}/{page_id}"),
}
"""Everything that `drover why` explains, by the word of `--kind`."""


class Subject(msgspec.Struct, frozen=True):
    """What was asked about."""

    explained: Explained
    row: Row

    @property
    def id(self) -> str:
        return str(self.row[self.explained.kind.key])

    @property
    def called(self) -> str:
        return f"{self.explained.kind.name} {self.explained.kind.called(self.row)}"


@asynchronous
async def why(id_: str, kind: str | None, watch: bool, as_json: bool, server: Server) -> Exit:
    async with client_of(server) as client:
        subject = await _subject(client, id_, kind)
        path = subject.explained.path_of(subject.row)

        async def read() -> Row:
            try:
                document: Row = await client.get(path)
            except NotThere as error:  # it was found a moment ago
                raise NotExplained(subject.explained.kind.name, subject.explained.kind.listing) from error
            return document if as_json else await _in_words(client, subject, document)

        return await show_document(read, lambda document: _view(subject, document), as_json=as_json, watch=watch)


async def _subject(client: Client, given: str, kind: str | None) -> Subject:
    """Ask for all kinds at once. An exact id or serial number wins over the beginning of another."""
    asked = [EXPLAINED[kind]] if kind else list(EXPLAINED.values())
    answers = await asyncio.gather(*(_matching(client, one, given, whole=kind is None) for one in asked))
    found = [Subject(one, row) for one, rows in zip(asked, answers, strict=True) for row in rows]
    exact = [subject for subject in found if _is_exact(subject, given)]
    if len(exact) == 1:
        return exact[0]
    if not found:
        meant = [name for one in asked if one.kind in (JOB, DEVICE) for name in await near(client, one.kind, given)]
        what = kind or "job, assignment, device, render, test or alarm"
        raise NothingFound(what, given, meant, asked[0].kind.listing)
    if len(found) > 1:
        shown = [subject.called for subject in found[:MATCHING_SHOWN_MAX]]
        raise IdAmbiguous(given, shown, more=len(found) > MATCHING_SHOWN_MAX)
    return found[0]


async def _matching(client: Client, explained: Explained, given: str, *, whole: bool) -> list[Row]:
    """Return those that may be meant; none if this key may not read them, as another kind may match."""
    try:
        return await matching(client, explained.kind, given, whole=whole)
    except Refused as error:
        if error.status == FORBIDDEN:
            return []
        raise


def _is_exact(subject: Subject, given: str) -> bool:
    known = {subject.id, str(subject.row.get("serial_number", ""))}
    return given in known or given.lower() in known or given.upper() in known


async def _in_words(client: Client, subject: Subject, document: Row) -> Row:
    """Write names instead of ids into the sentences, and local times."""
    sentences = [reason["sentence"] for reason in document["reasons"]]
    own = {subject.id: subject.explained.kind.describe(subject.row) or subject.id}
    names = own | await names_of(client, ids_in(*sentences) - own.keys())
    at = now()
    told = [at_local_times(named(sentence, names), at) for sentence in sentences]
    return document | {"reasons": [{"sentence": sentence} for sentence in told]}


def _view(subject: Subject, document: Row) -> RenderableType:
    kind = subject.explained.kind
    reasons = Table.grid(padding=(0, 1))
    for number, reason in enumerate(document["reasons"], 1):
        reasons.add_row(Text(f"{number}.", "dim"), Text(printable(reason["sentence"])))
    return Group(heading(kind.name, _name(subject), document["status"]), reasons)


def _name(subject: Subject) -> str:
    """Name the subject in the heading. People know phones by their serial numbers, everything else by its id, too."""
    kind = subject.explained.kind
    name = kind.describe(subject.row)
    return name or subject.id if kind is DEVICE or not name else f"{name} ({short_id(subject.id)})"
