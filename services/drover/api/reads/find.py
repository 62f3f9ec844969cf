"""`/api/find`: what a few letters may mean: jobs, renders, users and events. Every query uses an index."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final
from uuid import UUID

import msgspec

from drover.api.reads.endpoint import Question, Subject, reads
from drover.api.reads.event_types import ALL
from drover.api.reads.events import EVENTS, Event
from drover.api.reads.parameters import INT_MAX, Asked, parse_uuid, text
from drover.api.reads.queries import QUERIES
from drover.domain.contexts import CONTEXTS

PATH: Final = "/api/find"
FOUND_MAX: Final = 6
"""The maximum number of results of each kind."""
EVENTS_MAX: Final = 3
Q_CHARS_MAX: Final = 100
_LAST: Final = "\U0010ffff"
"""Sorts after every other character."""


class FoundJob(msgspec.Struct):
    id: UUID
    title: str | None
    status: str
    created_at: datetime


class FoundRender(msgspec.Struct):
    id: int
    composition_name: str
    status: str
    created_at: datetime


class FoundUser(msgspec.Struct):
    """A user of analyses."""

    id: str
    tier: str
    frozen: bool


class FoundEvent(msgspec.Struct):
    """An event about the thing with this id, or caused by the command with this id."""

    context: str
    seq: int
    line: int
    at: datetime
    type: str


class Found(msgspec.Struct):
    """At most 6 of each kind, the best match first: an id, then the whole name, then its beginning."""

    jobs: list[FoundJob]
    renders: list[FoundRender]
    users: list[FoundUser]
    event_types: list[str]
    """Types of events whose name contains the text."""
    events: list[FoundEvent]
    """The newest events of which the text is an id, at most 3."""


_Q: Final = text(
    "q", "An id or a number, or the beginning of a title, of a name or of a user's id.", chars_max=Q_CHARS_MAX
)


class Finder(Subject):
    @reads(
        PATH,
        id="find",
        tag="operations",
        summary="What a few letters may mean: jobs, renders, users, events",
        answer=Found,
        contexts=CONTEXTS,
        kinds=(_Q,),
    )
    async def get(self, question: Question) -> Found:
        q = (question.asked["q"] or "").strip()
        if not q:
            return Found([], [], [], [], [])
        low = q.lower()
        span = (low, low + _LAST)
        return Found(
            jobs=[FoundJob(*row) for row in await self._jobs(q, span)][:FOUND_MAX],
            renders=[FoundRender(*row) for row in await self._renders(q, span)][:FOUND_MAX],
            users=[FoundUser(*row) for row in await self._fetch("analysis", "find_users", *span)],
            event_types=sorted(type_ for type_ in ALL if low in type_.lower())[:FOUND_MAX],
            events=await self._events(q),
        )

    async def _jobs(self, q: str, span: tuple[str, str]) -> list[Any]:
        id_ = _uuid(q)
        exact = [] if id_ is None else await self._fetch("fleet", "find_job", id_)
        return [*exact, *await self._fetch("fleet", "find_jobs", *span)]

    async def _renders(self, q: str, span: tuple[str, str]) -> list[Any]:
        digits = q.removeprefix("#")
        is_number = digits.isascii() and digits.isdecimal() and len(digits) <= 10 and int(digits) <= INT_MAX
        exact = await self._fetch("render", "find_render", int(digits)) if is_number else []
        named = await self._fetch("render", "find_renders", *span)
        others = await self._fetch("render", "find_renders_of_compositions", span[0])
        return [*{row["id"]: row for row in (*exact, *named, *others)}.values()]

    async def _events(self, q: str) -> list[FoundEvent]:
        about = (await EVENTS.page(self._endpoint.models, Asked({"entity": q, "limit": EVENTS_MAX}))).items
        caused = (await EVENTS.page(self._endpoint.models, Asked({"cause": q, "limit": EVENTS_MAX}))).items
        newest: list[Event] = sorted([*about, *caused], key=lambda event: event.at, reverse=True)[:EVENTS_MAX]
        return [FoundEvent(event.context, event.seq, event.line, event.at, event.type) for event in newest]

    async def _fetch(self, context: str, query: str, *values: Any) -> list[Any]:
        return await self._endpoint.models.fetch(context, QUERIES[query], *values)


def _uuid(q: str) -> UUID | None:
    try:
        return parse_uuid(q)
    except ValueError:
        return None
