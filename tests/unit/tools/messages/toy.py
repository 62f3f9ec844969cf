"""A small context, of which tests make other versions: today's, and those that somebody might make of it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from drover.domain.decider import NOTHING, Command, Decider
from drover.domain.event import Event, TermStarted


class Place(msgspec.Struct, forbid_unknown_fields=True):
    shelf: str
    row: int = 0


class BookAdded(Event):
    """A book came."""

    book_id: str
    title: str | None
    pages: int
    place: Place
    tags: list[str] = []  # noqa: RUF012 - msgspec makes a new one each time


class BookLent(Event):
    book_id: str
    due: datetime


class AddBook(Command):
    book_id: str
    pages: int = 1


class LendBook(Command):
    book_id: str


def library(
    events: Any = TermStarted | BookAdded | BookLent, commands: Any = AddBook | LendBook, upcasters: Any = None
):
    return Decider(
        context="library",
        initial=dict,
        decide=lambda state, command, now: NOTHING,
        evolve=lambda state, event: state,
        next_deadline=lambda state: None,
        commands=commands,
        events=events,
        state=dict,
        upcasters=upcasters or {},
    )


BOOK_ADDED = {
    "type": "BookAdded",
    "book_id": "b1",
    "title": "Sand",
    "pages": 300,
    "place": {"shelf": "A", "row": 2},
    "tags": [],
    "n": 1,
    "at": "2026-11-16T03:00:00Z",
    "by": "anon",
    "cause": "c1",
}


def keep_sample(folder: Path, fields: dict[str, Any] = BOOK_ADDED) -> None:
    file = folder / "samples" / "library" / f"{fields['type']}.1.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(msgspec.json.encode(fields))
