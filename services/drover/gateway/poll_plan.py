"""Recognizes an agent's poll among the reads of `job_assignments` by its query. `polling` answers it."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from drover.gateway.writes.representation import is_bare
from drover.readmodel.models import RELATIONS
from drover.readmodel.relation import Relation
from drover.web.postgrest.ast import Column, Embed, Filter, Item, Query, Star
from drover.web.postgrest.grammar import parse_query, split_parameters

EMBEDDED: Final = "jobs"
"""The one relation that a poll may embed."""
SHAPES_MAX: Final = 256
SHAPE_CHARS_MAX: Final = 512
"""Maximum length of a shape (a query without the id of its device) that is cached. Agents of one kind send the same
shape, so it is parsed once."""

_DEVICE: Final = re.compile(r"(?:^|&)device_id=eq\.([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})(?=&|$)")
_WANTED: Final = {("device_id", "eq"), ("status", "eq")}


class Plan(msgspec.Struct, frozen=True):
    """The columns that a poll wants of its row."""

    select: tuple[Item, ...]


class Plans:
    """Parses queries, and caches a bounded number of their shapes."""

    def __init__(self) -> None:
        self._by_shape: dict[str, Plan | None] = {}

    def __len__(self) -> int:
        return len(self._by_shape)

    def read(self, query: str) -> tuple[str, Plan] | None:
        """Return the device that polls, and the plan of its poll. None: the query is not a poll."""
        match = _DEVICE.search(query)
        if match is None:
            return None
        shape = query[: match.start(1)] + query[match.end(1) :]
        try:
            plan = self._by_shape[shape]
        except KeyError:
            plan = self._learn(shape, query)
        return None if plan is None else (match[1].lower(), plan)

    def _learn(self, shape: str, query: str) -> Plan | None:
        plan = _plan(parse_query(split_parameters(query)))
        if len(shape) <= SHAPE_CHARS_MAX:
            if len(self._by_shape) >= SHAPES_MAX:
                del self._by_shape[next(iter(self._by_shape))]
            self._by_shape[shape] = plan
        return plan


def _plan(query: Query) -> Plan | None:
    """Make the plan of a poll. None for any other query, which the read model answers or refuses."""
    asked = {
        (part.column, part.operator): part.value
        for part in query.where
        if isinstance(part, Filter) and not part.negated and part.path is None
    }
    is_poll = (
        len(query.where) == len(asked)
        and asked.keys() == _WANTED
        and asked["status", "eq"] == "pending"
        and query.offset == 0
        and query.limit != 0
        and all(term.embed is None and _has(RELATIONS["job_assignments"], term.column) for term in query.order)
        and all(_can_show(RELATIONS["job_assignments"], item) for item in query.select)
    )
    return Plan(query.select) if is_poll else None


def _can_show(relation: Relation, item: Item) -> bool:
    if isinstance(item, Embed):
        inside = item.query
        return (
            relation.name != EMBEDDED
            and item.relation == EMBEDDED
            and item.hint is None
            and inside == Query(select=inside.select)
            and all(_can_show(RELATIONS[EMBEDDED], part) for part in inside.select)
        )
    return isinstance(item, Star) or (isinstance(item, Column) and is_bare(item) and _has(relation, item.name))


def _has(relation: Relation, column: str) -> bool:
    return column in relation.columns
