"""`/api/events/…/chain`: the command that caused an event, all events of that command, and what happened next."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from drover.api.reads.database import ReadModels
from drover.api.reads.endpoint import Question, Subject, reads
from drover.api.reads.events import EVENTS, ONE_PATH, PLACE, Event, find_event, make_event
from drover.api.reads.parameters import Asked
from drover.api.reads.queries import QUERIES
from drover.domain.contexts import CONTEXTS

PATH: Final = f"{ONE_PATH}/chain"
EVENTS_MAX: Final = 500
ENTITIES_MAX: Final = 100
"""Maximum of entities for which the answer says what happened next; further ones are left out."""


class Cause(msgspec.Struct):
    """The command that caused the events, as far as its events describe it: commands are not in the log."""

    id: str
    by: str
    at: datetime
    trace: str | None


class Continuation(msgspec.Struct):
    """The next event of an entity that the command changed, caused by another command."""

    entity: str
    context: str
    after_seq: int
    """The sequence number of the commit with the command's last event about the entity."""
    after_line: int
    event: Event


class Chain(msgspec.Struct):
    event: Event
    """The requested event."""
    command: Cause
    preceded_by: Event | None
    """The previous event of the same entity, caused by another command; null if there is none."""
    events: list[Event]
    """All events that the command caused, in every context, oldest first."""
    events_left_out: bool
    """Whether the command caused more than 500 events: those after the first 500 are missing here."""
    continues: list[Continuation]
    """For the first 100 entities that the command changed: the next event of each, oldest first."""


class Chains(Subject):
    @reads(
        PATH,
        id="getEventChain",
        tag="operations",
        summary="An event's command, effects, and what came next",
        answer=Chain,
        contexts=CONTEXTS,
        parameters=PLACE,
        errors=(404,),
    )
    async def chain(self, question: Question) -> Chain:
        models = self._endpoint.models
        event = await find_event(self._endpoint, question.request)
        page = await EVENTS.page(models, Asked({"cause": event.cause, "limit": EVENTS_MAX}))
        events = page.items[::-1]
        first = events[0] if events else event
        return Chain(
            event=event,
            command=Cause(event.cause, first.by, first.at, first.trace),
            preceded_by=await _before(models, event),
            events=events,
            events_left_out=page.next is not None,
            continues=await _continues(models, events, event.cause),
        )


async def _before(models: ReadModels, event: Event) -> Event | None:
    if not event.entities:
        return None
    sql = QUERIES["event_before"].format(context=event.context)
    place = (event.at, event.seq, event.line)
    row = await models.fetch_one(event.context, sql, event.entities[0], *place, event.cause)
    return None if row is None else make_event(row)


async def _continues(models: ReadModels, events: list[Event], cause: str) -> list[Continuation]:
    last: dict[tuple[str, str], Event] = {}
    for event in events:  # oldest first: keeps the last event of each entity
        if event.entities and ((event.context, event.entities[0]) in last or len(last) < ENTITIES_MAX):
            last[event.context, event.entities[0]] = event
    found: list[Continuation] = []
    for context in dict.fromkeys(context for context, _ in last):
        mine = [(entity, event) for (name, entity), event in last.items() if name == context]
        rows = await models.fetch(
            context,
            QUERIES["next_of_entities"].format(context=context),
            [entity for entity, _ in mine],
            [event.at for _, event in mine],
            [event.seq for _, event in mine],
            [event.line for _, event in mine],
            cause,
        )
        found += [
            Continuation(row["entity"], context, row["after_seq"], row["after_line"], make_event(row)) for row in rows
        ]
    return sorted(found, key=lambda one: one.event.at)
