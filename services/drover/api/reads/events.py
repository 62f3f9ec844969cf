"""`/api/events`: searches the log by entity, type, actor, command and time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from aiohttp import web

from drover.api.reads.alerts import CONTEXT
from drover.api.reads.endpoint import Endpoint, Question, Subject, lists, number_in, reads
from drover.api.reads.event_types import ALL, EVERYDAY, TYPES
from drover.api.reads.listing import Key, Values
from drover.api.reads.parameters import BIGINT_MAX, FROM, INT_MAX, TO, Asked, one_of, text
from drover.api.reads.queries import QUERIES
from drover.api.reads.records import maker
from drover.api.reads.united import Branch, United
from drover.domain.contexts import CONTEXTS
from drover.readmodel.events import ENTITIES_MAX, EventRow
from drover.web.errors import not_found
from drover.web.route import in_path

PATH: Final = "/api/events"
ONE_PATH: Final = f"{PATH}/{{context}}/{{seq}}/{{line}}"
PEOPLE: Final = "user:"
"""Prefix of actors who are people. They cause few events, so an index finds these fast."""


class Event(EventRow, frozen=True, kw_only=True):
    """An event as it was recorded."""

    context: str


make_event: Final = maker(Event)


def _by_index(column: str, place: str) -> str:
    """Make a condition on the hash of a column, which is indexed, and on its value. For queries with several such
    conditions.

    PostgreSQL assumes that the comparison of the value removes most rows, so it reads all matches from the indices and
    sorts them.
    """
    return f"{_hash(column)} = {_hash(place)} AND {column} = {place}"


def _in_order(column: str, place: str) -> str:
    """Make a condition on the hash of a column and on its value. For queries with one such condition: its index returns
    rows by time.

    PostgreSQL assumes that the comparison of the value keeps half of the rows, so it reads the index only until it has
    enough rows. The newest hundred events then cost the same for a job with a hundred thousand events as for a phone
    with few.
    """
    return f"{_hash(column)} = {_hash(place)} AND {_is(column, place)}"


def _hash(text: str) -> str:
    return f"hashtextextended({text}, 0)"


def _is(column: str, place: str) -> str:
    """Make a condition on the value of a column that does not use an index. For values that are frequent among the rows
    that another condition finds."""
    return f"coalesce({column} = {place}, FALSE)"


def _branches(contexts: Sequence[str], asked: Asked, values: Values) -> list[Branch]:
    types: tuple[str, ...] = asked["type"] or ()
    wanted = [
        name
        for name in contexts
        if name in (asked["context"] or contexts) and (not types or not TYPES[name].isdisjoint(types))
    ]
    if not wanted:
        return []
    # Two conditions need no index, because filtering is fast: an everyday type among the events of an entity, and an
    # actor that is not a person among the events of an entity or of a type.
    own = asked["entity"] is not None
    is_plain_actor = (own or bool(types)) and not (asked["actor"] or "").startswith(PEOPLE)
    is_plain_type = own and EVERYDAY.issuperset(types)
    narrowing = (
        own,
        asked["actor"] is not None and not is_plain_actor,
        asked["cause"] is not None,
        bool(types) and not is_plain_type,
    )
    look_up = _in_order if sum(narrowing) == 1 else _by_index
    shared = [
        (_is if name == "actor" and is_plain_actor else look_up)(f"e.{column}", f"{values.add(asked[name])}::text")
        for name, column in (("actor", "by"), ("cause", "cause"))
        if asked[name] is not None
    ]
    for name, sql in (("from", "e.at >= {}"), ("to", "e.at < {}")):
        if asked[name] is not None:
            shared.append(sql.format(values.add(asked[name])))
    # Only types that some context has: PostgreSQL refuses unused parameters.
    there = [type_ for type_ in types if any(type_ in TYPES[name] for name in wanted)]
    places = {type_: f"{values.add(type_)}::text" for type_ in there}
    entity = None if asked["entity"] is None else f"{values.add(asked['entity'])}::text"
    branches = []
    for name in wanted:
        of_type: list[tuple[str, ...]] = [
            ((_is if is_plain_type else look_up)("e.type", place),)
            for type_, place in places.items()
            if type_ in TYPES[name]
        ] or [()]
        of_entity: list[tuple[str, ...]] = [(it,) for it in _about(entity, look_up)] if entity else [()]
        branches += [Branch(name, (*one, *other, *shared)) for one in of_entity for other in of_type]
    return branches


def _about(place: str, look_up: Callable[[str, str], str]) -> list[str]:
    """Make the conditions for an entity that may be in any field of an event: one branch per field, without
    duplicates."""
    found: list[str] = []
    for number in range(1, ENTITIES_MAX + 1):
        earlier = "".join(f" AND e.entities[{before}] <> {place}" for before in range(1, number))
        found.append(look_up(f"e.entities[{number}]", place) + earlier)
    return found


EVENTS: Final = United(
    "events",
    CONTEXTS,
    Event,
    key=(
        Key("at", "e.at", datetime, "timestamptz"),
        Key("seq", "e.seq", int, "bigint"),
        Key("line", "e.line", int, "int"),
    ),
    kinds=(
        CONTEXT,
        text("entity", "The id of a device, job, assignment, PC, render, test, user, page or alert that it is about."),
        one_of("type", ALL, "Of one of these types.", many=True),
        text("actor", "By this actor."),
        text("cause", "Caused by this command."),
        FROM,
        TO,
    ),
    branches=_branches,
)
PLACE: Final = (
    in_path("context", str, "The context."),
    in_path("seq", int, "Sequence of the commit."),
    in_path("line", int, "Line within it, from 0."),
)


class Events(Subject):
    events = lists(EVENTS, PATH, id="listEvents", tag="operations", summary="Events, newest first")

    @reads(
        ONE_PATH,
        id="getEvent",
        tag="operations",
        summary="One event",
        answer=Event,
        contexts=CONTEXTS,
        parameters=PLACE,
        errors=(404,),
    )
    async def one(self, question: Question) -> Event:
        return await find_event(self._endpoint, question.request)


async def find_event(endpoint: Endpoint, request: web.Request) -> Event:
    """Find the event that the path names. Raises 404 if there is none."""
    context = request.match_info["context"]
    seq, line = number_in(request, "seq", BIGINT_MAX), number_in(request, "line", INT_MAX)
    if context not in CONTEXTS:
        raise not_found("Event")
    select = QUERIES["events"].format(context=context)
    row = await endpoint.models.fetch_one(context, f"{select}\nWHERE e.seq = $1 AND e.line = $2", seq, line)
    if row is None:
        raise not_found("Event")
    return make_event(row)
